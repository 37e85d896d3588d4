/* repmath: powers with an integer, as C23 has them (F.10.4): pown(x, n) = x^n, rootn(x, n) = x^(1/n), compound(x, n) =
 * (1 + x)^n, correctly rounded.
 *
 * rm_<f>_<format>(x, n)       computes one value, rounded to nearest, ties to even.
 * rm_v<f>_<format>            computes out[i] = f(x[i], n[i]) for i < count. Strides are distances in BYTES, of any sign,
 *                             zero included for an argument, with any alignment. out may be x with the same stride; if it
 *                             overlaps an argument otherwise, the steps are taken in order, i = 0 to count - 1, which is
 *                             slower. Errors: RM_ERR_NULL, RM_ERR_SIZE, RM_ERR_ISA.
 * rm_v<f>_rounded_<format>    the same in a rounding mode (RM_ROUND_NEAREST ... of core.h); RM_ERR_ENUM for another one. */
#ifndef REPMATH_POWERS_H
#define REPMATH_POWERS_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x^n. 1 for n = 0 and every x, also NaN; of zeros and infinities and of negative x as pow(x, n): (+-0)^n is an infinity
 * for n < 0 (divide by zero), with the sign of x for odd n. */
RM_API rm_f16 rm_pown_f16(rm_f16 x, int64_t n);
RM_API rm_bf16 rm_pown_bf16(rm_bf16 x, int64_t n);
RM_API float rm_pown_f32(float x, int64_t n);
RM_API double rm_pown_f64(double x, int64_t n);
RM_API rm_status rm_vpown_f16(int64_t count, const rm_f16 *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                              rm_f16 *out, ptrdiff_t stride_out);
RM_API rm_status rm_vpown_bf16(int64_t count, const rm_bf16 *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                               rm_bf16 *out, ptrdiff_t stride_out);
RM_API rm_status rm_vpown_f32(int64_t count, const float *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                              float *out, ptrdiff_t stride_out);
RM_API rm_status rm_vpown_f64(int64_t count, const double *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                              double *out, ptrdiff_t stride_out);
RM_API rm_status rm_vpown_rounded_f16(int64_t count, const rm_f16 *x, ptrdiff_t stride_x, const int64_t *n,
                                      ptrdiff_t stride_n, rm_f16 *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vpown_rounded_bf16(int64_t count, const rm_bf16 *x, ptrdiff_t stride_x, const int64_t *n,
                                       ptrdiff_t stride_n, rm_bf16 *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vpown_rounded_f32(int64_t count, const float *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                                      float *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vpown_rounded_f64(int64_t count, const double *x, ptrdiff_t stride_x, const int64_t *n,
                                      ptrdiff_t stride_n, double *out, ptrdiff_t stride_out, int rounding);

/* x^(1/n). NaN for n = 0 and every x, and for x < 0 with an even n (invalid); an infinity for x = +-0 and n < 0 (divide by
 * zero), with the sign of x for odd n. */
RM_API rm_f16 rm_rootn_f16(rm_f16 x, int64_t n);
RM_API rm_bf16 rm_rootn_bf16(rm_bf16 x, int64_t n);
RM_API float rm_rootn_f32(float x, int64_t n);
RM_API double rm_rootn_f64(double x, int64_t n);
RM_API rm_status rm_vrootn_f16(int64_t count, const rm_f16 *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                               rm_f16 *out, ptrdiff_t stride_out);
RM_API rm_status rm_vrootn_bf16(int64_t count, const rm_bf16 *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                                rm_bf16 *out, ptrdiff_t stride_out);
RM_API rm_status rm_vrootn_f32(int64_t count, const float *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                               float *out, ptrdiff_t stride_out);
RM_API rm_status rm_vrootn_f64(int64_t count, const double *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                               double *out, ptrdiff_t stride_out);
RM_API rm_status rm_vrootn_rounded_f16(int64_t count, const rm_f16 *x, ptrdiff_t stride_x, const int64_t *n,
                                       ptrdiff_t stride_n, rm_f16 *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vrootn_rounded_bf16(int64_t count, const rm_bf16 *x, ptrdiff_t stride_x, const int64_t *n,
                                        ptrdiff_t stride_n, rm_bf16 *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vrootn_rounded_f32(int64_t count, const float *x, ptrdiff_t stride_x, const int64_t *n,
                                       ptrdiff_t stride_n, float *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vrootn_rounded_f64(int64_t count, const double *x, ptrdiff_t stride_x, const int64_t *n,
                                       ptrdiff_t stride_n, double *out, ptrdiff_t stride_out, int rounding);

/* (1 + x)^n. NaN for x < -1 (invalid); 1 for n = 0 and other x, also NaN; an infinity for x = -1 and n < 0 (divide by
 * zero). */
RM_API rm_f16 rm_compound_f16(rm_f16 x, int64_t n);
RM_API rm_bf16 rm_compound_bf16(rm_bf16 x, int64_t n);
RM_API float rm_compound_f32(float x, int64_t n);
RM_API double rm_compound_f64(double x, int64_t n);
RM_API rm_status rm_vcompound_f16(int64_t count, const rm_f16 *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                                  rm_f16 *out, ptrdiff_t stride_out);
RM_API rm_status rm_vcompound_bf16(int64_t count, const rm_bf16 *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                                   rm_bf16 *out, ptrdiff_t stride_out);
RM_API rm_status rm_vcompound_f32(int64_t count, const float *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                                  float *out, ptrdiff_t stride_out);
RM_API rm_status rm_vcompound_f64(int64_t count, const double *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n,
                                  double *out, ptrdiff_t stride_out);
RM_API rm_status rm_vcompound_rounded_f16(int64_t count, const rm_f16 *x, ptrdiff_t stride_x, const int64_t *n,
                                          ptrdiff_t stride_n, rm_f16 *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vcompound_rounded_bf16(int64_t count, const rm_bf16 *x, ptrdiff_t stride_x, const int64_t *n,
                                           ptrdiff_t stride_n, rm_bf16 *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vcompound_rounded_f32(int64_t count, const float *x, ptrdiff_t stride_x, const int64_t *n,
                                          ptrdiff_t stride_n, float *out, ptrdiff_t stride_out, int rounding);
RM_API rm_status rm_vcompound_rounded_f64(int64_t count, const double *x, ptrdiff_t stride_x, const int64_t *n,
                                          ptrdiff_t stride_n, double *out, ptrdiff_t stride_out, int rounding);

#ifdef __cplusplus
}
#endif

#endif
