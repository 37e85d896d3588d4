/* The problem of a call: its checked arguments, with the axes of a transform apart from those that count transforms. */
#pragma once

#include "../../include/repmath/fft.h"
#include "kernels.h"

typedef struct {
  int format, kind, inverse, scale;
  int rank; /* the axes of one transform */
  int64_t length[RM_FFT_RANK];
  ptrdiff_t stride_x[RM_FFT_RANK], stride_out[RM_FFT_RANK];
  int64_t n, rows;          /* the elements of one transform; rows along its last axis */
  int64_t in_last, out_last; /* elements of a row that are read, and that are written */
  int batch_rank;
  int64_t batch_size[RM_FFT_RANK], batches;
  ptrdiff_t batch_x[RM_FFT_RANK], batch_out[RM_FFT_RANK];
  const char *x;
  char *out;
} rm_fft_problem;

/* The problem of these arguments of rm_fft; batches is 0 where there is nothing to do. */
rm_status rm_fft_check(rm_fft_problem *p, int rank, const int64_t *size, int transformed, const ptrdiff_t *stride_x,
                       const ptrdiff_t *stride_out);

/* Where transform `batch` begins. */
const char *rm_fft_input(const rm_fft_problem *p, int64_t batch);
char *rm_fft_output(const rm_fft_problem *p, int64_t batch);

/* The distance of a row from the beginning of its transform. */
ptrdiff_t rm_fft_row_x(const rm_fft_problem *p, int64_t row);
ptrdiff_t rm_fft_row_out(const rm_fft_problem *p, int64_t row);

/* Row `row` of the transform at x, without the factors 2 of transforms to real numbers: elements 0, step, ... of re and im,
 * and zeros where x has no element. */
void rm_fft_read_row(const rm_fft_problem *p, const char *x, int64_t row, double *re, double *im, int64_t step);

/* How often index j of the last axis counts. */
static inline int rm_fft_weight(const rm_fft_problem *p, int64_t j) {
  return p->kind == RM_FFT_TO_REAL && j > 0 && 2 * j != p->length[p->rank - 1] ? 2 : 1;
}

/* What is still to be decided: parts of results of one transform. */
typedef struct {
  int64_t k; /* the element, of n */
  int imaginary;
} rm_fft_part;

/* A transform some of whose results are undecided, and what is known of them. */
typedef struct {
  const rm_fft_problem *problem;
  const char *x;
  char *out;
  /* Double-double values of the transform without its factor, times 2^exponent, at value + k step; planes as in plan.h. */
  const double *value;
  int64_t plane, step;
  double err; /* bound of their errors, before the factor 2^exponent */
  int exponent;
} rm_fft_open;

/* The approximation of a part. */
static inline const double *rm_fft_value(const rm_fft_open *t, int64_t k, int imaginary) {
  return t->value + k * t->step + (imaginary != t->problem->inverse ? 2 * t->plane : 0);
}

/* Writes the correctly rounded parts. Returns a status: RM_OK, RM_ERR_MEMORY or RM_ERR_UNDECIDED, where the parts left are
 * NaN. */
rm_status rm_fft_decide(const rm_fft_open *t, const rm_fft_part *part, int64_t count, uint32_t *flags);

/* Writes a part that its double-double value decides; 0: it does not. */
int rm_fft_decide_quickly(const rm_fft_open *t, const rm_fft_part *part, uint32_t *flags);

/* The root of n < 2^62 where it is a whole number, or 0. */
static inline int64_t rm_fft_whole_root(int64_t n) {
  int64_t r = (int64_t)__builtin_sqrt((double)n);
  while (r * r > n) r--;
  while ((r + 1) * (r + 1) <= n) r++;
  return r * r == n ? r : 0;
}

/* Writes those parts that are sums of parts of the elements with signs, or of real elements and their halves, where the
 * factor is rational: quotients of exact sums. The others become the first ones of the list; returns their number. */
int64_t rm_fft_decide_rational(const rm_fft_problem *p, const char *x, char *out, rm_fft_part *part, int64_t count,
                               uint32_t *flags);

/* A transform with infinite or NaN elements. */
rm_status rm_fft_not_finite(const rm_fft_problem *p, const char *x, char *out, uint32_t *flags);

/* Writes the bits of one part. */
void rm_fft_write(const rm_fft_problem *p, char *out, int64_t k, int imaginary, uint64_t bits);
