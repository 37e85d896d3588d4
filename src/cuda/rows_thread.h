/* Rows by one thread each, to the end: the CPU's loops of one lane. */
#ifndef RM_CUDA_ROWS_THREAD_H
#define RM_CUDA_ROWS_THREAD_H

#include "rows.h"

#include "row_sums.h"

#include "../nn/rows.h"

#define rm_rows_load rm_row_load
#define rm_rows_greatest rm_row_greatest
#define rm_rows_exponentials rm_row_exponentials
#define rm_rows_moments rm_row_moments
#define rm_rows_weighted rm_row_weighted
#define rm_rows_columns rm_row_columns
#define rm_rows_store rm_row_round
#define rm_rows_first rm_row_first

RM_LOCAL void rm_rows_sync() {}

RM_FN int rm_row_left(rm_row_state *) { return 0; }

RM_SHARED void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n,
                             int format) {
  const int size = rm_size_of(format);
  const char *results = reinterpret_cast<const char *>(rm_row_buffer(s, s->buffers)) + from * size;
  for (int64_t i = 0; i < n; i++)
    rm_write_bits(rm_row_at(out, row) + i * out->stride, rm_read_bits(results + i * size, format), format);
}

RM_SHARED int rm_sum_approximately(const rm_sum_problem *p, int tier, double *hi, double *lo, double *err) {
  rm_partial sum;
  if (tier)
    rm_compensated(p->n, p->x, p->y, p->fmt, &sum);
  else
    rm_plain(p->n, p->x, p->y, p->fmt, &sum);
  return rm_partial_known(&sum, p, tier, hi, lo, err);
}

namespace {

template <class Operation, rm_row_fn *row>
__global__ void rest_kernel(Operation f, row_memory memory, rm_open_set left, char *stacks, int64_t stack) {
  big_begin(stacks, stack);
  rm_row_state state = memory.state(blockIdx.x);
  each_open(left, [&](int64_t i) { row(&f, i, &state); });
}

/* One thread a block: what they do has little in common. */
template <class Operation, rm_row_fn *row>
rm_status rest_of_rows(const Operation &f, int64_t rows, int64_t n, int buffers, int64_t stack, const rm_open_set &left,
                       cudaStream_t stream) {
  row_memory memory(n, buffers, rows < 256 ? rows : 256, RM_ROW_MEMORY - 256 * stack);
  const workspace work(memory.bytes(), stream), stacks(static_cast<size_t>(memory.workers * stack), stream);
  if (!memory.set(work) || !stacks.data) return RM_ERR_DEVICE;
  RM_LAUNCH((rest_kernel<Operation, row>), memory.workers, 1, stream, f, memory, left, static_cast<char *>(stacks.data),
            stack);
  return launched();
}

} // namespace

#endif
