/* The fast phase of rows, a thread block for each. Every thread runs the CPU's function of a row, whose branches depend on
 * values that are the same for all of them; the loops of nn/rows/kernels.h are divided among the threads (row_loops.h).
 *
 * A row is read from memory once, as binary64 into a buffer, where each pass finds it. The buffers of short rows are in
 * shared memory: of rows of which two blocks at least have room in a multiprocessor, so that one computes while the other
 * waits. */
#pragma once

#include "row_loops.h"

RM_STATIC void rm_rows_load(int64_t n, const char *x, ptrdiff_t stride, int fmt, double pad, double *to) {
  block_load(n, x, stride, fmt, pad, to);
}
RM_STATIC double rm_rows_max(int64_t n, const double *x) { return block_max(n, x); }
RM_STATIC double rm_rows_exponentials(int64_t n, const double *x, double shift, double *e) {
  return block_exponentials(n, x, shift, e);
}
RM_STATIC void rm_rows_moments(int64_t n, const double *x, double shift, double *total, double *square) {
  block_moments(n, x, shift, total, square);
}
RM_STATIC void rm_rows_weighted(int64_t n, const double *g, const double *w, const double *x, double shift, double *h,
                                double *sums) {
  block_weighted(n, g, w, x, shift, h, sums);
}
RM_STATIC void rm_rows_sync() { __syncthreads(); }
RM_STATIC int64_t rm_rows_first(int64_t n, const double *x, double value) { return block_first(n, x, value); }

/* How many elements are undecided, but not which, since the accurate phase then computes the whole row. So it does for an
 * operation that has no loop here. */
RM_STATIC int64_t rm_rows_store(rm_row_operation op, const rm_row_store *s) {
  const int64_t undecided = block_store<false>(op, s, nullptr);
  return undecided < 0 ? 1 : undecided;
}

RM_FN int rm_row_defer(rm_row_state *s) {
  s->deferred = 1;
  return 1;
}

RM_HOST_EXTERN void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n,
                                  int format) {
  block_spread(reinterpret_cast<const char *>(rm_row_buffer(s, s->buffers)) + from * rm_size_of(format), rm_row_at(out, row),
               out->stride, n, format);
}

/* The first tier alone, of formats below binary64, whose products are exact. */
RM_HOST_EXTERN int rm_sum_approximately(const rm_sum_problem *p, int tier, double *hi, double *lo, double *err) {
  rm_partial sum = {0.0, 0.0, 0.0, RM_CHAIN};
  if (tier || p->shift || p->fmt == RM_F64) return 0;
  const int bytes = rm_size_of(p->fmt);
  const bool x_words = are_words(p->x.base, p->x.stride, bytes), y_words = are_words(p->y.base, p->y.stride, bytes);
  for (int64_t i = threadIdx.x; i < p->n;) {
    double s = 0.0, size = 0.0;
    vf64 e;
    for (int c = 0; c < RM_CHAIN && i < p->n; c++, i += RM_ROW_THREADS) {
      double x = element_of(p->x.base + i * p->x.stride, p->fmt, x_words);
      if (p->y.base) x = vf64_mul(x, element_of(p->y.base + i * p->y.stride, p->fmt, y_words));
      s = vf64_add(s, x);
      size = vf64_add(size, vf64_abs(x));
    }
    sum.hi = vf64_two_sum(sum.hi, s, &e);
    sum.lo = vf64_add(sum.lo, e);
    sum.size = vf64_add(sum.size, size);
    sum.depth += 1.0;
  }
  sum = of_block<join_partial>(sum);
  return rm_partial_known(&sum, p, tier, hi, lo, err);
}

namespace {

#if defined(RM_CFG_EMULATE_DEVICE)
#ifndef RM_CFG_ROW_SHARED
#define RM_CFG_ROW_SHARED 8192 /* so that rows of either kind are short */
#endif
#define RM_WHOLE_SHARED (5 * RM_CFG_ROW_SHARED / 2) /* and long rows of either kind too */
inline char *shared_rows() {
  __shared__ double memory[RM_WHOLE_SHARED / 8];
  return reinterpret_cast<char *>(memory);
}
template <class K> bool shared_rows_fit(K *, int64_t bytes) { return bytes <= RM_CFG_ROW_SHARED; }
template <class K> bool whole_row_fits(K *, int64_t bytes) { return bytes <= RM_WHOLE_SHARED; }
#define RM_LAUNCH_SHARED(kernel, grid, threads, bytes, stream, ...) RM_LAUNCH(kernel, grid, threads, stream, __VA_ARGS__)
#else
__device__ inline char *shared_rows() {
  extern __shared__ double rows_of_block[];
  return reinterpret_cast<char *>(rows_of_block);
}
/* Gives a kernel so much shared memory; false where `blocks` blocks have no room in what the attribute tells. */
template <class K> bool shared_memory_fits(K *kernel, int64_t bytes, cudaDeviceAttr attribute, int blocks) {
  int device = 0, whole = 0;
  cudaFuncAttributes code;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&whole, attribute, device) == cudaSuccess &&
      cudaFuncGetAttributes(&code, kernel) == cudaSuccess) {
    const int64_t own = bytes + static_cast<int64_t>(code.sharedSizeBytes);
    if (blocks * own > whole) return false;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
      return true;
  }
  (void)cudaGetLastError();
  return false;
}
/* Whether two blocks have room in a multiprocessor, each with the kilobyte that the device adds; whether one has. */
template <class K> bool shared_rows_fit(K *kernel, int64_t bytes) {
  return shared_memory_fits(kernel, bytes + 1024, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 2);
}
template <class K> bool whole_row_fits(K *kernel, int64_t bytes) {
  return shared_memory_fits(kernel, bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 1);
}
#define RM_LAUNCH_SHARED(kernel, grid, threads, bytes, stream, ...)                                      \
  do {                                                                                                   \
    if (!rm_cuda_measures())                                                                             \
      kernel<<<static_cast<unsigned>(grid), threads, static_cast<size_t>(bytes), stream>>>(__VA_ARGS__); \
  } while (0)
#endif

/* memory: with a base, of all blocks; else each has its own, shared by its threads. */
template <class Operation, rm_row_fn *row>
__global__ void __launch_bounds__(RM_ROW_THREADS)
    rows_kernel(const __grid_constant__ Operation f, int64_t rows, row_memory memory, rm_undecided_set undecided) {
  const bool shared = !memory.base;
  if (shared) memory.base = shared_rows();
  rm_row_state state = memory.state(shared ? 0 : blockIdx.x);
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    state.deferred = 0;
    row(&f, i, &state);
    if (state.deferred && threadIdx.x == 0) undecided.add(i);
    __syncthreads(); /* the next row has the same buffers */
  }
}

/* accurate: accurate_rows, instantiated by the file of the accurate phase. whole: each_whole_row, for long rows; NULL where
 * an operator has none. */
template <class Operation, rm_row_fn *row>
rm_status each_row(const Operation &f, int64_t rows, int64_t n, int buffers,
                   rm_status (*accurate)(const Operation &f, const rm_undecided_set &undecided, cudaStream_t stream),
                   rm_cuda_stream stream,
                   bool (*whole)(const Operation &f, int64_t rows, int64_t n, const rm_undecided_set &undecided,
                                 cudaStream_t stream) = nullptr) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  if (n > INT64_C(1) << 40) return RM_ERR_MEMORY;
  const workspace bits(rm_undecided_set::bytes(rows), s);
  rm_undecided_set undecided;
  const rm_status begun = undecided_begin(&undecided, bits, rows, false);
  if (begun) return begun;
  const row_memory of_all(n, buffers, rows < 2048 ? rows : 2048, RM_ROW_MEMORY);
  const bool shared = shared_rows_fit(rows_kernel<Operation, row>, of_all.each);
  if (whole && (f.format == RM_F64 || !shared) && whole(f, rows, n, undecided, s)) return accurate(f, undecided, s);
  undecided.all = f.format == RM_F64; /* the functions of rows have no fast phase for these */
  if (!undecided.all) {
    row_memory memory = of_all;
    const workspace work(shared ? 1 : memory.bytes(), s);
    if (!work.data || (!shared && !memory.set(work))) return RM_ERR_DEVICE;
    RM_LAUNCH_SHARED((rows_kernel<Operation, row>), memory.workers, RM_ROW_THREADS, shared ? memory.each : 0, s, f, rows,
                     memory, undecided);
  }
  return accurate(f, undecided, s);
}

} // namespace
