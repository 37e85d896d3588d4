/* What a transform of one length needs before it sees data: the radices of its passes, and roots of unity.
 *
 * All transforms here are forward, X_k = sum of x_j w^(j k) with w = e^(-2 pi i/n). An inverse one exchanges real and
 * imaginary parts of its input and of its output. */
#pragma once

#include <stdint.h>

enum { RM_FFT_B64, RM_FFT_DD, RM_FFT_TIERS };        /* binary64, double-double */
enum { RM_FFT_PASSES = 64, RM_FFT_UNROLLED = 7 };     /* radices above this are computed by one loop for all */
enum { RM_FFT_LARGE = 7 }; /* prime factors above 64 of lengths below 2^41 */
enum { RM_FFT_DIRECT = 64 };                         /* radices above this are convolutions */
enum { RM_FFT_ALONE = 1 << 12 };                     /* convolutions above this length are computed one by one */

/* A transform of a prime length r as a convolution: with c_j = e^(-pi i j^2/r), and since 2 j k = j^2 + k^2 - (k - j)^2,
 *   X_k = c_k sum over j of (x_j c_j) conj(c_(k - j))
 * (L. I. Bluestein, A linear filtering approach to the computation of the discrete Fourier transform, IEEE Trans. Audio
 * Electroacoust. 18, 1970), cyclic of a length n >= 2 r - 1, a power of two. */
typedef struct {
  int64_t n;
  const struct rm_fft_plan *plan; /* of n */
  const double *roots, *filter;   /* c_j, r numbers; the transform of conj(c), over n, n numbers */
  double largest;                 /* of the magnitudes of that transform, over sqrt(r) */
} rm_fft_chirp;

/* A pass turns sub-transforms of length r m into sub-transforms of length m (passes.inc). Numbers have planes: in binary64
 * real and imaginary parts, in double-double the high and low parts of both. Plane c of an array of `count` numbers begins at
 * c count. */
typedef struct {
  int64_t r, m;
  const double *twiddles; /* w^(p k) of the sub-transform's length at (k - 1) m + p, k = 1 ... r - 1; (r - 1) m numbers */
  const double *constants; /* e^(2 pi i j/r), j = 0 ... r - 1, for odd r */
  const rm_fft_chirp *chirp; /* NULL: r is not large */
} rm_fft_pass;

typedef struct rm_fft_plan {
  int64_t n;
  int tier, passes;
  rm_fft_pass pass[RM_FFT_PASSES];
  rm_fft_chirp chirp[RM_FFT_LARGE];
  double less; /* how much smaller the following is of elements, where this is the last axis */
  double loss; /* bound on the error of all passes, in units of kernels.h, relative to the norm of the exact result */
  double *memory, *of_chirp[RM_FFT_LARGE];
  int64_t bytes;
  int users, cached; /* for the cache (plan.c) */
} rm_fft_plan;

/* e^(2 pi i m/n), 0 <= m < n: cosine in two parts, sine in two parts. Each is within 2^-105 of its value, relatively, and
 * values that are 0, 1 or -1 are exact. */
void rm_fft_root(double root[4], int64_t m, int64_t n);

/* About the bound of the errors of a transform of this length in binary64 (rm_fft_plan.loss); adds the number of its
 * passes. */
double rm_fft_loss_about(int64_t n, int *passes);

/* A plan, which may be shared with other threads; NULL: there is no memory for it. */
const rm_fft_plan *rm_fft_plan_get(int64_t n, int tier);
void rm_fft_plan_release(const rm_fft_plan *plan);
