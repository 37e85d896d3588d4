/* Kullback-Leibler divergence and its gradient: double-double, by the CPU's function of an element
 * (nn/loss/kl_div_element.h). */
#include "losses.h"

#include "elements_fast.h"

#include "../../include/repmath/cuda_losses.h"

#include "../nn/rows/decide.inl"

#include "../nn/loss/kl_div_element.h"

#include "dd_sums.h"

extern "C" rm_status rm_cuda_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x,
                                    ptrdiff_t stride_x, const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out,
                                    rm_cuda_stream stream) {
  rm_dd_loss f = rm_dd_loss_of(format, reduction, n, rm_single_row(out, stride_out));
  f.option = log_target, f.count = count, f.in[RM_KL_T] = rm_single_row(t, stride_t),
  f.in[RM_KL_X] = rm_single_row(x, stride_x);
  const rm_status status = rm_kl_check(&f);
  const bool none = reduction == RM_REDUCTION_NONE;
  if (status || (n == 0 && none)) return status;
  if (!none) return dd_ball_sum<rm_kl_add>(f, rm_kl_reduce, stream);
  return each_element<rm_dd_loss, rm_kl_loss_result>(f, n, rm_kl_accurate, stream);
}

extern "C" rm_status rm_cuda_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n,
                                             const void *g, ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx,
                                             ptrdiff_t stride_dx, rm_cuda_stream stream) {
  rm_dd_loss f = rm_dd_loss_of(format, reduction, n, rm_single_row(dx, stride_dx));
  f.option = log_target, f.count = count, f.in[RM_KL_T] = rm_single_row(t, stride_t),
  f.in[RM_KL_G] = rm_single_row(g, stride_g);
  const rm_status status = rm_kl_gradient_check(&f);
  if (status || n == 0) return status;
  return each_element<rm_dd_loss, rm_kl_gradient_result>(f, n, rm_kl_gradient_accurate, stream);
}
