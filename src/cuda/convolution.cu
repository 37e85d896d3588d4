/* rm_cuda_conv_*: convolutions by implicit GEMM. The problems are the CPU's (blas/conv/args.h); the engines of this folder
 * load pieces of the im2col view, which is never stored. */
#include "matmul.h"

#include "launch.h"

extern "C" {
#include "../blas/conv/args.h"
}

namespace {

rm_status run(const rm_matmul_problem *p, void *stream) { return rm_cuda_matmul_run(p, stream); }

rm_conv_runner on(rm_cuda_stream stream) { return rm_conv_runner{run, stream, nullptr, 0}; }

} // namespace

extern "C" {

rm_status rm_cuda_conv_forward(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x, const void *w,
                               const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias, void *y,
                               const ptrdiff_t *strides_y, rm_cuda_stream stream) {
  const rm_conv_runner runner = on(stream);
  const rm_conv_call call = {format, conv, x, strides_x, w, strides_w, bias, stride_bias, y, strides_y};
  return rm_conv_forward_by(&runner, &call);
}

rm_status rm_cuda_conv_grad_input(int format, const rm_conv *conv, const void *g, const ptrdiff_t *strides_g, const void *w,
                                  const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias, void *gx,
                                  const ptrdiff_t *strides_gx, rm_cuda_stream stream) {
  const rm_conv_runner runner = on(stream);
  const rm_conv_call call = {format, conv, g, strides_g, w, strides_w, bias, stride_bias, gx, strides_gx};
  return rm_conv_grad_input_by(&runner, &call);
}

rm_status rm_cuda_conv_grad_weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x, const void *g,
                                   const ptrdiff_t *strides_g, void *gw, const ptrdiff_t *strides_gw, rm_cuda_stream stream) {
  const rm_conv_runner runner = on(stream);
  return rm_conv_grad_weight_by(&runner, format, conv, x, strides_x, g, strides_g, gw, strides_gw);
}
}
