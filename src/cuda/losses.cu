/* Regression losses and their gradients. The fast phase of elements is the CPU's (nn/loss/step.h), in binary64, for f64 in
 * double-double. A sum or a mean adds exact products in superaccumulators, up to five a term, and one thread divides.
 * Workspace of a sum: at most 8,192 accumulators, 9 MB. */
#include "losses.h"

#include "elements_fast.h"

#include "../../include/repmath/cuda_losses.h"

#include "../nn/rows/decide.inl"

#include "../nn/loss/step.h"
#include "../nn/loss/element.h"
#include "../nn/rows/step.h"

namespace {

struct pair_terms {
  rm_pair_loss f;
  int64_t n;
};
__device__ void feed(rm_superaccumulator *acc, const pair_terms &t, int64_t first, int64_t step) {
  for (int64_t i = first; i < t.n; i += step) rm_pair_feed(&t.f, i, acc);
}

template <class T> __device__ double number(const rm_row_array &a, int64_t i, int fmt, bool by_words) {
  const T bits = element<T>::load(a.base + i * a.stride, by_words);
  return rm_read_element(reinterpret_cast<const char *>(&bits), fmt);
}

/* Rounds element 0 of a block; returns whether it is undecided. */
template <int fmt, rm_term_kind kind, int by_g> __device__ int fast_term(const rm_term_block &t, void *out) {
  vf64 low, err, y;
  if (fmt == RM_F64) {
    const vf64 high = rm_term_value_dd(kind, by_g, &t, 0, &low, &err);
    const vm64 undecided = rm_term_round_dd(high, low, err, &y);
    __builtin_memcpy(out, &y, sizeof y);
    return !vm64_none(undecided);
  }
  const vf64 u = rm_term_value(kind, by_g, &t, 0, &err);
  rm_row_store s = {};
  s.u = &u, s.v = &err;
  const vm64 undecided = rm_row_test(RM_ROW_GIVEN, fmt, &s, 0, &y, &low);
  rm_row_put(y, fmt, out, 0, 1);
  return !vm64_none(undecided);
}

/* Elements that the fast phase leaves undecided are computed in double-double. */
template <class T, int fmt, rm_term_kind kind, int by_g>
__global__ void __launch_bounds__(RM_BLOCK) terms_kernel(rm_pair_loss f, rm_undecided_set undecided, bool by_words) {
  __shared__ rm_term_block all;
  __shared__ int known;
  if (threadIdx.x == 0) {
    rm_dd_ball scale;
    rm_dd_ball_set(&scale, 1.0, 0);
    rm_pair_divided_dd_ball(&scale, &f, 0);
    all = rm_term_block{};
    known = rm_pair_scale(&f, &scale, &all);
  }
  __syncthreads();
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < f.n; i += step) {
    const double x = number<T>(f.x, i, fmt, by_words), y = number<T>(f.y, i, fmt, by_words);
    const double g = by_g ? number<T>(f.g, i, fmt, by_words) : 1.0;
    rm_term_block t = all;
    t.x = &x, t.y = &y, t.g = &g, t.b = f.b;
    T out;
    if (known && !fast_term<fmt, kind, by_g>(t, &out)) {
      element<T>::store(f.out.base + i * f.out.stride, out, by_words);
      continue;
    }
    rm_row_state state = {};
    rm_pair_result(&f, i, &state);
    if (state.deferred) undecided.add(i);
  }
}

template <class T, int fmt, rm_term_kind kind, int by_g> rm_status launch(const rm_pair_loss &f, cudaStream_t stream) {
  const workspace bits(rm_undecided_set::bytes(f.n), stream);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, bits, f.n, false);
  if (status) return status;
  const bool by_words = aligned<T>(f.x.base, f.x.stride) && aligned<T>(f.y.base, f.y.stride) &&
                        aligned<T>(f.g.base, f.g.stride) && aligned<T>(f.out.base, f.out.stride);
  const int64_t blocks = blocks_for(f.n), limit = 4096; /* each computes the scale */
  RM_LAUNCH((terms_kernel<T, fmt, kind, by_g>), blocks < limit ? blocks : limit, RM_BLOCK, stream, f, undecided, by_words);
  return rm_pair_accurate(f, undecided, stream);
}

template <rm_term_kind kind, int by_g> rm_status each(const rm_pair_loss &f, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  switch (f.format) {
    case RM_F16: return launch<uint16_t, RM_F16, kind, by_g>(f, s);
    case RM_BF16: return launch<uint16_t, RM_BF16, kind, by_g>(f, s);
    case RM_F32: return launch<float, RM_F32, kind, by_g>(f, s);
    default: return launch<double, RM_F64, kind, by_g>(f, s);
  }
}

} // namespace

extern "C" rm_status rm_cuda_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x,
                                             ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out,
                                             ptrdiff_t stride_out, rm_cuda_stream stream) {
  rm_pair_loss f = {loss,
                    format,
                    reduction,
                    p,
                    n,
                    {},
                    rm_single_row(x, stride_x),
                    rm_single_row(y, stride_y),
                    rm_single_row(out, stride_out),
                    RM_TERM_SQUARE};
  const rm_status status = rm_pair_loss_check(&f);
  const bool none = reduction == RM_REDUCTION_NONE;
  if (status || (n == 0 && none)) return status;
  if (none) return f.kind == RM_TERM_SQUARE ? each<RM_TERM_SQUARE, 0>(f, stream) : each<RM_TERM_ABSOLUTE, 0>(f, stream);
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const partial_sums sums(pair_terms{f, n}, s);
  return sums.parts ? rm_pair_reduce(f, sums.parts, sums.blocks, s) : RM_ERR_DEVICE;
}

extern "C" rm_status rm_cuda_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                                      ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                                      ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx,
                                                      rm_cuda_stream stream) {
  rm_pair_loss f = {loss,
                    format,
                    reduction,
                    p,
                    n,
                    rm_single_row(g, stride_g),
                    rm_single_row(x, stride_x),
                    rm_single_row(y, stride_y),
                    rm_single_row(dx, stride_dx),
                    RM_TERM_SQUARE};
  const rm_status status = rm_pair_gradient_check(&f);
  if (status || n == 0) return status;
  return f.kind == RM_TERM_CLAMPED ? each<RM_TERM_CLAMPED, 1>(f, stream) : each<RM_TERM_SIGN, 1>(f, stream);
}
