/* The accurate phase of rows, a thread block for each. Thread 0, the leader, runs the CPU's function of a row; where that has
 * a long or costly loop over the row, the leader stores the loop's arguments (loop_arguments), and all threads of the block
 * take their share of it.
 *
 * Bounds: the loops of kernels.h are those of row_loops.h. In a sum (reduce/sum_parts.h) every thread adds its share, and the
 * shares are joined in a tree; `depth` counts the additions of both. A sum of rm_dd_ball carries its own error bound.
 *
 * A file whose rows of binary64 have results that threads share names their type, RM_SHARE, before it includes this one, and
 * what decides one of them, RM_SHARE_DECIDE(share, i, &bits); where there are two sums of them, RM_SHARE_ADD(share, first,
 * step, &one, &other) adds some of their terms. */
#pragma once

#define RM_LED_BLOCKS 1 /* thread 0 reaches barriers from another place than the others */
#include "row_loops.h"

extern "C" {
#include "../nn/rows/exp_row.h"
}

#include "../nn/rows/loops.h"

#include "../../crlibm/enclosure/dd_ball.h"
#include "../../crlibm/enclosure/numbers.h"

namespace {

enum block_loop {
  LOOP_END,
  LOOP_LOAD,
  LOOP_MAX,
  LOOP_EXPONENTIALS,
  LOOP_MOMENTS,
  LOOP_WEIGHTED,
  LOOP_FIRST,
  LOOP_STORE,
  LOOP_SPREAD,
  LOOP_SUM,
  LOOP_DD_BALL_EXPONENTIALS,
  LOOP_DECIDE,
  LOOP_ADD
};

/* What the leader asks for: a loop, and room for the arguments of any. Its pointers must not lead to the leader's own
 * variables, which lie in memory that is local to its thread. */
struct loop_arguments {
  block_loop loop;
  int64_t n, stride;
  const char *from;
  char *to;
  int format, tier;
  const double *x, *g, *w;
  double *out, shift, m;
  rm_row_operation operation;
  rm_row_store store;
  rm_sum_problem sum;
  int64_t skip;
  unsigned count;
#if defined(RM_SHARE)
  RM_SHARE share;
#endif
};
/* The result of a loop, which every thread holds. */
struct loop_result {
  double number[3];
  int64_t count;
  rm_partial sum;
  rm_dd_ball dd_ball, other;
};
__device__ loop_arguments &block_arguments() {
  __shared__ loop_arguments work;
  return work;
}

struct join_dd_ball {
  static __device__ rm_dd_ball of(rm_dd_ball a, const rm_dd_ball &b) {
    rm_dd_ball_add(&a, &a, &b);
    return a;
  }
};

} // namespace

#define RM_IS_dd_ball 1 /* of the numbers of a formula, those whose sums the threads share */
#define RM_IS_ball 0
#if defined(RM_SHARED_EXPONENTIALS) /* a file whose rows have sums of exponentials: nn/rows/exp_row.inc follows */
RM_FORMULA int rm_exp_row_some_dd_ball(rm_dd_ball *sum, int64_t n, const double *x, double m, int64_t skip, double cutoff,
                                       int limbs, int64_t first, int64_t step);
#endif

namespace {

/* Runs this thread's share of the loop that the leader asks for: in one place, since it is much code. */
RM_COLD loop_result run_share() {
  const loop_arguments &work = block_arguments(); /* the leader changes them after the barrier at the end */
  loop_result r = {};
  switch (work.loop) {
    case LOOP_LOAD: block_load(work.n, work.from, work.stride, work.format, work.shift, work.out); break;
    case LOOP_MAX: r.number[0] = block_max(work.n, work.x); break;
    case LOOP_EXPONENTIALS: r.number[0] = block_exponentials(work.n, work.x, work.shift, work.out); break;
    case LOOP_MOMENTS: block_moments(work.n, work.x, work.shift, &r.number[0], &r.number[1]); break;
    case LOOP_WEIGHTED: block_weighted(work.n, work.g, work.w, work.x, work.shift, work.out, r.number); break;
    case LOOP_FIRST: r.count = block_first(work.n, work.x, work.shift); break;
    case LOOP_STORE: r.count = block_store<true>(work.operation, &work.store, &block_arguments().count); break;
    case LOOP_SPREAD: block_spread(work.from, work.to, work.stride, work.n, work.format); break;
    case LOOP_SUM: {
      const int64_t first = threadIdx.x, n = first < work.n ? (work.n - first + RM_ROW_THREADS - 1) / RM_ROW_THREADS : 0;
      const rm_terms none = {nullptr, 0};
      const rm_terms x = {work.sum.x.base + first * work.sum.x.stride, work.sum.x.stride * RM_ROW_THREADS};
      const rm_terms y = {work.sum.y.base + first * work.sum.y.stride, work.sum.y.stride * RM_ROW_THREADS};
      rm_partial mine;
      if (work.tier) rm_compensated(n, x, work.sum.y.base ? y : none, work.sum.fmt, &mine);
      else rm_plain(n, x, work.sum.y.base ? y : none, work.sum.fmt, &mine);
      r.sum = of_block<join_partial>(mine);
      break;
    }
#if defined(RM_SHARED_EXPONENTIALS)
    case LOOP_DD_BALL_EXPONENTIALS: {
      rm_dd_ball mine;
      const int left_out =
          rm_exp_row_some_dd_ball(&mine, work.n, work.x, work.m, work.skip, work.shift, 0, threadIdx.x, RM_ROW_THREADS);
      r.dd_ball = of_block<join_dd_ball>(mine);
      r.count = of_block<join_add>(static_cast<int64_t>(left_out));
      break;
    }
#endif
#if defined(RM_SHARE)
    case LOOP_DECIDE: {
      const RM_SHARE &s = work.share;
      for (int64_t i = threadIdx.x; i < s.n; i += RM_ROW_THREADS) {
        uint64_t bits;
        if (RM_SHARE_DECIDE(&s, i, &bits)) rm_write_bits(s.out + i * 8, bits, RM_F64);
        else s.undecided[atomicAdd(&block_arguments().count, 1u)] = i;
      }
      block_sync();
      r.count = static_cast<int64_t>(block_arguments().count);
      break;
    }
#endif
#if defined(RM_SHARE_ADD)
    case LOOP_ADD: {
      rm_dd_ball one, other;
      RM_SHARE_ADD(&work.share, threadIdx.x, RM_ROW_THREADS, &one, &other);
      r.dd_ball = of_block<join_dd_ball>(one);
      r.other = of_block<join_dd_ball>(other);
      break;
    }
#endif
    default: break;
  }
  block_sync(); /* the leader may name the next one */
  return r;
}

/* Runs a loop by all threads. The leader calls it when it has stored the loop's arguments. */
RM_COLD loop_result rm_run_loop(block_loop loop) {
  block_arguments().loop = loop;
  block_sync();
  return run_share();
}

/* The leader runs f, and the others take their share of its loops until it is done. */
template <class F> __device__ void lead(F f) {
  if (threadIdx.x == 0) {
    f();
    block_arguments().loop = LOOP_END;
    block_sync();
    return;
  }
  for (;;) {
    block_sync();
    if (block_arguments().loop == LOOP_END) return;
    (void)run_share();
  }
}

} // namespace

RM_STATIC void rm_rows_load(int64_t n, const char *x, ptrdiff_t stride, int fmt, double pad, double *to) {
  loop_arguments &t = block_arguments();
  t.n = n, t.from = x, t.stride = stride, t.format = fmt, t.shift = pad, t.out = to;
  (void)rm_run_loop(LOOP_LOAD);
}
RM_STATIC double rm_rows_max(int64_t n, const double *x) {
  block_arguments().n = n, block_arguments().x = x;
  return rm_run_loop(LOOP_MAX).number[0];
}
RM_STATIC double rm_rows_exponentials(int64_t n, const double *x, double shift, double *e) {
  block_arguments().n = n, block_arguments().x = x, block_arguments().shift = shift, block_arguments().out = e;
  return rm_run_loop(LOOP_EXPONENTIALS).number[0];
}
RM_STATIC void rm_rows_moments(int64_t n, const double *x, double shift, double *total, double *square) {
  block_arguments().n = n, block_arguments().x = x, block_arguments().shift = shift;
  const loop_result r = rm_run_loop(LOOP_MOMENTS);
  *total = r.number[0], *square = r.number[1];
}
RM_STATIC void rm_rows_weighted(int64_t n, const double *g, const double *w, const double *x, double shift, double *h,
                                double *sums) {
  loop_arguments &t = block_arguments();
  t.n = n, t.g = g, t.w = w, t.x = x, t.shift = shift, t.out = h;
  const loop_result r = rm_run_loop(LOOP_WEIGHTED);
  for (int k = 0; k < 3; k++) sums[k] = r.number[k];
}
#define rm_rows_columns rm_row_columns
RM_STATIC int64_t rm_rows_first(int64_t n, const double *x, double value) {
  block_arguments().n = n, block_arguments().x = x, block_arguments().shift = value;
  const int64_t first = rm_run_loop(LOOP_FIRST).count;
  return first < n ? first : n - 1;
}
RM_STATIC int64_t rm_rows_store(rm_row_operation op, const rm_row_store *s) {
  block_arguments().operation = op, block_arguments().store = *s, block_arguments().count = 0;
  const int64_t undecided = rm_run_loop(LOOP_STORE).count;
  return undecided < 0 ? rm_row_round(op, s) : undecided;
}
RM_STATIC void rm_rows_sync() {}

RM_FN int rm_row_defer(rm_row_state *) { return 0; }

RM_HOST_EXTERN void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n,
                                  int format) {
  loop_arguments &t = block_arguments();
  t.from = reinterpret_cast<const char *>(rm_row_buffer(s, s->buffers)) + from * rm_size_of(format);
  t.to = rm_row_at(out, row), t.stride = out->stride, t.n = n, t.format = format;
  (void)rm_run_loop(LOOP_SPREAD);
}

RM_HOST_EXTERN int rm_sum_approximately(const rm_sum_problem *p, int tier, double *hi, double *lo, double *err) {
  block_arguments().sum = *p, block_arguments().n = p->n, block_arguments().tier = tier;
  const rm_partial sum = rm_run_loop(LOOP_SUM).sum;
  return rm_partial_known(&sum, p, tier, hi, lo, err);
}

#if defined(RM_SHARED_EXPONENTIALS)
/* The sum of the finite exponentials of a row but that of `skip`, over rm_dd_ball (nn/rows/exp_row.inc). */
RM_STATIC int rm_exp_row_shared(rm_dd_ball *sum, const rm_exp_row *r, int64_t skip, double cutoff) {
  loop_arguments &t = block_arguments();
  t.n = r->n, t.x = r->x, t.m = r->m, t.skip = skip, t.shift = cutoff;
  const loop_result found = rm_run_loop(LOOP_DD_BALL_EXPONENTIALS);
  *sum = found.dd_ball;
  return found.count != 0;
}
#endif

#if defined(RM_SHARE)
RM_STATIC int64_t rm_rows_decide(const RM_SHARE *s) {
  block_arguments().share = *s, block_arguments().count = 0;
  return rm_run_loop(LOOP_DECIDE).count;
}
#endif
#if defined(RM_SHARE_ADD)
RM_STATIC void rm_rows_add(const RM_SHARE *s, rm_dd_ball *one, rm_dd_ball *other) {
  block_arguments().share = *s;
  const loop_result found = rm_run_loop(LOOP_ADD);
  *one = found.dd_ball, *other = found.other;
}
#endif

namespace {

template <class Operation, rm_row_fn *row>
__global__ void __launch_bounds__(RM_ROW_THREADS) accurate_kernel(const __grid_constant__ Operation f, row_memory memory,
                                                                  rm_undecided_set undecided, char *stacks, int64_t stack) {
  lead([&] {
    rm_big_begin(stacks + blockIdx.x * stack, stack);
    rm_row_state state = memory.state(blockIdx.x);
    each_undecided_of(undecided, blockIdx.x, gridDim.x, [&](int64_t i) { row(&f, i, &state); });
  });
}

template <class Operation, rm_row_fn *row>
rm_status accurate_rows(const Operation &f, int64_t rows, int64_t n, int buffers, int64_t stack,
                        const rm_undecided_set &undecided, cudaStream_t stream) {
  row_memory memory(n, buffers, rows < 256 ? rows : 256, RM_ROW_MEMORY - 256 * stack);
  const workspace work(memory.bytes(), stream), stacks(static_cast<size_t>(memory.workers * stack), stream);
  if (!memory.set(work) || !stacks.data) return RM_ERR_DEVICE;
  rm_cuda_count_listed(undecided.all ? nullptr : &undecided.counts->count, undecided.n, stream);
  RM_LAUNCH((accurate_kernel<Operation, row>), memory.workers, RM_ROW_THREADS, stream, f, memory, undecided,
            static_cast<char *>(stacks.data), stack);
  return launched();
}

} // namespace
