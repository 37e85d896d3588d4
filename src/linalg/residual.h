/* Enclosures of determinants that residuals of approximate factors give, and what determinant.c shares with them. */
#pragma once

#include "scaling.h"

/* (hi + lo) 2^e within err 2^e. */
typedef struct {
  double hi, lo, err;
  int64_t e;
} rm_det_enclosure;

/* Matrices are n x n. x ~ L^-1 and y ~ U^-1 are triangles, pa = P A, where A is scaled. */
typedef struct {
  int64_t n;
  double *full, *pa, *x, *y, *t, *s, *e, *e_low;
  double *one, *other, *rows, *small, *diagonal; /* vectors; the last one is U's */
  rm_scaled_matrix a;
  int64_t *place;
  int odd; /* the permutation */
} rm_det_workspace;

/* exp(high + low), which is within err, besides what `up` covers of its own roundings; 0 where that is not beside 1. */
int rm_det_exponential(double high, double low, double err, double up, rm_det_enclosure *f);

/* What bounds of the factors P A = L U + R are made of: norms, all of them square roots of sums of squares, from above. */
typedef struct {
  double a, m, r, off; /* of A, of M, R and what R lacks */
  double g;            /* of I - L U M */
} rm_det_residual;

/* x, y and pa of the scaled matrix, M in t and R in s. -1: there is no hope; 0: rm_det_by_residual has none. */
int rm_det_factor(rm_det_workspace *w, rm_det_residual *v);

/* det A over the product of U's diagonal; thorough: by products of n^3 steps, which overwrite e and e_low. 0 where it is not
 * known to be beside 1. */
int rm_det_by_residual(const rm_det_workspace *w, const rm_det_residual *v, int thorough, rm_det_enclosure *f);
