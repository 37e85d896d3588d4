/* Powers with an integer (include/repmath/powers.h): the loops, which each ISA build provides in a table, and the accurate
 * phases. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../crlibm/fp/bits.h"
#include "../runtime/isa.h"

/* The lines of the manifest, whose numbers are the kinds of crlibm/pown/pown.h. */
enum {
  RM_POWERS_COUNT = 0
#define RM_POWER(name, NAME, definition, special) +1
#include "../../crlibm/powers.def"
#undef RM_POWER
};

/* A function of a number, the exact value of one of the format, and an integer: as rm_accurate_fn (accurate.h). */
typedef uint64_t rm_accurate_power_fn(double x, int64_t n, int format, rm_mode mode, uint32_t *flags);
extern rm_accurate_power_fn *const rm_accurate_powers[RM_POWERS_COUNT];

/* The arguments of a call; strides in bytes. */
typedef struct {
  int kind, format, mode;
  const char *x, *n;
  char *y;
  ptrdiff_t stride_x, stride_n, stride_y;
} rm_powers;

/* Elements `begin` to `end` to nearest. Returns RM_FLAG_* bits. The caller has put the floating-point environment right. */
typedef uint32_t rm_powers_fn(const rm_powers *p, int64_t begin, int64_t end);

struct rm_power_kernels {
  rm_powers_fn *map;
};
RM_ISA_TABLES(struct rm_power_kernels, rm_power_table, rm_power_kernels)
