/* The loops of src/special, which each ISA build provides in a table: values in double-double with bounds of their errors. */
#pragma once

#include "../../include/repmath/special.h"
#include "../runtime/isa.h"

enum { RM_SPECIAL_CHUNK = 64, RM_SPECIAL_POWERS = 21 };
#define RM_SPECIAL_SERIES_END 64.0
#define RM_SPECIAL_POWERS_BEGIN (-15.0)

/* A call; of the three functions one is not NULL, or all are: then it is gamma, below -1/2
 * its magnitude. */
typedef struct {
  const rm_recurrence *recurrence;
  const rm_even_series *series;
  const rm_digamma_derivative *derivative;
  int format_x, format;
  const char *x;
  const double *degree;
  int64_t step;
  char *out;
  uint8_t *undecided;
} rm_special_problem;

/* Elements of a chunk: the exact value is within err[i] of hi[i] + lo[i], |lo| <= 2^-53 |hi|; what is not finite is not
 * known. x and degree are in the function's range; x of gamma is any number. */
typedef struct {
  double x[RM_SPECIAL_CHUNK], degree[RM_SPECIAL_CHUNK], hi[RM_SPECIAL_CHUNK], lo[RM_SPECIAL_CHUNK], err[RM_SPECIAL_CHUNK];
} rm_special_chunk;

/* count elements, and what fills up the last vector; `wide` 0: in binary64, which only a series has. */
typedef void rm_special_fn(const rm_special_problem *problem, rm_special_chunk *chunk, int count, int wide);

struct rm_special_kernels {
  rm_special_fn *values;
};
RM_ISA_TABLES(struct rm_special_kernels, rm_special_table, rm_special_kernels)

/* Writes the number to which all within err of hi + lo round, |lo| <= 2^-53 |hi|, and returns 1; 0 if there is none. */
int rm_special_round(int format, double hi, double lo, double err, char *to);
