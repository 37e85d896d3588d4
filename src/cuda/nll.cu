/* Negative log likelihood and its gradient, by the CPU's function of a row (nn/cross_entropy/nll_row.h). A kernel checks the
 * targets: where one is not a class, all results are NaN. */
#include "losses.h"

#include "elements_fast.h"

#include "../../include/repmath/cuda_losses.h"

#include "../nn/rows/decide.inl"

#include "../nn/cross_entropy/nll_row.h"

namespace {

struct nll_losses {
  rm_nll f;
  int64_t n;
};
struct nll_weights {
  rm_nll f;
  int64_t n;
};
__device__ void feed(rm_superaccumulator *acc, const nll_losses &t, int64_t first, int64_t step) {
  if (*t.f.wrong) return;
  for (int64_t i = first; i < t.n; i += step) rm_nll_feed(&t.f, i, acc, nullptr);
}
__device__ void feed(rm_superaccumulator *acc, const nll_weights &t, int64_t first, int64_t step) {
  if (*t.f.wrong) return;
  for (int64_t i = first; i < t.n; i += step) rm_nll_feed(&t.f, i, nullptr, acc);
}

__global__ void __launch_bounds__(RM_BLOCK) targets_kernel(rm_nll f, int *wrong, uint32_t *seen) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < f.p.rows; i += step) {
    const int64_t t = rm_nll_target(&f, i);
    if (t == f.p.ignore_index || (t >= 0 && t < f.p.n)) continue;
    *wrong = 1;
    if (seen) *seen = 1;
  }
}

__global__ void __launch_bounds__(RM_BLOCK) rows_kernel(rm_nll f) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < f.p.rows; i += step) {
    rm_row_state state = {}; /* a product is always decided */
    rm_write_bits(rm_row_at(&f.out, i), *f.wrong ? rm_nan_bits(f.format) : rm_nll_of_row(&f, i, &state), f.format);
  }
}

__global__ void divisor_kernel(rm_nll_divisor *divisor, rm_superaccumulator *weights, int blocks) {
  merge_block(weights, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  uint32_t flags = 0;
  if (threadIdx.x == 0) rm_nll_divide(divisor, weights, &flags);
}

/* The workspace of a call: the divisor of a mean's gradient, and whether a target is not a class. */
struct nll_memory {
  workspace work;
  rm_nll_divisor *divisor;
  nll_memory(rm_nll *f, cudaStream_t stream) : work(sizeof(rm_nll_divisor) + sizeof(int), stream), divisor(nullptr) {
    if (!work.fill(0, sizeof(rm_nll_divisor) + sizeof(int))) return;
    divisor = static_cast<rm_nll_divisor *>(work.data);
    int *wrong = reinterpret_cast<int *>(divisor + 1);
    f->wrong = wrong;
    if (f->p.rows) RM_LAUNCH(targets_kernel, blocks_for(f->p.rows), RM_BLOCK, stream, *f, wrong, rm_cuda_index_flag(stream));
  }
};

} // namespace

extern "C" rm_status rm_cuda_nll_loss(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss,
                                      rm_cuda_stream stream) {
  rm_nll f = {format, rm_row_array_of(loss, stride_loss, 0)};
  const rm_status status = rm_nll_check(&f, problem);
  const bool none = !status && problem->reduction == RM_REDUCTION_NONE;
  if (status || (none && f.p.rows == 0)) return status;
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const nll_memory memory(&f, s);
  if (!memory.divisor) return RM_ERR_DEVICE;
  if (none) {
    RM_LAUNCH(rows_kernel, blocks_for(f.p.rows), RM_BLOCK, s, f);
    return launched();
  }
  const partial_sums sums(nll_losses{f, f.p.rows}, s), weights(nll_weights{f, f.p.rows}, s);
  return sums.parts && weights.parts ? rm_nll_reduce(f, sums.parts, weights.parts, sums.blocks, s) : RM_ERR_DEVICE;
}

extern "C" rm_status rm_cuda_nll_loss_backward(int format, const rm_cross_entropy_problem *problem, const void *g,
                                               ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx,
                                               rm_cuda_stream stream) {
  rm_nll f = {format, rm_row_array_of(dx, row_dx, stride_dx), static_cast<const char *>(g), stride_g};
  const rm_status status = rm_nll_gradient_check(&f, problem);
  if (status || f.p.rows == 0 || f.p.n == 0) return status;
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const nll_memory memory(&f, s);
  if (!memory.divisor) return RM_ERR_DEVICE;
  if (f.p.reduction != RM_REDUCTION_MEAN)
    return each_element<rm_nll, rm_nll_result>(f, f.p.rows * f.p.n, rm_nll_accurate, stream);
  const partial_sums weights(nll_weights{f, f.p.rows}, s);
  if (!weights.parts) return RM_ERR_DEVICE;
  RM_LAUNCH(divisor_kernel, 1, RM_PARTS_MAX, s, memory.divisor, weights.parts, weights.blocks);
  f.divisor = memory.divisor;
  return each_element<rm_nll, rm_nll_result>(f, f.p.rows * f.p.n, rm_nll_accurate, stream);
}
