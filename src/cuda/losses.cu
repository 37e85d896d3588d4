/* Regression losses and their gradients. Elements begin in double-double. A sum, or a mean, is that of products in superaccumulators, up
 * to five a term; one thread divides. Workspace of a sum: at most 8,192 accumulators, 9 MB. */
#include "losses.h"

#include "elements_first.h"

#include "../../include/repmath/cuda_losses.h"

#include "../nn/decide.c"

#include "../nn/losses_element.h"

namespace {

struct pair_terms {
  rm_pair_loss f;
  int64_t n;
};
__device__ void feed(rm_superaccumulator *acc, const pair_terms &t, int64_t first, int64_t step) {
  for (int64_t i = first; i < t.n; i += step) rm_pair_feed(&t.f, i, acc);
}

rm_status each(const rm_pair_loss &f, rm_cuda_stream stream) {
  return each_element<rm_pair_loss, rm_pair_result>(f, f.n, rm_pair_rest, stream);
}

} // namespace

extern "C" rm_status rm_cuda_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x,
                                             ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out,
                                             ptrdiff_t stride_out, rm_cuda_stream stream) {
  rm_pair_loss f;
  const rm_status status = rm_pair_loss_job(&f, loss, p, format, reduction, n, x, stride_x, y, stride_y, out, stride_out);
  const bool none = reduction == RM_REDUCTION_NONE;
  if (status || (n == 0 && none)) return status;
  if (none) return each(f, stream);
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const partial_sums sums(pair_terms{f, n}, s);
  return sums.parts ? rm_pair_reduce(f, sums.parts, sums.blocks, s) : RM_ERR_DEVICE;
}

extern "C" rm_status rm_cuda_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                                      ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                                      ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx,
                                                      rm_cuda_stream stream) {
  rm_pair_loss f;
  const rm_status status =
      rm_pair_gradient_job(&f, loss, p, format, reduction, n, g, stride_g, x, stride_x, y, stride_y, dx, stride_dx);
  return status || n == 0 ? status : each(f, stream);
}
