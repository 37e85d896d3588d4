/* Binary cross entropy with logits and its gradient: double-double, by the CPU's function of an element
 * (nn/loss/bce_element.h). */
#include "losses.h"

#include "elements_fast.h"

#include "../../include/repmath/cuda_losses.h"

#include "../nn/rows/decide.inl"

#include "../nn/loss/bce_element.h"

#include "dd_sums.h"

extern "C" rm_status rm_cuda_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x,
                                             const void *y, ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight,
                                             const void *pos_weight, ptrdiff_t stride_pos_weight, void *out,
                                             ptrdiff_t stride_out, rm_cuda_stream stream) {
  rm_dd_loss f = rm_dd_loss_of(format, reduction, n, rm_single_row(out, stride_out));
  f.in[RM_BCE_X] = rm_single_row(x, stride_x), f.in[RM_BCE_Y] = rm_single_row(y, stride_y);
  f.in[RM_BCE_W] = rm_single_row(weight, stride_weight), f.in[RM_BCE_P] = rm_single_row(pos_weight, stride_pos_weight);
  const rm_status status = rm_bce_check(&f);
  const bool none = reduction == RM_REDUCTION_NONE;
  if (status || (n == 0 && none)) return status;
  if (!none) return dd_ball_sum<rm_bce_add>(f, rm_bce_reduce, stream);
  return each_element<rm_dd_loss, rm_bce_loss_result>(f, n, rm_bce_accurate, stream);
}

extern "C" rm_status rm_cuda_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g,
                                                      const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                                                      const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                                      ptrdiff_t stride_pos_weight, void *dx, ptrdiff_t stride_dx,
                                                      rm_cuda_stream stream) {
  rm_dd_loss f = rm_dd_loss_of(format, reduction, n, rm_single_row(dx, stride_dx));
  f.in[RM_BCE_X] = rm_single_row(x, stride_x), f.in[RM_BCE_Y] = rm_single_row(y, stride_y);
  f.in[RM_BCE_W] = rm_single_row(weight, stride_weight), f.in[RM_BCE_P] = rm_single_row(pos_weight, stride_pos_weight);
  f.in[RM_BCE_G] = rm_single_row(g, stride_g);
  const rm_status status = rm_bce_gradient_check(&f);
  if (status || n == 0) return status;
  return each_element<rm_dd_loss, rm_bce_gradient_result>(f, n, rm_bce_gradient_accurate, stream);
}
