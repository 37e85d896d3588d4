/* Steps over the elements of columns and rows, compiled once per ISA, of which panels.c makes factors. */
#pragma once

#include <stdint.h>

#include "../runtime/isa.h"

/* Numbers hi + low, low NULL where they have one part, within unit size of exact values. All arrays have room for a
 * whole vector more than n, which is read and overwritten: what is there is of no use. */
typedef struct {
  int64_t n;
  double *hi, *low;
  const double *size;
  double unit;
} rm_linalg_column;

enum { RM_LINALG_PADDING = 8 }; /* the lanes of the widest vector */

/* What is not decided is NaN in `to`, and what is too large infinite; the functions return how many are not NaN. */
struct rm_column_kernels {
  /* y - factor x; sizes are not used. One rounding for each number with one part. */
  void (*subtract)(const rm_linalg_column *y, double factor, const double *x);
  /* The exact values, rounded to the format. 0 is +0. */
  int64_t (*round)(const rm_linalg_column *v, int format, double *to);
  /* The exact values over d, rounded to the format, d within 2^-400 to 2^400. 0 is +0. */
  int64_t (*divide)(const rm_linalg_column *v, double d, int format, double *to);
};
RM_ISA_TABLES(struct rm_column_kernels, rm_column_table, rm_column_kernels)
