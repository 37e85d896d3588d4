/* Pooling: one thread computes each result. An average that the first two tiers leave undecided is computed by another kernel
 * (pooling_accurate.cu).
 *
 * Workspace: 32 bytes for each size of the input or the output along an axis, whichever is larger, and a bit for each
 * average. */
#include "pooling.h"

#include "../nn/pool/sum.h"

#define RM_NUM dd_ball
#include "../nn/pool/formula.inc"
#undef RM_NUM

#include "../../include/repmath/cuda_pooling.h"

#include "../reduce/superaccumulator.inl"

#include "../reduce/statistics_exact.inl"

namespace {

/* The type that an element is read and written as. */
template <int fmt> struct bits_of {
  typedef uint16_t type;
};
template <> struct bits_of<RM_F32> {
  typedef uint32_t type;
};
template <> struct bits_of<RM_F64> {
  typedef uint64_t type;
};

struct alignments {
  bool x, y, index;
};
template <class T> bool all_aligned(const void *base, const ptrdiff_t *strides) {
  bool ok = true;
  for (int k = 0; k < 5; k++) ok = ok && aligned<T>(base, strides[k]);
  return ok;
}

__global__ void tables_kernel(const __grid_constant__ rm_pool_problem f, int64_t n) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; r < n; r += step)
    for (int k = 0; k < 3; k++)
      if (r < f.axis[k].results || r < f.axis[k].sources) rm_pool_set_entry(&f, k, r);
}

template <int fmt> __global__ void max_kernel(const __grid_constant__ rm_pool_problem f, int64_t n, alignments by_words) {
  typedef typename bits_of<fmt>::type T;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const pool_result result(f, i);
    int64_t where = -1;
    uint64_t bits = rm_infinity_bits(fmt) | rm_sign_bit(fmt);
    double v = 0.0;
    each_of_window(result.window, [&](const char *at, int64_t a, int64_t b, int64_t c) {
      const T read = element<T>::load(at, by_words.x);
      const double u = rm_to_double(read, fmt);
      if (where >= 0 && !rm_pool_is_greater(u, v)) return;
      v = u, bits = read, where = (a * f.axis[1].sources + b) * f.axis[2].sources + c;
    });
    element<T>::store(result.y, static_cast<T>(rm_is_nan(v) ? rm_nan_bits(fmt) : bits), by_words.y);
    if (result.index) element<int64_t>::store(result.index, where, by_words.index);
  }
}

template <int fmt>
__global__ void average_kernel(const __grid_constant__ rm_pool_problem f, int64_t n, rm_undecided_set undecided,
                               alignments by_words) {
  typedef typename bits_of<fmt>::type T;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const pool_result result(f, i);
    rm_row_state state = {};
    uint64_t bits = 0;
    bool known = true;
    const int64_t terms = result.terms();
    if (terms == 0) {
      if (!f.backward && result.divisor() == 0) bits = rm_nan_bits(fmt);
    } else if (result.uniform()) {
      rm_pool_total total = {0.0, 0.0, 0.0};
      each_of_window(result.window, [&](const char *at, int64_t, int64_t, int64_t) {
        rm_pool_add(&total, rm_to_double(element<T>::load(at, by_words.x), fmt), 0.0, 0.0);
      });
      known = rm_pool_decide(&total, terms, result.divisor(), fmt, &bits, &state);
    } else {
      rm_pool_window w = result.window;
      rm_dd_ball v;
      rm_pool_quotients_dd_ball(&v, &w, 0, 0);
      known = rm_dd_ball_round(&v, fmt, RM_NEAREST, &state.flags, &bits);
    }
    if (known) element<T>::store(result.y, static_cast<T>(bits), by_words.y);
    else undecided.add(i);
  }
}

template <int fmt> rm_status launch_pool(const rm_pool_problem &f, bool average, int64_t n, cudaStream_t stream) {
  typedef typename bits_of<fmt>::type T;
  const alignments by_words = {all_aligned<T>(f.x, f.sx), all_aligned<T>(f.y, f.sy), all_aligned<int64_t>(f.index, f.si)};
  if (!average) {
    RM_LAUNCH((max_kernel<fmt>), blocks_for(n), RM_BLOCK, stream, f, n, by_words);
    return launched();
  }
  const workspace work(rm_undecided_set::bytes(n), stream);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, work, n, false);
  if (status) return status;
  RM_LAUNCH((average_kernel<fmt>), blocks_for(n), RM_BLOCK, stream, f, n, undecided, by_words);
  return rm_pool_accurate(f, undecided, stream);
}

rm_status run(const rm_pool_call &call, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  rm_pool_problem f;
  const rm_status status = rm_pool_check(&f, &call);
  if (status || f.images == 0) return status;
  const workspace tables(static_cast<size_t>(rm_pool_room(&f)) * sizeof(int64_t), s);
  if (!tables.data) return RM_ERR_DEVICE;
  rm_pool_set_tables(&f, static_cast<int64_t *>(tables.data));
  int64_t longest = 0, n = f.images * f.channels;
  for (int k = 0; k < 3; k++) {
    if (rm_pool_entries(&f, k) > longest) longest = rm_pool_entries(&f, k);
    n *= f.axis[k].results;
  }
  RM_LAUNCH(tables_kernel, blocks_for(longest), RM_BLOCK, s, f, longest);
  switch (f.format) {
    case RM_F16: return launch_pool<RM_F16>(f, call.average, n, s);
    case RM_BF16: return launch_pool<RM_BF16>(f, call.average, n, s);
    case RM_F32: return launch_pool<RM_F32>(f, call.average, n, s);
    default: return launch_pool<RM_F64>(f, call.average, n, s);
  }
}

} // namespace

extern "C" {

rm_status rm_cuda_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y,
                           const ptrdiff_t *strides_y, int64_t *index, const ptrdiff_t *strides_index,
                           rm_cuda_stream stream) {
  return run({format, 0, 0, 0, 0, pool, x, y, index, strides_x, strides_y, strides_index}, stream);
}
rm_status rm_cuda_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x,
                           const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y, rm_cuda_stream stream) {
  return run({format, 1, 0, include_pad, divisor, pool, x, y, nullptr, strides_x, strides_y, nullptr}, stream);
}
rm_status rm_cuda_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                                    const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx,
                                    rm_cuda_stream stream) {
  return run({format, 1, 1, include_pad, divisor, pool, g, gx, nullptr, strides_g, strides_gx, nullptr}, stream);
}
}
