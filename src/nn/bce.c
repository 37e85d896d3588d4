/* Binary cross entropy with logits, and its gradient, on the host. */
#include "bce_element.h"

rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                             const void *weight, ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight,
                             void *out, ptrdiff_t stride_out) {
  rm_wide_loss f;
  if (!rm_kernels_get()) return RM_ERR_ISA;
  const rm_status status = rm_bce_job(&f, format, reduction, n, x, stride_x, y, stride_y, weight, stride_weight, pos_weight,
                                      stride_pos_weight, out, stride_out);
  if (status || (n == 0 && reduction == RM_REDUCTION_NONE)) return status;
  return reduction == RM_REDUCTION_NONE ? rm_wide_loss_each(&f, rm_bce_loss) : rm_wide_loss_total(&f, rm_bce_total);
}

rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                                      ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight,
                                      ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx,
                                      ptrdiff_t stride_dx) {
  rm_wide_loss f;
  if (!rm_kernels_get()) return RM_ERR_ISA;
  const rm_status status = rm_bce_gradient_job(&f, format, reduction, n, g, stride_g, x, stride_x, y, stride_y, weight, stride_weight,
                                               pos_weight, stride_pos_weight, dx, stride_dx);
  return status || n == 0 ? status : rm_wide_loss_each(&f, rm_bce_gradient);
}
