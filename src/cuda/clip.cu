/* Gradient clipping (nn/optim/clip_step.h, clip_accurate.inl): a superaccumulator on the device has the sum of squares, one
 * thread computes the factor from it, and one thread for each element multiplies. */
#include "accumulate.h"
#include "undecided.h"

#include "../../include/repmath/cuda_optim.h"

#include "../nn/optim/clip_step.h"

#include "../nn/optim/clip_accurate.inl"

namespace {

static_assert(sizeof(rm_superaccumulator) <= RM_CUDA_ACCUMULATOR_BYTES, "the public size of an accumulator");

/* The clipping of a call, in device memory. todo says what the factor requires of every element. */
enum { KEEP, FAST, ACCURATE, ALL_NAN };
struct clipping {
  rm_clip c;
  int todo;
};
enum { RM_CLIP_STACK = 96 << 10 };

__global__ void merge_kernel(rm_superaccumulator *parts, int blocks, rm_superaccumulator *into) {
  merge_block(parts, blocks, RM_PARTS_BLOCK);
  __syncthreads();
  if (threadIdx.x == 0) rm_superacc_merge(into, parts, 0);
}

__global__ void factor_kernel(rm_clip c, clipping *out, char *memory) {
  big_begin(memory, RM_CLIP_STACK);
  const rm_superaccumulator *sum = c.squares;
  const bool nan = sum->classes & ~static_cast<uint32_t>(RM_ACC_PINF) || (!sum->classes && rm_superacc_get_top(sum).negative);
  out->todo = nan ? ALL_NAN : !rm_clip_prepare(&c) ? KEEP : c.fast ? FAST : ACCURATE;
  out->c = c;
}

__global__ void root_kernel(const rm_superaccumulator *sum, double *out) { *out = rm_root_of_sum(sum); }

template <class T, int fmt>
__global__ void clip_kernel(const clipping *clip, int64_t n, rm_undecided_set undecided, bool by_words) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  if (clip->todo == KEEP) return;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    char *at = clip->c.g + i * static_cast<int64_t>(sizeof(T));
    T g = element<T>::load(at, by_words);
    vf64 y;
    if (clip->todo == ALL_NAN) {
      rm_write_bits(reinterpret_cast<char *>(&g), rm_nan_bits(fmt), fmt);
    } else if (clip->todo == ACCURATE || !vm64_none(rm_clip_values(&clip->c, reinterpret_cast<const char *>(&g), fmt, &y))) {
      undecided.add(i);
      continue;
    } else {
      rm_store_elements(reinterpret_cast<char *>(&g), y, fmt);
    }
    element<T>::store(at, g, by_words);
  }
}

__global__ void __launch_bounds__(1) accurate_clip_kernel(const clipping *clip, rm_undecided_set undecided, char *memory) {
  big_begin(memory, RM_CLIP_STACK);
  each_undecided(undecided, [&](int64_t i) { rm_clip_accurate_range(&clip->c, i, i + 1); });
}

template <class T, int fmt> rm_status clip(const rm_clip &c, int64_t n, cudaStream_t s) {
  const big_workers workers(n, RM_CLIP_STACK);
  const workspace work(rm_undecided_set::bytes(n), s), stacks(workers.memory(), s), factor(sizeof(clipping), s);
  rm_undecided_set undecided;
  if (!stacks.data || !factor.data) return RM_ERR_DEVICE;
  const rm_status status = undecided_begin(&undecided, work, n, false);
  if (status) return status;
  char *memory = static_cast<char *>(stacks.data);
  clipping *made = static_cast<clipping *>(factor.data);
  RM_LAUNCH(factor_kernel, 1, 1, s, c, made, memory);
  RM_LAUNCH((clip_kernel<T, fmt>), blocks_for(n), RM_BLOCK, s, made, n, undecided, aligned<T>(c.g, 0));
  RM_LAUNCH(accurate_clip_kernel, workers.count, 1, s, made, undecided, memory);
  return launched();
}

} // namespace

extern "C" rm_status rm_cuda_add_products(int format, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                                          ptrdiff_t stride_y, void *accumulator, rm_cuda_stream stream) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 3);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, 5);
  if (!accumulator) return RM_STATUS(RM_ERR_NULL, 7);
  if (n == 0) return RM_OK;
  const terms t = {format, n, static_cast<const char *>(x), static_cast<const char *>(y), stride_x, stride_y};
  partial_sums sums(t, static_cast<cudaStream_t>(stream));
  if (!sums.parts) return RM_ERR_DEVICE;
  RM_LAUNCH(merge_kernel, 1, RM_PARTS_MAX, sums.work.stream, sums.parts, sums.blocks,
            static_cast<rm_superaccumulator *>(accumulator));
  return launched();
}

extern "C" rm_status rm_cuda_clip_to_norm(int format, int64_t n, void *g, const void *squares, double max_norm,
                                          rm_cuda_stream stream) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !g) return RM_STATUS(RM_ERR_NULL, 3);
  if (!squares) return RM_STATUS(RM_ERR_NULL, 4);
  if (!(max_norm >= 0.0 && max_norm <= 0x1.fffffffffffffp1023)) return RM_STATUS(RM_ERR_RANGE, 5);
  if (n == 0) return RM_OK;
  rm_clip c = {};
  c.format = format, c.g = static_cast<char *>(g), c.max_norm = max_norm;
  c.squares = static_cast<const rm_superaccumulator *>(squares);
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  switch (format) {
    case RM_F16: return clip<uint16_t, RM_F16>(c, n, s);
    case RM_BF16: return clip<uint16_t, RM_BF16>(c, n, s);
    case RM_F32: return clip<float, RM_F32>(c, n, s);
    default: return clip<double, RM_F64>(c, n, s);
  }
}

extern "C" rm_status rm_cuda_root_of_total(const void *squares, double *out, rm_cuda_stream stream) {
  if (!squares) return RM_STATUS(RM_ERR_NULL, 1);
  if (!out) return RM_STATUS(RM_ERR_NULL, 2);
  RM_LAUNCH(root_kernel, 1, 1, static_cast<cudaStream_t>(stream), static_cast<const rm_superaccumulator *>(squares), out);
  return launched();
}
