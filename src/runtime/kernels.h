/* The kernel table: what each ISA build provides. One const instance per build, chosen once at run time. */
#ifndef RM_RUNTIME_KERNELS_H
#define RM_RUNTIME_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "../../crlibm/fp/bits.h"

/* Functions in the order of functions.def. */
enum {
#define RM_FUNCTION(name, NAME, arity, hard, doc) RM_FN_##name,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
  RM_FN_COUNT
};
enum { RM_MAX_ARITY = 3 };

/* y[i] = RN(f(x[0][i], ...)) for n elements; sx[k] and sy are distances between elements in bytes. Returns RM_FLAG_* bits.
 * The caller has put the floating-point environment right. */
typedef uint32_t rm_map_fn(int64_t n, const char *const *x, const ptrdiff_t *sx, char *y, ptrdiff_t sy);

/* As rm_map_fn, by a table (elementwise/half_table.h); `kernel`, the function's loop, serves elements that the table leaves open. */
struct rm_table16;
typedef uint32_t rm_lookup16_fn(const struct rm_table16 *table, rm_map_fn *kernel, int64_t n, const char *const *x,
                                const ptrdiff_t *sx, char *y, ptrdiff_t sy);

#include "../blas/gemm/kernels.h"
#include "../reduce/kernels.h"

/* src/nn/rows/kernels.h, src/random/kernels.h */
struct rm_nn_kernels;
struct rm_random_kernels;

struct rm_kernels {
  const char *name;
  rm_map_fn *const *map[RM_FN_COUNT]; /* map[function][format] */
  const int *direct16[RM_FN_COUNT]; /* 1: the loops of the 16-bit formats take less time than a table */
  rm_lookup16_fn *lookup16, *const *gradient16; /* one argument; gradients: [0] of f16, [1] of bf16, NULL where there are none */
  const struct rm_reduce_kernels *reduce;
  const struct rm_blas_kernels *blas;
  const struct rm_nn_kernels *nn;
  const struct rm_random_kernels *random;
  int sqrt16_direct; /* the 16-bit square root takes less time than a lookup */
};

/* The table in use: chosen at the first call from the CPU and REPMATH_ISA. NULL when REPMATH_ISA names an unknown or
 * unavailable build; rm_isa_status then says so. */
const struct rm_kernels *rm_kernels_get(void);

/* A gather takes longer than a load for each of its elements: on AMD (Zen 5, bench/run.py, asinh f16
 * and the like: 0.38 against 0.27 ns an element). */
int rm_gathers_are_slow(void);

#endif
