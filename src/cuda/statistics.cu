/* mean, norm, var and std of a vector: the CPU's last tier (reduce/statistics_exact.inl), from sums in superaccumulators.
 *
 * Cost: each term is added once to an accumulator of its thread (accumulate.h), for var and std twice, as x and as x^2, and
 * one thread computes the function of the totals. Workspace: at most 8,192 accumulators, 9 MB, for var and std twice that. */
#include "accumulate.h"

extern "C" {
#include "../reduce/statistics.h" /* declares argument checks, which are C */
}
#include "../../include/repmath/cuda_reductions.h"

#include "../reduce/statistics_exact.inl"

namespace {

struct statistic {
  rm_sum_function function;
  int64_t n;
  int of_norm, format;
  char *out;
};

/* squares NULL: a function of the sum. */
enum { STATISTIC_STACK = 4096 }; /* bytes for the digits of a variance */

__global__ void statistic_kernel(statistic s, rm_superaccumulator *sum, rm_superaccumulator *squares, int blocks,
                                 char *stack) {
  merge_block(sum, blocks, RM_PARTS_BLOCK);
  if (squares) merge_block(squares, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (squares) rm_big_begin(stack, STATISTIC_STACK);
  uint32_t flags = 0; /* a device has nowhere to raise them */
  const uint64_t bits = s.n == 0  ? (s.of_norm ? 0 : rm_nan_bits(s.format)) /* of nothing there is a norm, but no mean */
                        : squares ? rm_variance_of_sums(&s.function, s.n, sum, squares, s.format, &flags)
                                  : rm_function_of_sum(&s.function, sum, s.format, &flags);
  rm_write_bits(s.out, bits, s.format);
}

rm_status function_of_sum(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                          rm_cuda_stream stream) {
  const rm_status status = rm_statistic_check(format_x, n, x, format_out, out);
  if (status) return status;
  const statistic s = {{root ? 1 : static_cast<uint64_t>(n), 0, root}, n, root, format_out, static_cast<char *>(out)};
  const char *at = static_cast<const char *>(x);
  partial_sums sum(terms{format_x, n, at, root ? at : nullptr, stride_x, stride_x}, static_cast<cudaStream_t>(stream));
  if (!sum.parts) return RM_ERR_DEVICE;
  RM_LAUNCH(statistic_kernel, 1, RM_PARTS_MAX, sum.work.stream, s, sum.parts, nullptr, sum.blocks, nullptr);
  return launched();
}

rm_status variance(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                   double ddof, rm_cuda_stream stream) {
  statistic s = {{}, n, 0, format_out, static_cast<char *>(out)};
  const rm_status status = rm_variance_check(&s.function, root, format_x, n, x, format_out, out, ddof);
  if (status) return status;
  const char *at = static_cast<const char *>(x);
  const cudaStream_t on = static_cast<cudaStream_t>(stream);
  partial_sums sum(terms{format_x, n, at, nullptr, stride_x, 0}, on),
      squares(terms{format_x, n, at, at, stride_x, stride_x}, on);
  const workspace stack(STATISTIC_STACK, on);
  if (!sum.parts || !squares.parts || !stack.data) return RM_ERR_DEVICE;
  RM_LAUNCH(statistic_kernel, 1, RM_PARTS_MAX, on, s, sum.parts, squares.parts, sum.blocks, static_cast<char *>(stack.data));
  return launched();
}

} // namespace

extern "C" {

rm_status rm_cuda_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                       rm_cuda_stream stream) {
  return function_of_sum(0, format_x, n, x, stride_x, format_out, out, stream);
}
rm_status rm_cuda_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                       rm_cuda_stream stream) {
  return function_of_sum(1, format_x, n, x, stride_x, format_out, out, stream);
}
rm_status rm_cuda_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof,
                      rm_cuda_stream stream) {
  return variance(0, format_x, n, x, stride_x, format_out, out, ddof, stream);
}
rm_status rm_cuda_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof,
                      rm_cuda_stream stream) {
  return variance(1, format_x, n, x, stride_x, format_out, out, ddof, stream);
}
}
