/* What a transform of one length needs before it sees data: the radices of its passes, and roots of unity.
 *
 * All transforms here are forward, X_k = sum of x_j w^(j k) with w = e^(-2 pi i/n). An inverse one exchanges real and
 * imaginary parts of its input and of its output. */
#pragma once

#include <stdint.h>

enum { RM_FFT_B64, RM_FFT_DD, RM_FFT_TIERS };        /* binary64, double-double */
enum { RM_FFT_PASSES = 64, RM_FFT_UNROLLED = 7 };     /* radices above this are computed by one loop for all */

/* A pass turns sub-transforms of length r m into sub-transforms of length m (passes.inc). Numbers have planes: in binary64
 * real and imaginary parts, in double-double the high and low parts of both. Plane c of an array of `count` numbers begins at
 * c count. */
typedef struct {
  int64_t r, m;
  const double *twiddles; /* w^(p k) of the sub-transform's length at (k - 1) m + p, k = 1 ... r - 1; (r - 1) m numbers */
  const double *constants; /* e^(2 pi i j/r), j = 0 ... r - 1, for odd r */
} rm_fft_pass;

typedef struct rm_fft_plan {
  int64_t n;
  int tier, passes;
  rm_fft_pass pass[RM_FFT_PASSES];
  double loss; /* bound on the error of all passes, in units of kernels.h, relative to the norm of the exact result */
  double *memory;
  int64_t bytes;
  int users, cached; /* for the cache (plan.c) */
} rm_fft_plan;

/* e^(2 pi i m/n), 0 <= m < n: cosine in two parts, sine in two parts. Each is within 2^-105 of its value, relatively, and
 * values that are 0, 1 or -1 are exact. */
void rm_fft_root(double root[4], int64_t m, int64_t n);

/* The bound of the errors of a transform of this length (rm_fft_plan.loss). */
double rm_fft_loss(int64_t n, int tier);

/* A plan, which may be shared with other threads; NULL: there is no memory for it. */
const rm_fft_plan *rm_fft_plan_get(int64_t n, int tier);
void rm_fft_plan_release(const rm_fft_plan *plan);
