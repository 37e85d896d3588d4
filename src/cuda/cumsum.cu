/* cumsum: exact sums of chunks and their exact prefixes; then one thread adds each chunk from its prefix on, as on the CPU
 * (reduce/prefixes.h).
 *
 * Cost: each term is read twice, added once to the accumulator of its chunk and once to a running sum; what the running sum
 * leaves undecided goes to an accumulator again. Prefixes are sums digit by digit, without carries, with a thread for each
 * digit: first over the chunks of a group, then over the groups. The same launches do all rows; where rows are many each is
 * one chunk, which needs no prefix. Workspace: an accumulator of 1,080 bytes for each chunk and each group, where a row has
 * more than one chunk, of at least RM_CHUNK terms: at most 18 MB for one row, and 54 MB for many (16,384 rows of two chunks
 * and a group). And one for each thread that adds running sums, 36 MB at most. */
#include "launch.h"

#include "engine.h"

#include "../reduce/prefixes.h"
#include "../reduce/sum_exact.inl"

extern "C" {
#include "../reduce/statistics.h" /* declares argument checks, which are C */
}
#include "../../include/repmath/cuda_reductions.h"

namespace {

enum {
  RM_CHUNK = 64,
  RM_GROUP = 128, /* chunks of a group; a row has at most as many groups */
  RM_CHUNKS = 2 * RM_GROUP * RM_GROUP, /* chunks of all rows, about */
  RM_CHUNK_BLOCK = 64,
  RM_DIGIT_BLOCK = 160 /* a thread for each digit, and one for classes and counts of pending additions */
};
static_assert(static_cast<int>(RM_ACC_DIGITS) < static_cast<int>(RM_DIGIT_BLOCK), "a thread a digit");

struct chunks {
  rm_sum_problem p; /* the first row */
  int64_t rows;
  ptrdiff_t row;                 /* bytes from a row to the next */
  int64_t length, count, groups; /* terms of a chunk; chunks of a row; groups of a row */
  rm_superaccumulator *chunk, *group;
  __device__ rm_sum_problem of_row(int64_t i) const {
    rm_sum_problem q = p;
    q.x.base += i * row;
    return q;
  }
  __device__ int64_t end(int64_t k) const { return (k + 1) * length < p.n ? (k + 1) * length : p.n; }
};

/* Sums of chunks with their carries propagated: digits are below 2^32, so that sums of RM_GROUP^2 of them are far below
 * 2^63. */
__global__ void chunk_kernel(chunks c) {
  const int64_t place = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, k = place % c.count;
  if (place >= c.rows * c.count) return;
  const rm_sum_problem p = c.of_row(place / c.count);
  rm_superacc_clear(c.chunk + place);
  rm_sum_feed(&p, k * c.length, c.end(k), c.chunk + place);
  rm_superacc_propagate(c.chunk + place);
}

/* Each of `count` accumulators becomes the sum of those before it, and *all, unless it is NULL, the sum of all. `weight`
 * counts the additions to a digit since its carries were propagated. */
__device__ void sums_before(rm_superaccumulator *acc, int64_t count, uint32_t weight, rm_superaccumulator *all) {
  const int d = static_cast<int>(threadIdx.x);
  if (d < RM_ACC_DIGITS) {
    int64_t sum = 0;
    for (int64_t k = 0; k < count; k++) {
      const int64_t mine = acc[k].digit[d];
      acc[k].digit[d] = sum;
      sum += mine;
    }
    if (all) all->digit[d] = sum;
  } else if (d == RM_ACC_DIGITS) {
    uint32_t classes = 0;
    for (int64_t k = 0; k < count; k++) {
      const uint32_t mine = acc[k].classes;
      acc[k].classes = classes;
      acc[k].pending = weight * static_cast<uint32_t>(k);
      classes |= mine;
    }
    if (all) all->classes = classes, all->pending = weight * static_cast<uint32_t>(count);
  }
}

__global__ void group_kernel(chunks c) {
  const int64_t row = blockIdx.x / c.groups, first = blockIdx.x % c.groups * RM_GROUP, chunks_left = c.count - first;
  sums_before(c.chunk + row * c.count + first, chunks_left < RM_GROUP ? chunks_left : RM_GROUP, 1, c.group + blockIdx.x);
}
__global__ void groups_kernel(chunks c) { sums_before(c.group + blockIdx.x * c.groups, c.groups, RM_GROUP, nullptr); }

/* running: an accumulator for each thread, which is too large for its stack. */
template <int fmt>
__global__ void running_kernel(chunks c, rm_prefix_exact *running, char *out, ptrdiff_t row_out, ptrdiff_t stride) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  rm_prefix_exact *const t = running + thread;
  for (int64_t place = thread; place < c.rows * c.count; place += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t row = place / c.count, k = place % c.count, begin = k * c.length;
    const rm_sum_problem p = c.of_row(row);
    if (c.count == 1) {
      rm_superacc_clear(&t->acc);
    } else {
      const rm_superaccumulator *chunk = c.chunk + place, *group = c.group + row * c.groups + k / RM_GROUP;
      for (int d = 0; d < RM_ACC_DIGITS; d++) t->acc.digit[d] = chunk->digit[d] + group->digit[d];
      t->acc.classes = chunk->classes | group->classes;
      t->acc.pending = chunk->pending + group->pending;
    }
    t->fed = begin, t->accumulator = 0, t->flags = 0;
    rm_prefix_sums(&p, begin, c.end(k), fmt, out + row * row_out + begin * stride, stride, t);
  }
}

template <int fmt> rm_status cumsum(chunks c, char *out, ptrdiff_t row_out, ptrdiff_t stride, cudaStream_t stream) {
  const int64_t n = c.p.n, of_row = (n + RM_GROUP * RM_GROUP - 1) / (RM_GROUP * RM_GROUP), chunks_of_row = RM_CHUNKS / c.rows;
  c.length = chunks_of_row > 1 ? (n + chunks_of_row - 1) / chunks_of_row : n;
  if (c.length < of_row) c.length = of_row;
  if (c.length < RM_CHUNK) c.length = RM_CHUNK;
  c.count = (n + c.length - 1) / c.length, c.groups = (c.count + RM_GROUP - 1) / RM_GROUP;
  const int64_t needed = c.count == 1 ? 0 : c.rows * (c.count + c.groups);
  const int64_t blocks = (c.rows * c.count + RM_CHUNK_BLOCK - 1) / RM_CHUNK_BLOCK;
  const int64_t running = blocks < RM_CHUNKS / RM_CHUNK_BLOCK ? blocks : RM_CHUNKS / RM_CHUNK_BLOCK;
  const workspace work(static_cast<size_t>(needed ? needed : 1) * sizeof(rm_superaccumulator), stream),
      threads(static_cast<size_t>(running) * RM_CHUNK_BLOCK * sizeof(rm_prefix_exact), stream);
  if (!work.data || !threads.data) return RM_ERR_DEVICE;
  c.chunk = static_cast<rm_superaccumulator *>(work.data), c.group = c.chunk + c.rows * c.count;
  if (needed) {
    RM_LAUNCH(chunk_kernel, blocks, RM_CHUNK_BLOCK, stream, c);
    RM_LAUNCH(group_kernel, c.rows * c.groups, RM_DIGIT_BLOCK, stream, c);
    RM_LAUNCH(groups_kernel, c.rows, RM_DIGIT_BLOCK, stream, c);
  }
  RM_LAUNCH((running_kernel<fmt>), running, RM_CHUNK_BLOCK, stream, c, static_cast<rm_prefix_exact *>(threads.data), out,
            row_out, stride);
  return launched();
}

rm_status cumsum_rows(const chunks &c, int format_out, void *out, ptrdiff_t row_out, ptrdiff_t stride_out,
                      rm_cuda_stream stream) {
  char *const to = static_cast<char *>(out);
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  switch (format_out) {
    case RM_F16: return cumsum<RM_F16>(c, to, row_out, stride_out, s);
    case RM_BF16: return cumsum<RM_BF16>(c, to, row_out, stride_out, s);
    case RM_F32: return cumsum<RM_F32>(c, to, row_out, stride_out, s);
    default: return cumsum<RM_F64>(c, to, row_out, stride_out, s);
  }
}

} // namespace

extern "C" {

rm_status rm_cuda_cumsum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                         ptrdiff_t stride_out, rm_cuda_stream stream) {
  const rm_status status = rm_cumsum_check(format_x, n, x, format_out, out);
  if (status || n == 0) return status;
  const chunks c = {
      {n, {static_cast<const char *>(x), stride_x}, {nullptr, 0}, format_x, nullptr}, 1, 0, 0, 0, 0, nullptr, nullptr};
  return cumsum_rows(c, format_out, out, 0, stride_out, stream);
}

rm_status rm_cuda_cumsum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                              int format_out, void *out, ptrdiff_t row_out, ptrdiff_t stride_out, rm_cuda_stream stream) {
  const rm_status status = rm_cumsum_rows_check(format_x, rows, n, x, format_out, out);
  if (status || rows == 0 || n == 0) return status;
  const chunks c = {
      {n, {static_cast<const char *>(x), stride_x}, {nullptr, 0}, format_x, nullptr}, rows, row_x, 0, 0, 0, nullptr, nullptr};
  return cumsum_rows(c, format_out, out, row_out, stride_out, stream);
}
}
