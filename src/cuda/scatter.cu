/* index_add, segment_sum: contributions are sorted by their row with atomic counters, and one thread sums each element of
 * out with the CPU's tiers (reduce/segment.h), or, where a row has many contributions and few columns, a block with
 * accumulators.  The counters put rows and contributions in no fixed order; every result is RN of an exact sum, so no bit
 * depends on it.  Cost: two passes over the index, one over the rows, and each contribution is read once, or again where
 * the fast phase leaves its element undecided. Workspace: 8 (rows + n) + 24 min(rows, n) bytes, a bit for each element
 * that has contributions, and 9 MB of accumulators at most. */
#include "accumulate.h"
#include "undecided.h"

#include "../reduce/segment.h"

extern "C" {
#include "../reduce/scatter_args.h" /* declares argument checks, which are C */
}
#include "../../include/repmath/cuda_reductions.h"

#include "../reduce/scatter_exact.inl"

namespace {

enum { RM_MANY_TERMS = 1024 }; /* of an element: worth a block, and its 64 accumulators */

typedef unsigned long long counter; /* as atomicAdd has it */

/* Counts of the contributions and rows that have a place, and whether an index is out of range. */
struct scatter_state {
  counter terms, few, many, outside;
};
/* A row of out that has contributions: terms[first] to terms[first + n - 1]. */
struct scatter_row {
  int64_t row, first, n;
};

struct scatter {
  rm_scatter_problem p;
  bool index_aligned;
  int64_t many, max_rows; /* from so many contributions on a row has many; limit of the rows that have any */
  uint32_t *seen; /* rm_cuda_index_flag */
  scatter_state *state;
  counter *count; /* of contributions to each row; then the place of the next one */
  int64_t *terms; /* contributions, those to one row together */
  scatter_row *rows; /* with few of them from the front, with many from the back */
  __device__ int64_t index(int64_t i) const { return element<int64_t>::load(p.index + i * p.stride_index, index_aligned); }
  __device__ char *out(int64_t r, int64_t j) const { return p.out.base + r * p.out.row + j * p.out.col; }
  __device__ rm_segment segment(int64_t i) const {
    return rm_segment{rows[i].row, rows[i].n, terms + rows[i].first, terms + p.n};
  }
};

__device__ int64_t this_thread() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ int64_t all_threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

__global__ void count_kernel(scatter s) {
  for (int64_t i = this_thread(); i < s.p.n; i += all_threads()) {
    const int64_t r = s.index(i);
    if (static_cast<uint64_t>(r) < static_cast<uint64_t>(s.p.rows)) {
      atomicAdd(s.count + r, counter(1));
    } else {
      s.state->outside = 1;
      if (s.seen) *s.seen = 1;
    }
  }
}

/* Fills a segment sum with what a row without contributions has, and out with NaN where an index is out of range. */
__global__ void fill_kernel(scatter s) {
  if (s.p.add && !s.state->outside) return;
  const uint64_t bits = s.state->outside ? rm_nan_bits(s.p.format) : 0;
  for (int64_t e = this_thread(); e < s.p.rows * s.p.cols; e += all_threads())
    rm_write_bits(s.out(e / s.p.cols, e % s.p.cols), bits, s.p.format);
}

__global__ void rows_kernel(scatter s) {
  for (int64_t r = this_thread(); r < s.p.rows; r += all_threads()) {
    const counter n = s.count[r];
    if (n == 0) continue;
    const counter first = atomicAdd(&s.state->terms, n);
    const bool many = static_cast<int64_t>(n) >= s.many;
    const int64_t place = static_cast<int64_t>(atomicAdd(many ? &s.state->many : &s.state->few, counter(1)));
    s.rows[many ? s.max_rows - 1 - place : place] = scatter_row{r, static_cast<int64_t>(first), static_cast<int64_t>(n)};
    s.count[r] = first;
  }
}

__global__ void place_kernel(scatter s) {
  if (s.state->outside) return;
  for (int64_t i = this_thread(); i < s.p.n; i += all_threads()) s.terms[atomicAdd(s.count + s.index(i), counter(1))] = i;
}

template <int fmt> __global__ void few_kernel(scatter s, rm_undecided_set undecided) {
  if (s.state->outside) return;
  rm_tiers tiers = {0, 0, 0}; /* a device does not count tiers */
  for (int64_t e = this_thread(); e < static_cast<int64_t>(s.state->few) * s.p.cols; e += all_threads()) {
    const rm_segment segment = s.segment(e / s.p.cols);
    const uint32_t found = rm_segment_columns(&s.p, &segment, e % s.p.cols, 1, fmt, 1, 0, &tiers); /* 0: at any address */
    if (found & RM_SEGMENT_UNDECIDED) undecided.add(e);
  }
}

/* What these sums leave undecided. A thread's accumulator lies in `parts`, since its stack has no room for one. */
__global__ void exact_few_kernel(scatter s, rm_undecided_set undecided, rm_superaccumulator *parts) {
  if (s.state->outside) return;
  each_undecided(undecided, [&](int64_t e) {
    const rm_segment segment = s.segment(e / s.p.cols);
    uint32_t flags = 0; /* a device has nowhere to raise them */
    const uint64_t bits = rm_scatter_exactly_in(parts + this_thread(), &s.p, &segment, e % s.p.cols, &flags);
    rm_write_bits(s.out(segment.row, e % s.p.cols), bits, s.p.format);
  });
}

__global__ void many_kernel(scatter s, rm_superaccumulator *parts) {
  if (s.state->outside) return;
  rm_superaccumulator *const block = parts + static_cast<int64_t>(blockIdx.x) * RM_PARTS_BLOCK, *const mine =
                                                                                                    block + threadIdx.x;
  for (int64_t e = blockIdx.x; e < static_cast<int64_t>(s.state->many) * s.p.cols; e += gridDim.x) {
    const scatter_row r = s.rows[s.max_rows - 1 - e / s.p.cols];
    const int64_t j = e % s.p.cols;
    const char *src = s.p.src.base + j * s.p.src.col;
    char *out = s.out(r.row, j);
    rm_superacc_clear(mine);
    for (int64_t t = static_cast<int64_t>(threadIdx.x) - s.p.add; t < r.n; t += RM_PARTS_BLOCK) /* -1: the old value */
      rm_superacc_add_array(mine, s.p.format, 1, t < 0 ? out : src + s.terms[r.first + t] * s.p.src.row, 0);
    merge_block(block, RM_PARTS_BLOCK, 1);
    __syncthreads();
    uint32_t flags = 0; /* a device has nowhere to raise them */
    if (threadIdx.x == 0) rm_write_bits(out, rm_superacc_round(block, s.p.format, RM_NEAREST, &flags), s.p.format);
    __syncthreads();
  }
}

int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

rm_status run(scatter &s, cudaStream_t stream) {
  const rm_scatter_problem &p = s.p;
  if (p.rows == 0 || p.cols == 0 || (p.n == 0 && p.add)) return RM_OK;
  s.index_aligned = aligned<int64_t>(p.index, p.stride_index);
  s.many = RM_MANY_TERMS * (1 + p.cols / RM_PARTS_BLOCK); /* columns keep threads busy too */
  s.max_rows = min_of(p.rows, p.n);
  const size_t cleared = sizeof(scatter_state) + static_cast<size_t>(p.rows) * sizeof(counter);
  const workspace work(
      cleared + static_cast<size_t>(p.n) * sizeof(int64_t) + static_cast<size_t>(s.max_rows) * sizeof(scatter_row), stream);
  const int64_t blocks = p.n < s.many ? 0 : min_of(RM_PARTS_MAX, p.n / s.many * p.cols);
  const int64_t few = s.max_rows * p.cols, few_blocks = min_of(RM_PARTS_MAX, (few + RM_PARTS_BLOCK - 1) / RM_PARTS_BLOCK);
  const int64_t most = blocks > few_blocks ? blocks : few_blocks > 0 ? few_blocks : 1;
  const workspace parts(static_cast<size_t>(most) * RM_PARTS_BLOCK * sizeof(rm_superaccumulator), stream),
      bits(rm_undecided_set::bytes(few), stream);
  rm_undecided_set undecided;
  if (!parts.data || !work.fill(0, cleared)) return RM_ERR_DEVICE;
  const rm_status status = undecided_begin(&undecided, bits, few, false);
  if (status) return status;
  s.seen = rm_cuda_index_flag(stream);
  s.state = static_cast<scatter_state *>(work.data);
  s.count = reinterpret_cast<counter *>(s.state + 1);
  s.terms = reinterpret_cast<int64_t *>(s.count + p.rows);
  s.rows = reinterpret_cast<scatter_row *>(s.terms + p.n);
  if (p.n) RM_LAUNCH(count_kernel, blocks_for(p.n), RM_BLOCK, stream, s);
  RM_LAUNCH(fill_kernel, blocks_for(p.rows * p.cols), RM_BLOCK, stream, s);
  if (p.n == 0) return launched();
  RM_LAUNCH(rows_kernel, blocks_for(p.rows), RM_BLOCK, stream, s);
  RM_LAUNCH(place_kernel, blocks_for(p.n), RM_BLOCK, stream, s);
  const int64_t grid = blocks_for(few);
  switch (p.format) {
    case RM_F16: RM_LAUNCH((few_kernel<RM_F16>), grid, RM_BLOCK, stream, s, undecided); break;
    case RM_BF16: RM_LAUNCH((few_kernel<RM_BF16>), grid, RM_BLOCK, stream, s, undecided); break;
    case RM_F32: RM_LAUNCH((few_kernel<RM_F32>), grid, RM_BLOCK, stream, s, undecided); break;
    default: RM_LAUNCH((few_kernel<RM_F64>), grid, RM_BLOCK, stream, s, undecided);
  }
  RM_LAUNCH(exact_few_kernel, few_blocks, RM_PARTS_BLOCK, stream, s, undecided,
            static_cast<rm_superaccumulator *>(parts.data));
  if (blocks) RM_LAUNCH(many_kernel, blocks, RM_PARTS_BLOCK, stream, s, static_cast<rm_superaccumulator *>(parts.data));
  return launched();
}

rm_status call(rm_scatter_problem p, const int64_t *index, rm_cuda_stream stream) {
  p.index = reinterpret_cast<const char *>(index);
  scatter s = {};
  s.p = p;
  const rm_status status = rm_scatter_check(&s.p);
  return status ? status : run(s, static_cast<cudaStream_t>(stream));
}

} // namespace

extern "C" {

rm_status rm_cuda_index_add(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                            int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                            ptrdiff_t col_src, rm_cuda_stream stream) {
  return call({format, 1, 0, rows, cols, n, rm_view_of(out, row_out, col_out), rm_view_of(src, row_src, col_src), nullptr,
               stride_index},
              index, stream);
}

rm_status rm_cuda_segment_sum(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                              int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                              ptrdiff_t col_src, rm_cuda_stream stream) {
  return call({format, 0, 0, rows, cols, n, rm_view_of(out, row_out, col_out), rm_view_of(src, row_src, col_src), nullptr,
               stride_index},
              index, stream);
}
}
