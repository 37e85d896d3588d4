/* The public matrix products. They make the plan of a product, its division into blocks and among threads. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "../../../include/repmath/reductions.h"
#include "../../../include/repmath/rounding.h"
#include "../../runtime/env.h"
#include "../../runtime/threads.h"
#include "../../common/elements.h"
#include "../../common/stats.h"
#include "../../reduce/sum.h"
#include "chains_b32.h"
#include "matmul.h"
#include "panel_queue.h"
#include "tiles.h"

/* A block of C is the unit of work: packed rows of A stay in one core's L2 cache, and its workspace (under 8 MiB) is all the
 * memory a thread needs. Columns are many, since rows are packed again for each block beside it. */
enum { BLOCK_ROWS = 512, BLOCK_COLS = 1056, STACK_WORK = 24576 };

/* Work below this many products (some 50 us) is not worth a second thread: waking one costs microseconds on an idle machine
 * and a time slice on a busy one. */
#define RM_PRODUCTS_PER_THREAD (INT64_C(1) << 20)

/* How often a thread without a block looks for panels of others before it gives up: some 100 us, longer than rows are packed.
 * Between looks it leaves the core to whoever waits for it, perhaps the owner of the panels. */
enum { PATIENCE = 400 };

/* Cuts [0, n) into `parts` nearly equal pieces whose ends are multiples of `unit`. */
static int64_t cut(int64_t n, int64_t parts, int64_t unit, int64_t i) {
  int64_t units = (n + unit - 1) / unit, end = (int64_t)((__int128)units * i / parts) * unit;
  return end < n ? end : n;
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

typedef struct {
  const rm_matmul_problem *p;
  int64_t row_parts, col_parts;
  const rm_engine *engine;
} plan;

static void do_block(const plan *t, int64_t index, void *work, uint32_t *flags, rm_tiers *tiers, rm_panel_queue *queue) {
  const int64_t parts = t->row_parts * t->col_parts, i = index % parts / t->col_parts, j = index % t->col_parts;
  rm_block b = {cut(t->p->m, t->row_parts, t->engine->row_unit, i), 0, cut(t->p->n, t->col_parts, t->engine->col_unit, j), 0};
  b.rows = cut(t->p->m, t->row_parts, t->engine->row_unit, i + 1) - b.row;
  b.cols = cut(t->p->n, t->col_parts, t->engine->col_unit, j + 1) - b.col;
  if (b.rows <= 0 || b.cols <= 0) return;
  const int64_t which = index / parts;
  rm_matmul_problem one = *t->p;
  if (which) {
    one.a.base += which * one.next_a, one.b.base += which * one.next_b, one.c.base += which * one.next_c;
    if (one.bias.base) one.bias.base += which * one.next_bias;
    if (one.partial.rows) one.partial.rows += which * one.m, one.partial.cols += which * one.n;
  }
  *flags |= t->engine->block(&one, &b, work, tiers, queue);
}

/* A product with one column, as that of the transposed matrices, with one row: the engines waste less of their tiles. */
static void transpose(rm_matmul_problem *p) {
  const rm_operand a = p->a;
  p->a = p->b, p->b = a;
  p->n = p->m, p->m = 1;
  p->c = (rm_target){p->c.base, p->c.col, p->c.row, NULL, NULL};
  p->bias = (rm_view){p->bias.base, p->bias.col, p->bias.row};
  const ptrdiff_t next = p->next_a;
  p->next_a = p->next_b, p->next_b = next;
  double *const rows = p->partial.rows;
  p->partial.rows = p->partial.cols, p->partial.cols = rows;
}

static const rm_engine *engine_of(const rm_matmul_problem *p) {
  if (p->random.mode || p->partial.rows) return &rm_blas_kernels()->engine[p->fmt];
#if RM_HAS_TILES
  const rm_engine *tiles = rm_tiles_engine(p);
  if (tiles) return tiles;
#endif
#if RM_HAS_BF16
  const rm_engine *chains = rm_chains_engine(p);
  if (chains) return chains;
#endif
  return &rm_blas_kernels()->engine[p->fmt];
}

static rm_panel_queue *queue_of(char *work, size_t bytes, int thread) {
  return (rm_panel_queue *)(void *)(work + bytes * (size_t)thread);
}

/* Products of a row with a column: a sum of products wastes no tile of an engine. */
static int are_dots(const rm_matmul_problem *p) {
  return p->m == 1 && p->n == 1 && p->batch > 0 && (p->fmt == RM_F32 || p->fmt == RM_F64) && p->out_fmt == p->fmt &&
         !p->bias.base && !p->alpha_beta && !p->random.mode && !p->partial.rows && !p->a.im2col && !p->b.im2col &&
         !p->c.rows && !p->c.cols;
}

static void dots(const rm_matmul_problem *p) {
  const double share = (double)p->batch * (double)p->k / RM_PRODUCTS_PER_THREAD;
  int threads = share < 2.0 ? 1 : rm_threads_for(share < 1e6 ? (int64_t)share : 1000000);
  if (threads > p->batch) threads = (int)p->batch; /* a long sum has threads of its own */
  uint32_t flags = 0;
  rm_env caller = rm_env_enter();
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : flags)
#endif
  {
    rm_env env = rm_env_enter();
#if defined(_OPENMP)
#pragma omp for schedule(static)
#endif
    for (int64_t i = 0; i < p->batch; i++) {
      const rm_terms x = {p->a.base + i * p->next_a, p->a.k_stride}, y = {p->b.base + i * p->next_b, p->b.k_stride};
      const rm_sum_problem sum = {p->k, x, y, p->fmt, NULL};
      rm_write_bits(p->c.base + i * p->next_c, rm_sum_rounded(&sum, &flags), p->fmt);
    }
    rm_env_leave(env, 0);
  }
  rm_env_leave(caller, flags);
}

rm_status rm_matmul_run(const rm_matmul_problem *given) {
  rm_matmul_problem problem = *given, *p = &problem;
  if (rm_isa_status()) return RM_ERR_ISA;
  if (are_dots(p)) {
    dots(p);
    return RM_OK;
  }
  if (p->n == 1 && p->m > 1 && !p->c.rows && !p->c.cols) transpose(p);
  const rm_engine *engine = engine_of(p);
  if (p->m == 0 || p->n == 0 || p->batch == 0) return RM_OK;
  const int mr = engine->row_unit, nr = engine->col_unit;
  plan whole = {p, 1, 1, engine}, *t = &whole;
  t->row_parts = ceil_div(p->m, BLOCK_ROWS / mr * mr);
  t->col_parts = ceil_div(p->n, (p->fmt == RM_F64 ? RM_COLS_DD : BLOCK_COLS) / nr * nr);
  /* A floating number: the count of products of a large problem does not fit 64 bits. */
  const double products = (double)p->m * (double)p->n * (double)(p->k ? p->k : 1) * (double)p->batch,
               share = products / RM_PRODUCTS_PER_THREAD;
  int threads = share < 2.0 ? 1 : rm_threads_for(share < 1e6 ? (int64_t)share : 1000000);
  while (t->row_parts * t->col_parts * p->batch < threads) { /* halve the longer side of the blocks */
    int64_t rows = ceil_div(p->m, t->row_parts), cols = ceil_div(p->n, t->col_parts);
    if (rows <= 4 * mr && cols <= 2 * nr) break;
    if (rows >= cols) t->row_parts *= 2;
    else t->col_parts *= 2;
  }
  /* Of a few blocks every thread gets as many as the others. */
  for (int more = 1; more < threads; more++) {
    const int64_t n = t->row_parts * t->col_parts * p->batch;
    if (n % threads == 0 || n >= 4 * threads || p->m < (t->row_parts + 1) * 4 * mr) break;
    t->row_parts++;
  }
  int64_t blocks = t->row_parts * t->col_parts * p->batch;
  if (threads > blocks) threads = (int)blocks;
  /* cut() may give one unit more than an equal share. */
  size_t bytes = engine->work(p, ceil_div(p->m, t->row_parts) + mr, ceil_div(p->n, t->col_parts) + nr);
  uint32_t flags = 0;
  rm_tiers tiers = {0, 0, 0};
  if (threads == 1 && bytes <= STACK_WORK) {
    char work[STACK_WORK];
    rm_env env = rm_env_enter();
    for (int64_t i = 0; i < blocks; i++) do_block(t, i, work, &flags, &tiers, NULL);
    rm_stats_add(tiers.fast, tiers.double_double, tiers.accumulator);
    rm_env_leave(env, flags);
    return RM_OK;
  }
  bytes = sizeof(rm_panel_queue) + (bytes + 63) / 64 * 64;
  char *work = malloc(bytes * (size_t)threads);
  if (!work) return RM_ERR_MEMORY;
  for (int s = 0; s < threads; s++) rm_panel_queue_init(queue_of(work, bytes, s));
  atomic_llong left = blocks;
  rm_env caller = rm_env_enter();
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : flags)
#endif
  {
    rm_env env = rm_env_enter();
    rm_tiers mine = {0, 0, 0};
#if defined(_OPENMP)
    const int me = omp_get_thread_num();
#else
    const int me = 0;
#endif
    rm_panel_queue *own = queue_of(work, bytes, me);
    void *part = own + 1;
#if defined(_OPENMP)
#pragma omp for schedule(dynamic, 1) nowait
#endif
    for (int64_t i = 0; i < blocks; i++) {
      do_block(t, i, part, &flags, &mine, threads > 1 ? own : NULL);
      atomic_fetch_sub(&left, 1);
    }
    for (int idle = 0; engine->help && atomic_load(&left) > 0 && idle < PATIENCE; idle++) {
      for (int s = 0; s < threads; s++)
        if (s != me && engine->help(queue_of(work, bytes, s), part)) idle = 0;
      sched_yield();
    }
    rm_stats_add(mine.fast, mine.double_double, mine.accumulator);
    rm_env_leave(env, 0);
  }
  free(work);
  rm_env_leave(caller, flags);
  return RM_OK;
}

static rm_status dense(int format, rm_dense_product d) {
  rm_matmul_problem p = rm_problem_of(format, 1);
  rm_status status = rm_check_dense(&p, &d);
  return status ? status : rm_matmul_run(&p);
}

rm_status rm_matmul_f32(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                        const float *b, int64_t ldb, const float *bias, float *c, int64_t ldc) {
  return dense(RM_FORMAT_F32, (rm_dense_product){layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc});
}
rm_status rm_matmul_f64(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                        const double *b, int64_t ldb, const double *bias, double *c, int64_t ldc) {
  return dense(RM_FORMAT_F64, (rm_dense_product){layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc});
}
rm_status rm_matmul_f16(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const rm_f16 *a, int64_t lda,
                        const rm_f16 *b, int64_t ldb, const rm_f16 *bias, rm_f16 *c, int64_t ldc) {
  return dense(RM_FORMAT_F16, (rm_dense_product){layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc});
}
rm_status rm_matmul_bf16(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const rm_bf16 *a, int64_t lda,
                         const rm_bf16 *b, int64_t ldb, const rm_bf16 *bias, rm_bf16 *c, int64_t ldc) {
  return dense(RM_FORMAT_BF16, (rm_dense_product){layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, bias, c, ldc});
}

rm_status rm_gemm(int format, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                  const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) {
  const rm_alpha_beta alpha_beta = {alpha, beta};
  const rm_dense_product d = {layout, trans_a, trans_b, m, n, k, a, lda, b, ldb, NULL, c, ldc};
  rm_matmul_problem p;
  rm_status status = rm_check_gemm(&p, &alpha_beta, format, &d);
  return status ? status : rm_matmul_run(&p);
}

static rm_status strided(rm_matmul_problem *p, int64_t m, int64_t n, int64_t k, rm_view a, rm_view b, rm_view bias,
                         rm_view c) {
  rm_status status = rm_check_strided(p, m, n, k, a, b, bias, c);
  return status ? status : rm_matmul_run(p);
}

rm_status rm_matmul_strided_f32(int64_t m, int64_t n, int64_t k, const float *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                const float *b, ptrdiff_t row_b, ptrdiff_t col_b, const float *bias, ptrdiff_t stride_bias,
                                float *c, ptrdiff_t row_c, ptrdiff_t col_c) {
  rm_matmul_problem p = rm_problem_of(RM_FORMAT_F32, RM_NO_BATCH);
  return strided(&p, m, n, k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b), rm_view_of(bias, 0, stride_bias),
                 rm_view_of(c, row_c, col_c));
}
rm_status rm_matmul_strided_f64(int64_t m, int64_t n, int64_t k, const double *a, ptrdiff_t row_a, ptrdiff_t col_a,
                                const double *b, ptrdiff_t row_b, ptrdiff_t col_b, const double *bias, ptrdiff_t stride_bias,
                                double *c, ptrdiff_t row_c, ptrdiff_t col_c) {
  rm_matmul_problem p = rm_problem_of(RM_FORMAT_F64, RM_NO_BATCH);
  return strided(&p, m, n, k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b), rm_view_of(bias, 0, stride_bias),
                 rm_view_of(c, row_c, col_c));
}

rm_status rm_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k, const void *a,
                            ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                            ptrdiff_t row_b, ptrdiff_t col_b, const void *bias, ptrdiff_t next_bias, ptrdiff_t stride_bias,
                            void *c, ptrdiff_t next_c, ptrdiff_t row_c, ptrdiff_t col_c) {
  rm_matmul_problem p;
  rm_status status = rm_check_batch(&p, format, format_out, batch, next_a, next_b, next_bias, next_c);
  return status ? status
                : strided(&p, m, n, k, rm_view_of(a, row_a, col_a), rm_view_of(b, row_b, col_b),
                          rm_view_of(bias, 0, stride_bias), rm_view_of(c, row_c, col_c));
}

rm_status rm_random_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k,
                                   const rm_random_operand *a, ptrdiff_t next_a, const rm_random_operand *b, ptrdiff_t next_b,
                                   const rm_random_operand *bias, ptrdiff_t next_bias, void *c, const rm_random_rounding *r) {
  rm_matmul_problem p;
  rm_status status = rm_check_random(&p, format, format_out, batch, m, n, k, r);
  if (status || batch == 0 || m == 0 || n == 0) return status;
  const ptrdiff_t next[] = {next_a, next_b, next_bias};
  const rm_random_operand *const operands[] = {a, b, bias};
  status = rm_check_random_operands(&p, operands, next, c);
  return status ? status : rm_matmul_run(&p);
}
