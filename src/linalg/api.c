/* The public functions: checks of arguments, the environment, the loop over a batch. */
#include "../common/overlap.h"
#include "../runtime/env.h"
#include "determinant.h"
#include "matrix.h"
#include "recurrence.h"
#include "system.h"

#if defined(_OPENMP)
#include <omp.h>
#endif

enum { WORK_OF_THREAD = 1 << 16 }; /* multiplications that are worth a thread */

rm_status rm_for_batch(int64_t batch, double work, rm_batch_fn *one, void *context, uint32_t *flags) {
  const double total = work * (double)batch;
  const int64_t chunks = total < 2.0 * WORK_OF_THREAD ? 1
                         : total < 1e15               ? (int64_t)(total / WORK_OF_THREAD)
                                                      : INT64_C(1) << 30;
  const int threads = batch < 2 ? 1 : rm_threads_for(chunks < batch ? chunks : batch);
  rm_status status = RM_OK;
  if (threads == 1) { /* then a matrix may use several */
    for (int64_t t = 0; t < batch; t++) {
      const rm_status s = one(context, t, flags);
      if (s) status = s;
    }
    return status;
  }
  uint32_t all = 0;
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) reduction(| : all)
#endif
  {
    const rm_env env = rm_env_enter();
#if defined(_OPENMP)
#pragma omp for schedule(dynamic, 1)
#endif
    for (int64_t t = 0; t < batch; t++) {
      const rm_status s = one(context, t, &all);
      if (s) {
#if defined(_OPENMP)
#pragma omp critical(rm_linalg_status)
#endif
        status = s;
      }
    }
    rm_env_leave(env, 0);
  }
  *flags |= all;
  return status;
}

static int is_format(int format) { return format == RM_FORMAT_F32 || format == RM_FORMAT_F64; }

/* Whether `count` bytes of a result share bytes with rows x cols matrices of a batch. */
static int overlaps(const void *out, int64_t count, const rm_batch *a, int64_t batch, int64_t rows, int64_t cols) {
  if (!out || !a->base || count == 0 || batch == 0 || rows == 0 || cols == 0) return 0;
  const int64_t size_a[3] = {batch, rows, cols};
  const ptrdiff_t stride_a[3] = {a->next, a->row, a->col}, one = 1;
  const rm_grid in = {a->base, 3, size_a, stride_a}, result = {out, 1, &count, &one};
  return rm_spans_meet(&result, 1, &in, rm_size_of(a->format));
}

enum { CHOL_BATCH = 2, CHOL_N, CHOL_A, CHOL_L = 8, CHOL_INFO };

typedef struct {
  rm_batch a;
  int64_t m, n;
  char *out;
  int32_t *pivots, *info;
} factorization;

static rm_status one_cholesky(void *context, int64_t t, uint32_t *flags) {
  const factorization *f = context;
  return rm_cholesky_of(&f->a, t, f->n, f->out + t * f->n * f->n * rm_size_of(f->a.format), f->info + t, flags);
}
static rm_status one_lu(void *context, int64_t t, uint32_t *flags) {
  const factorization *f = context;
  const int64_t k = f->m < f->n ? f->m : f->n;
  return rm_lu_of(&f->a, t, f->m, f->n, f->out + t * f->m * f->n * rm_size_of(f->a.format), f->pivots + t * k, f->info + t,
                  flags);
}

static rm_status run(int64_t batch, double work, rm_batch_fn *one, void *context) {
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  const rm_status status = rm_for_batch(batch, work, one, context, &flags);
  rm_env_leave(env, flags);
  return status;
}

/* Sizes whose products and byte counts are in range. */
static int too_many(int64_t batch, int64_t rows, int64_t cols) {
  __int128 elements = (__int128)rows * cols;
  return elements > INT64_MAX / 64 || elements * batch > INT64_MAX / 64 || rows > INT32_MAX || cols > INT32_MAX;
}

rm_status rm_cholesky(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a,
                      void *l, int32_t *info) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  if (batch < 0) return RM_STATUS(RM_ERR_SIZE, CHOL_BATCH);
  if (n < 0 || too_many(batch, n, n)) return RM_STATUS(RM_ERR_SIZE, CHOL_N);
  if (batch > 0 && n > 0 && !a) return RM_STATUS(RM_ERR_NULL, CHOL_A);
  if (batch > 0 && n > 0 && !l) return RM_STATUS(RM_ERR_NULL, CHOL_L);
  if (batch > 0 && !info) return RM_STATUS(RM_ERR_NULL, CHOL_INFO);
  factorization f = {{format, a, next_a, row_a, col_a}, n, n, l, NULL, info};
  if (overlaps(l, batch * n * n * rm_size_of(format), &f.a, batch, n, n)) return RM_STATUS(RM_ERR_OVERLAP, CHOL_L);
  if (overlaps(info, batch * 4, &f.a, batch, n, n)) return RM_STATUS(RM_ERR_OVERLAP, CHOL_INFO);
  return run(batch, (double)n * (double)n * (double)n, one_cholesky, &f);
}

enum { LU_BATCH = 2, LU_M, LU_N, LU_A, LU_OUT = 9, LU_PIVOTS, LU_INFO };

rm_status rm_lu_factor(int format, int64_t batch, int64_t m, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                       ptrdiff_t col_a, void *lu, int32_t *pivots, int32_t *info) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  if (batch < 0) return RM_STATUS(RM_ERR_SIZE, LU_BATCH);
  if (m < 0 || too_many(batch, m, m)) return RM_STATUS(RM_ERR_SIZE, LU_M);
  if (n < 0 || too_many(batch, m, n) || too_many(batch, n, n)) return RM_STATUS(RM_ERR_SIZE, LU_N);
  const int some = batch > 0 && m > 0 && n > 0;
  if (some && !a) return RM_STATUS(RM_ERR_NULL, LU_A);
  if (some && !lu) return RM_STATUS(RM_ERR_NULL, LU_OUT);
  if (some && !pivots) return RM_STATUS(RM_ERR_NULL, LU_PIVOTS);
  if (batch > 0 && !info) return RM_STATUS(RM_ERR_NULL, LU_INFO);
  factorization f = {{format, a, next_a, row_a, col_a}, m, n, lu, pivots, info};
  const int64_t k = m < n ? m : n;
  if (overlaps(lu, batch * m * n * rm_size_of(format), &f.a, batch, m, n)) return RM_STATUS(RM_ERR_OVERLAP, LU_OUT);
  if (overlaps(pivots, batch * k * 4, &f.a, batch, m, n)) return RM_STATUS(RM_ERR_OVERLAP, LU_PIVOTS);
  if (overlaps(info, batch * 4, &f.a, batch, m, n)) return RM_STATUS(RM_ERR_OVERLAP, LU_INFO);
  return run(batch, (double)m * (double)n * (double)k, one_lu, &f);
}

static rm_status one_system(void *context, int64_t t, uint32_t *flags) { return rm_solve_system(context, t, flags); }

/* Positions: of the batch's size, on which those of the other arguments follow. */
static rm_status solve(rm_linear_system *s, int64_t batch, int first) {
  enum { N = 1, K, A, B = 7, X = 11, INFO };
  const int64_t n = s->n, k = s->k;
  const int size = rm_size_of(s->a.format);
  if (batch < 0) return RM_STATUS(RM_ERR_SIZE, first);
  if (n < 0 || too_many(batch, n, n)) return RM_STATUS(RM_ERR_SIZE, first + N);
  if (k < 0 || too_many(batch, n, k) || (!s->b.base && n > 0 && k > 0 && k != n)) return RM_STATUS(RM_ERR_SIZE, first + K);
  if (batch > 0 && n > 0 && !s->a.base) return RM_STATUS(RM_ERR_NULL, first + A);
  if (batch > 0 && n > 0 && k > 0 && !s->x) return RM_STATUS(RM_ERR_NULL, first + X);
  if (batch > 0 && !s->info) return RM_STATUS(RM_ERR_NULL, first + INFO);
  if (overlaps(s->x, batch * n * k * size, &s->a, batch, n, n) || overlaps(s->x, batch * n * k * size, &s->b, batch, n, k))
    return RM_STATUS(RM_ERR_OVERLAP, first + X);
  if (overlaps(s->info, batch * 4, &s->a, batch, n, n) || overlaps(s->info, batch * 4, &s->b, batch, n, k))
    return RM_STATUS(RM_ERR_OVERLAP, first + INFO);
  return run(batch, (double)n * (double)n * (double)(n + k) * 4.0, one_system, s);
}

rm_status rm_solve(int format, int64_t batch, int64_t n, int64_t k, const void *a, ptrdiff_t next_a, ptrdiff_t row_a,
                   ptrdiff_t col_a, const void *b, ptrdiff_t next_b, ptrdiff_t row_b, ptrdiff_t col_b, void *x,
                   int32_t *info) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  rm_linear_system s = {
      {format, a, next_a, row_a, col_a}, {format, b, next_b, row_b, col_b}, n, k, RM_LINALG_FULL, 0, x, info};
  return solve(&s, batch, 2);
}

rm_status rm_solve_triangular(int format, int upper, int unit, int64_t batch, int64_t n, int64_t k, const void *a,
                              ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a, const void *b, ptrdiff_t next_b,
                              ptrdiff_t row_b, ptrdiff_t col_b, void *x, int32_t *info) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  if (upper != 0 && upper != 1) return RM_STATUS(RM_ERR_ENUM, 2);
  if (unit != 0 && unit != 1) return RM_STATUS(RM_ERR_ENUM, 3);
  rm_linear_system s = {{format, a, next_a, row_a, col_a},
                        {format, b, next_b, row_b, col_b},
                        n,
                        k,
                        upper ? RM_LINALG_UPPER : RM_LINALG_LOWER,
                        unit,
                        x,
                        info};
  return solve(&s, batch, 4);
}

static rm_status one_determinant(void *context, int64_t t, uint32_t *flags) { return rm_determinant_of(context, t, flags); }

static rm_status determinants(rm_determinants *d, int64_t batch, int with_log) {
  enum { BATCH = 2, N, A, DET = 8, LOG };
  const int64_t n = d->n;
  const int size = rm_size_of(d->a.format);
  if (batch < 0) return RM_STATUS(RM_ERR_SIZE, BATCH);
  if (n < 0 || too_many(batch, n, n)) return RM_STATUS(RM_ERR_SIZE, N);
  if (batch > 0 && n > 0 && !d->a.base) return RM_STATUS(RM_ERR_NULL, A);
  if (batch > 0 && !d->det) return RM_STATUS(RM_ERR_NULL, DET);
  if (batch > 0 && with_log && !d->log) return RM_STATUS(RM_ERR_NULL, LOG);
  if (overlaps(d->det, batch * size, &d->a, batch, n, n)) return RM_STATUS(RM_ERR_OVERLAP, DET);
  if (overlaps(d->log, batch * size, &d->a, batch, n, n)) return RM_STATUS(RM_ERR_OVERLAP, LOG);
  return run(batch, (double)n * (double)n * (double)n * 8.0 + 1000.0, one_determinant, d);
}

rm_status rm_det(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a,
                 void *det) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  rm_determinants d = {{format, a, next_a, row_a, col_a}, n, det, NULL};
  return determinants(&d, batch, 0);
}

rm_status rm_slogdet(int format, int64_t batch, int64_t n, const void *a, ptrdiff_t next_a, ptrdiff_t row_a, ptrdiff_t col_a,
                     void *sign, void *log_size) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  rm_determinants d = {{format, a, next_a, row_a, col_a}, n, sign, log_size};
  return determinants(&d, batch, 1);
}
