/* Kullback-Leibler divergence, and its gradient, on the host. */
#include "kl_div_element.h"

rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x, ptrdiff_t stride_x,
                    const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out) {
  rm_wide_loss f;
  if (!rm_kernels_get()) return RM_ERR_ISA;
  const rm_status status = rm_kl_job(&f, format, reduction, log_target, count, n, x, stride_x, t, stride_t, out, stride_out);
  if (status || (n == 0 && reduction == RM_REDUCTION_NONE)) return status;
  return reduction == RM_REDUCTION_NONE ? rm_wide_loss_each(&f, rm_kl_loss) : rm_wide_loss_total(&f, rm_kl_total);
}

rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g, ptrdiff_t stride_g,
                             const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx) {
  rm_wide_loss f;
  if (!rm_kernels_get()) return RM_ERR_ISA;
  const rm_status status = rm_kl_gradient_job(&f, format, reduction, log_target, count, n, g, stride_g, t, stride_t, dx, stride_dx);
  return status || n == 0 ? status : rm_wide_loss_each(&f, rm_kl_gradient);
}
