/* The table of functions that src/reduce compiles once per ISA. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../runtime/isa.h"
#include "scatter.h"

/* A vector of n elements of a format; base NULL: the factor 1. */
typedef struct {
  const char *base;
  ptrdiff_t stride;
} rm_terms;

/* An approximate sum hi + lo; size, the approximate sum of magnitudes; depth, how many additions any term has passed. */
typedef struct {
  double hi, lo, size, depth;
} rm_partial;

enum { RM_CHAIN = 32 }; /* additions within one accumulation chain of a plain sum, before chains are joined */

struct rm_reduce_kernels {
  /* Sums of x[i] y[i]. plain: of the formats below binary64, by short chains; compensated: of any, by two-sums. */
  void (*plain)(int64_t n, rm_terms x, rm_terms y, int fmt, rm_partial *out);
  void (*compensated)(int64_t n, rm_terms x, rm_terms y, int fmt, rm_partial *out);
  /* The sum of (x[i] - shift)^2, as plain or compensated. */
  void (*deviations)(int64_t n, rm_terms x, double shift, int fmt, int compensated, rm_partial *out);
  /* Whether every x[i] y[i] is a multiple of the power of two g. It may say no where the answer is yes. For binary64 y must
   * be NULL. */
  int (*multiples)(int64_t n, rm_terms x, rm_terms y, int fmt, double g);
  rm_scatter_segment_fn *scatter_segment[4]; /* by format */
  rm_scatter_cells_fn *scatter_cells[4];
  uint32_t (*classes[4])(int64_t n, const char *x); /* by format: the infinities and NaNs among neighbours in memory */
};
RM_ISA_TABLES(struct rm_reduce_kernels, rm_reduce_table, rm_reduce_kernels)
