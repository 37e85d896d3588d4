/* The loops of the elementwise functions, which each ISA build provides in a table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../crlibm/fp/bits.h"
#include "../runtime/isa.h"

/* Functions in the order of functions.def. */
enum {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) RM_FN_##name,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
  RM_FN_COUNT
};
enum { RM_MAX_ARITY = 3 };

/* y[i] = RN(f(x[0][i], ...)) for n elements that are neighbours, with any alignment; y may be one of x. Returns RM_FLAG_*
 * bits. The caller has put the floating-point environment right. */
typedef uint32_t rm_map_fn(int64_t n, const char *const *x, char *y);

/* As rm_map_fn, by a table (half_table.h); `kernel`, the function's loop, serves elements that the table leaves undecided. */
struct rm_table16;
typedef uint32_t rm_lookup16_fn(const struct rm_table16 *table, rm_map_fn *kernel, int64_t n, const char *const *x, char *y);

struct rm_map_kernels {
  rm_map_fn *const *map[RM_FN_COUNT]; /* map[function][format] */
  const int *direct16[RM_FN_COUNT]; /* 1: the loops of the 16-bit formats take less time than a table */
  rm_lookup16_fn *lookup16, *const
                                *gradient16; /* one argument; gradients: [0] of f16, [1] of bf16, NULL where there are none */
  int sqrt16_direct; /* the 16-bit square root takes less time than a lookup */
};

RM_ISA_TABLES(struct rm_map_kernels, rm_map_table, rm_map_kernels)
