/* repmath: pooling in one, two and three dimensions (docs/spec.md, section 5). A window counts only the elements that lie
 * inside the input. */
#ifndef REPMATH_POOLING_H
#define REPMATH_POOLING_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Window p has the coordinates p stride + t dilation - padding, 0 <= t < kernel. If `adaptive` is not 0, it has those from
 * floor(p in/out) up to ceil((p + 1) in/out), and the last four members are ignored. Arrays of three spatial sizes are used
 * up to `dims`. */
typedef struct {
  int dims; /* 1, 2 or 3 */
  int adaptive;
  int64_t batch, channels;
  int64_t in[3], out[3]; /* spatial sizes; out is at least 1 where in is */
  int64_t kernel[3], stride[3], dilation[3]; /* at least 1; averages have dilation 1 */
  int64_t padding[3];                        /* at least 0 */
} rm_pool;

/* An average divides by `divisor`, which is at least 0, or, if it is 0, by the number of positions of the window. With
 * include_pad, positions in the padding count too, but none beyond it. */

/* Arrays have the format RM_FORMAT_... and dims + 2 strides in bytes, of any sign, for (n, channel, spatial...). The
 * bytes that a result spans must not overlap an argument, and no two of its elements may overlap. */

/* y receives the maximum of each window: a NaN if the window has one, -infinity if it is empty. index, unless it is NULL,
 * receives the position of the maximum in the plane of spatial coordinates (the last one fastest): the first of equal maxima
 * or of NaNs, and -1 for an empty window. */
RM_API rm_status rm_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y,
                             const ptrdiff_t *strides_y, int64_t *index, const ptrdiff_t *strides_index);

/* y receives the exact sum of each window divided by its divisor, NaN if both are 0. */
RM_API rm_status rm_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x,
                             const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y);

/* gx receives for each element the exact sum, over all windows that contain the element, of g divided by the divisor of the
 * window. g is the gradient with respect to y. */
RM_API rm_status rm_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                                      const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx);

#ifdef __cplusplus
}
#endif
#endif
