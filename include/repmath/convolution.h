/* repmath: convolution in one, two and three dimensions. Every result is the exact sum over the taps that fall inside the
 * input, rounded once (spec.md, section 4). Padding adds no terms: an infinite weight does not meet a zero there. */
#ifndef REPMATH_CONVOLUTION_H
#define REPMATH_CONVOLUTION_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n, o, p] = sum over c, t of x[n, c, p stride + t dilation - padding] w[o, c, t], where c runs over the channels of o's
 * group. Arrays of three spatial sizes are used up to `dims`. */
typedef struct {
  int dims; /* 1, 2 or 3 */
  int64_t batch, channels_in, channels_out, groups;
  int64_t in[3], kernel[3];              /* spatial sizes of x and of w */
  int64_t stride[3], dilation[3];        /* at least 1 */
  int64_t padding_low[3], padding_high[3]; /* padding before the first element and after the last one; a negative
                                              padding_high omits output positions */
} rm_conv;

/* Computes the spatial sizes of y: floor((in + padding_low + padding_high - dilation (kernel - 1) - 1)/stride) + 1, or 0 if
 * the kernel is longer than the padded input. */
RM_API rm_status rm_conv_output_size(const rm_conv *conv, int64_t out[3]);

/* Arrays have the format RM_FORMAT_... and dims + 2 strides in bytes, of any sign: x and y for (n, channel, spatial...), w
 * for (output channel, input channel of the group, spatial...). So NCHW, NHWC and views need no copies. The bytes that
 * a result spans must not overlap an argument, and no two of its elements may overlap. */

/* y = the convolution of x with w, plus bias[channel] as one more term of each sum, unless bias is NULL. */
RM_API rm_status rm_conv_forward(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x, const void *w,
                                 const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias, void *y,
                                 const ptrdiff_t *strides_y);

/* gx[n, c, i] = sum of g[n, o, p] w[o, c, t] over the o, p, t with p stride + t dilation - padding = i. This is the gradient
 * with respect to x, where g is the gradient with respect to y; with a bias[channel of x] it is the transposed convolution of
 * g. */
RM_API rm_status rm_conv_grad_input(int format, const rm_conv *conv, const void *g, const ptrdiff_t *strides_g, const void *w,
                                    const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias, void *gx,
                                    const ptrdiff_t *strides_gx);

/* gw[o, c, t] = sum over n, p of g[n, o, p] x[n, c, p stride + t dilation - padding]: the gradient with respect to w. */
RM_API rm_status rm_conv_grad_weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                     const void *g, const ptrdiff_t *strides_g, void *gw, const ptrdiff_t *strides_gw);

#ifdef __cplusplus
}
#endif
#endif
