/* Argument checks of matmul: sizes, pointers, leading dimensions, overlap (src/reduce/overlap.h). */
#include "../../include/repmath/reductions.h"
#include "../reduce/overlap.h"
#include "views.h"

/* Positions of the arguments in the two calling forms. */
typedef struct {
  int m, n, k, a, b, bias, c;
} positions;

static rm_status check_sizes(const rm_matmul_problem *p, positions at) {
  if (p->m < 0) return RM_STATUS(RM_ERR_SIZE, at.m);
  if (p->n < 0) return RM_STATUS(RM_ERR_SIZE, at.n);
  if (p->k < 0) return RM_STATUS(RM_ERR_SIZE, at.k);
  return RM_OK;
}

static rm_status check_pointers(const rm_matmul_problem *p, positions at, int size) {
  if (p->m == 0 || p->n == 0) return RM_OK; /* nothing is read or written */
  if (p->k > 0 && !p->a.base) return RM_STATUS(RM_ERR_NULL, at.a);
  if (p->k > 0 && !p->b.base) return RM_STATUS(RM_ERR_NULL, at.b);
  if (!p->c.base) return RM_STATUS(RM_ERR_NULL, at.c);
  if (rm_overlaps_itself(p->c, p->m, p->n, size) ||
      (p->k > 0 && rm_overlaps(p->c, p->m, p->n, size, p->a, p->m, p->k, size)) ||
      (p->k > 0 && rm_overlaps(p->c, p->m, p->n, size, p->b, p->k, p->n, size)) ||
      (p->bias.base && rm_overlaps(p->c, p->m, p->n, size, p->bias, 1, p->n, size)))
    return RM_STATUS(RM_ERR_OVERLAP, at.c);
  return RM_OK;
}

/* One operand as a view: `rows` x `cols` after the transposition. */
static rm_status dense_view(rm_view *v, const void *base, int64_t rows, int64_t cols, int64_t ld, int col_major,
                            int transposed, int size, int position) {
  int lines_are_cols = col_major != transposed;
  int64_t line = lines_are_cols ? rows : cols;
  if (ld < (line > 1 ? line : 1) || ld > INT64_MAX / size) return RM_STATUS(RM_ERR_LD, position);
  *v = (rm_view){(char *)(uintptr_t)base, lines_are_cols ? size : ld * size, lines_are_cols ? ld * size : size};
  return RM_OK;
}

rm_status rm_check_dense(rm_matmul_problem *p, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                         const void *a, int64_t lda, const void *b, int64_t ldb, const void *bias, void *c, int64_t ldc,
                         int size) {
  static const positions at = {4, 5, 6, 7, 9, 11, 12};
  if (layout != RM_ROW_MAJOR && layout != RM_COL_MAJOR) return RM_STATUS(RM_ERR_ENUM, 1);
  if (trans_a < RM_NO_TRANS || trans_a > RM_CONJ_TRANS) return RM_STATUS(RM_ERR_ENUM, 2);
  if (trans_b < RM_NO_TRANS || trans_b > RM_CONJ_TRANS) return RM_STATUS(RM_ERR_ENUM, 3);
  p->m = m, p->n = n, p->k = k;
  rm_status status = check_sizes(p, at);
  int col_major = layout == RM_COL_MAJOR;
  if (!status) status = dense_view(&p->a, a, m, k, lda, col_major, trans_a != RM_NO_TRANS, size, 8);
  if (!status) status = dense_view(&p->b, b, k, n, ldb, col_major, trans_b != RM_NO_TRANS, size, 10);
  if (!status) status = dense_view(&p->c, c, m, n, ldc, col_major, 0, size, 13);
  p->bias = (rm_view){(char *)(uintptr_t)bias, 0, size};
  return status ? status : check_pointers(p, at, size);
}

rm_status rm_check_strided(const rm_matmul_problem *p, int size) {
  static const positions at = {1, 2, 3, 4, 7, 10, 12};
  rm_status status = check_sizes(p, at);
  return status ? status : check_pointers(p, at, size);
}
