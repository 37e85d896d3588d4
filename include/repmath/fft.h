/* repmath: discrete Fourier transforms whose every component is rounded once (spec.md, section 4). */
#ifndef REPMATH_FFT_H
#define REPMATH_FFT_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is transformed into what. */
enum {
  RM_FFT_COMPLEX = 0,   /* complex numbers into complex numbers */
  RM_FFT_FROM_REAL = 1, /* real numbers; out has the first size/2 + 1 indices of the last axis */
  RM_FFT_TO_REAL = 2    /* x has the first size/2 + 1 indices of the last axis; out is real */
};
/* The factor of the sum. */
enum { RM_FFT_SCALE_ONE = 0, RM_FFT_SCALE_ROOT = 1 /* 1/sqrt(n) */, RM_FFT_SCALE_N = 2 /* 1/n */ };

/* out_k = RN(factor sum over j of x_j e^(sign 2 pi i (j_1 k_1/n_1 + ... + j_d k_d/n_d))), real and imaginary part each
 * rounded once. The last `transformed` axes of the `rank` ones are transformed, d of them, of the lengths n_1 ... n_d, n
 * their product; the others count transforms. format is that of the parts, f32 or f64; a complex number is its real part and
 * its imaginary part beside each other. sign is 1 or -1.
 *
 * size has the lengths of the transforms also where the last axis of x or out is halved (kind). To real: each x_j of the last
 * axis with 0 < j < n_d/2 counts twice, the indices that x lacks count nothing, and out is the real part of the sum.
 *
 * Strides are in BYTES, of any sign; any alignment is allowed. out may share no byte with x or itself (RM_ERR_OVERLAP). No
 * length of a transform is 0 (RM_ERR_SIZE). 1 <= transformed <= rank <= 64 (RM_ERR_SIZE). The workspace, on the heap, takes
 * some 64 n bytes in f32 and 128 n in f64, and as much again where results are hard to round. */
RM_API rm_status rm_fft(int format, int kind, int sign, int scale, int rank, const int64_t *size, int transformed,
                        const void *x, const ptrdiff_t *stride_x, void *out, const ptrdiff_t *stride_out);

#ifdef __cplusplus
}
#endif
#endif
