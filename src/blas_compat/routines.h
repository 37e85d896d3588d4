/* The routines in one precision. The file that includes this one defines RM_TYPE, RM_BITS, RM_FABS, RM_WIDENS, RM_LETTER (s
 * or d), RM_SUFFIX (f32 or f64) and RM_FORMAT.
 *
 * In Fortran every argument is passed by address, matrices are stored by columns, and integers have 32 bits. The numbers of
 * wrong arguments are those of the reference BLAS, in its order of checks. A negative increment walks a vector from its
 * end. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "errors.h"

#define RM_JOIN_(a, b, c) a##b##c
#define RM_JOIN(a, b, c) RM_JOIN_(a, b, c)
#define RM_FORTRAN(name) RM_JOIN(RM_LETTER, name, _)
#define RM_CBLAS(name) RM_JOIN(cblas_, RM_LETTER, name)
#define RM_CALL(name) RM_JOIN(name, _, RM_SUFFIX)
#define RM_QUOTE_(x) #x
#define RM_QUOTE(x) RM_QUOTE_(x)
#define RM_NAME(name) RM_QUOTE(RM_CBLAS(name))

enum { SIZE = sizeof(RM_TYPE) };

/* Returns the address of the element that comes first. */
static const RM_TYPE *rm_blas_first(const RM_TYPE *x, int64_t n, int64_t inc) {
  return inc < 0 && n > 0 ? x - (n - 1) * inc : x;
}

/* These comparisons and conversions do not depend on whether the caller flushes subnormal numbers. */
static int rm_blas_is_zero(RM_TYPE x) {
  RM_BITS bits;
  memcpy(&bits, &x, sizeof bits);
  return (RM_BITS)(bits << 1) == 0;
}
static double rm_blas_widened(RM_TYPE x) {
#if RM_WIDENS
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000u) == 0) return (bits >> 31 ? -0x1p-149 : 0x1p-149) * (double)(bits & 0x7fffffu);
#endif
  return (double)x;
}

static int rm_blas_transposition(char c) {
  c = (char)toupper((unsigned char)c);
  return c == 'N' ? RM_NO_TRANS : c == 'T' ? RM_TRANS : c == 'C' ? RM_CONJ_TRANS : 0;
}

/* ---- level 1 */

RM_BLAS RM_TYPE RM_FORTRAN(dot)(const int *n, const RM_TYPE *x, const int *incx, const RM_TYPE *y, const int *incy) {
  RM_TYPE out = 0;
  if (*n > 0)
    RM_CALL(rm_dot)(*n, rm_blas_first(x, *n, *incx), (ptrdiff_t)*incx * SIZE, rm_blas_first(y, *n, *incy),
                    (ptrdiff_t)*incy * SIZE, &out);
  return out;
}

RM_BLAS RM_TYPE RM_FORTRAN(nrm2)(const int *n, const RM_TYPE *x, const int *incx) {
  RM_TYPE out = 0;
  if (*n > 0) rm_norm(RM_FORMAT, *n, rm_blas_first(x, *n, *incx), (ptrdiff_t)*incx * SIZE, RM_FORMAT, &out);
  return out;
}

/* Magnitudes are added to an accumulator a few at a time: nothing has to be allocated for them. */
RM_BLAS RM_TYPE RM_FORTRAN(asum)(const int *n, const RM_TYPE *x, const int *incx) {
  enum { PIECE = 512 };
  RM_TYPE piece[PIECE], out = 0;
  if (*n <= 0 || *incx <= 0) return out;
  rm_accumulator *acc = *n > PIECE ? rm_accumulator_new() : NULL;
  if (*n > PIECE && !acc) {
    rm_blas_report(RM_NAME(asum), RM_ERR_MEMORY);
    return out;
  }
  for (int64_t at = 0; at < *n; at += PIECE) {
    const int64_t count = *n - at < PIECE ? *n - at : PIECE;
    for (int64_t i = 0; i < count; i++) piece[i] = RM_FABS(x[(at + i) * *incx]);
    if (acc) RM_CALL(rm_accumulator_add)(acc, count, piece, SIZE);
    else RM_CALL(rm_sum)(count, piece, SIZE, &out);
  }
  if (acc) RM_CALL(rm_accumulator_round)(acc, &out);
  rm_accumulator_free(acc);
  return out;
}

RM_BLAS RM_TYPE RM_CBLAS(dot)(int n, const RM_TYPE *x, int incx, const RM_TYPE *y, int incy) {
  return RM_FORTRAN(dot)(&n, x, &incx, y, &incy);
}
RM_BLAS RM_TYPE RM_CBLAS(nrm2)(int n, const RM_TYPE *x, int incx) { return RM_FORTRAN(nrm2)(&n, x, &incx); }
RM_BLAS RM_TYPE RM_CBLAS(asum)(int n, const RM_TYPE *x, int incx) { return RM_FORTRAN(asum)(&n, x, &incx); }

/* ---- level 3: C = RN(alpha op(A) op(B) + beta C) */

static int64_t rm_blas_at_least_one(int64_t n) { return n > 1 ? n : 1; }

/* Returns the number of the first wrong argument, from m = 3 on; 0 when there is none. */
static int rm_blas_check_gemm(int ta, int tb, int m, int n, int k, int lda, int ldb, int ldc) {
  if (m < 0) return 3;
  if (n < 0) return 4;
  if (k < 0) return 5;
  if (lda < rm_blas_at_least_one(ta == RM_NO_TRANS ? m : k)) return 8;
  if (ldb < rm_blas_at_least_one(tb == RM_NO_TRANS ? k : n)) return 10;
  if (ldc < rm_blas_at_least_one(m)) return 13;
  return 0;
}

typedef struct {
  int layout, ta, tb;
  int64_t m, n, k;
  RM_TYPE alpha;
  const RM_TYPE *a;
  int64_t lda;
  const RM_TYPE *b;
  int64_t ldb;
  RM_TYPE beta;
  RM_TYPE *c;
  int64_t ldc;
} rm_blas_gemm_problem;

/* C may not be read where beta is 0, nor A and B where alpha is: rm_gemm keeps to it. It refuses a C that overlaps A or B. */
static void rm_blas_gemm(const rm_blas_gemm_problem *p) {
  if (p->m == 0 || p->n == 0 || ((rm_blas_is_zero(p->alpha) || p->k == 0) && p->beta == 1)) return;
  rm_blas_report(RM_NAME(gemm), rm_gemm(RM_FORMAT, p->layout, p->ta, p->tb, p->m, p->n, p->k, rm_blas_widened(p->alpha), p->a,
                                        p->lda, p->b, p->ldb, rm_blas_widened(p->beta), p->c, p->ldc));
}

RM_BLAS void RM_FORTRAN(gemm)(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
                              const RM_TYPE *alpha, const RM_TYPE *a, const int *lda, const RM_TYPE *b, const int *ldb,
                              const RM_TYPE *beta, RM_TYPE *c, const int *ldc) {
  const int ta = rm_blas_transposition(*trans_a), tb = rm_blas_transposition(*trans_b);
  const int info = !ta ? 1 : !tb ? 2 : rm_blas_check_gemm(ta, tb, *m, *n, *k, *lda, *ldb, *ldc);
  if (info) xerbla_(RM_QUOTE_UPPER "GEMM ", &info, 6);
  else rm_blas_gemm(&(rm_blas_gemm_problem){RM_COL_MAJOR, ta, tb, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc});
}

RM_BLAS void RM_CBLAS(gemm)(int layout, int ta, int tb, int m, int n, int k, RM_TYPE alpha, const RM_TYPE *a, int lda,
                            const RM_TYPE *b, int ldb, RM_TYPE beta, RM_TYPE *c, int ldc) {
  const int rows = layout == RM_ROW_MAJOR;
  int info = 0;
  if (!rows && layout != RM_COL_MAJOR) info = 1;
  else if (ta < RM_NO_TRANS || ta > RM_CONJ_TRANS) info = 2;
  else if (tb < RM_NO_TRANS || tb > RM_CONJ_TRANS) info = 3;
  else if (m < 0) info = 4;
  else if (n < 0) info = 5;
  else if (k < 0) info = 6;
  else if (lda < rm_blas_at_least_one((ta == RM_NO_TRANS) == rows ? k : m)) info = 9;
  else if (ldb < rm_blas_at_least_one((tb == RM_NO_TRANS) == rows ? n : k)) info = 11;
  else if (ldc < rm_blas_at_least_one(rows ? n : m)) info = 14;
  if (info) rm_blas_wrong(rows, info, RM_NAME(gemm));
  else rm_blas_gemm(&(rm_blas_gemm_problem){layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

/* ---- level 2: y = RN(alpha op(A) x + beta y) */

typedef struct {
  int transposed;
  int64_t m, n;
  RM_TYPE alpha;
  const RM_TYPE *a;
  int64_t lda;
  const RM_TYPE *x;
  int64_t incx;
  RM_TYPE beta;
  RM_TYPE *y;
  int64_t incy;
} rm_blas_gemv_problem;

/* y^T = alpha x^T op(A)^T + beta y^T: increments are then leading dimensions. A vector that runs backwards goes through a
 * copy. */
static void rm_blas_gemv(const rm_blas_gemv_problem *p) {
  const int64_t rows = p->transposed ? p->n : p->m, terms = p->transposed ? p->m : p->n;
  if (p->m == 0 || p->n == 0 || (rm_blas_is_zero(p->alpha) && p->beta == 1)) return;
  RM_TYPE *copy = NULL, *source = (RM_TYPE *)(uintptr_t)p->x, *target = p->y;
  if (p->incx < 0 || p->incy < 0) {
    copy = malloc((size_t)(rows + terms) * sizeof *copy);
    if (!copy) {
      rm_blas_report(RM_NAME(gemv), RM_ERR_MEMORY);
      return;
    }
    source = copy, target = copy + terms;
    if (!rm_blas_is_zero(p->alpha))
      for (int64_t i = 0; i < terms; i++) source[i] = rm_blas_first(p->x, terms, p->incx)[i * p->incx];
    if (!rm_blas_is_zero(p->beta))
      for (int64_t i = 0; i < rows; i++) target[i] = rm_blas_first(p->y, rows, p->incy)[i * p->incy];
  }
  const rm_status status = rm_gemm(RM_FORMAT, RM_COL_MAJOR, RM_NO_TRANS, p->transposed ? RM_NO_TRANS : RM_TRANS, 1, rows,
                                   terms, rm_blas_widened(p->alpha), source, copy ? 1 : p->incx, p->a, p->lda,
                                   rm_blas_widened(p->beta), target, copy ? 1 : p->incy);
  if (copy && !status)
    for (int64_t i = 0; i < rows; i++) *(RM_TYPE *)(uintptr_t)(rm_blas_first(p->y, rows, p->incy) + i * p->incy) = target[i];
  rm_blas_report(RM_NAME(gemv), status);
  free(copy);
}

RM_BLAS void RM_FORTRAN(gemv)(const char *trans, const int *m, const int *n, const RM_TYPE *alpha, const RM_TYPE *a,
                              const int *lda, const RM_TYPE *x, const int *incx, const RM_TYPE *beta, RM_TYPE *y,
                              const int *incy) {
  const int t = rm_blas_transposition(*trans);
  const int info = !t                                ? 1
                   : *m < 0                          ? 2
                   : *n < 0                          ? 3
                   : *lda < rm_blas_at_least_one(*m) ? 6
                   : *incx == 0                      ? 8
                   : *incy == 0                      ? 11
                                                     : 0;
  if (info) xerbla_(RM_QUOTE_UPPER "GEMV ", &info, 6);
  else rm_blas_gemv(&(rm_blas_gemv_problem){t != RM_NO_TRANS, *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy});
}

RM_BLAS void RM_CBLAS(gemv)(int layout, int trans, int m, int n, RM_TYPE alpha, const RM_TYPE *a, int lda, const RM_TYPE *x,
                            int incx, RM_TYPE beta, RM_TYPE *y, int incy) {
  const int rows = layout == RM_ROW_MAJOR;
  int info = 0;
  if (!rows && layout != RM_COL_MAJOR) info = 1;
  else if (trans < RM_NO_TRANS || trans > RM_CONJ_TRANS) info = 2;
  else if (m < 0) info = 3;
  else if (n < 0) info = 4;
  else if (lda < rm_blas_at_least_one(rows ? n : m)) info = 7;
  else if (incx == 0) info = 9;
  else if (incy == 0) info = 12;
  if (info) rm_blas_wrong(rows, info, RM_NAME(gemv));
  else if (rows) /* by rows it is the transpose by columns */
    rm_blas_gemv(&(rm_blas_gemv_problem){trans == RM_NO_TRANS, n, m, alpha, a, lda, x, incx, beta, y, incy});
  else rm_blas_gemv(&(rm_blas_gemv_problem){trans != RM_NO_TRANS, m, n, alpha, a, lda, x, incx, beta, y, incy});
}
