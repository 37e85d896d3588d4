/* Checks the arguments of matrix products: sizes, pointers, leading dimensions, overlap (src/common/overlap.h). */
#include "../../../include/repmath/reductions.h"
#include "../../../include/repmath/rounding.h"
#include "../../../crlibm/fp/round.h"
#include "../../common/overlap.h"
#include "views.h"

rm_matmul_problem rm_problem_of(int format, int64_t batch) {
  rm_matmul_problem p = {0};
  p.fmt = p.out_fmt = format;
  p.batch = batch;
  return p;
}

/* Positions of the arguments in one of the calling forms. */
typedef struct {
  int m, n, k, a, b, bias, c;
} positions;

static rm_status check_sizes(const rm_matmul_problem *p, positions at) {
  if (p->m < 0) return RM_STATUS(RM_ERR_SIZE, at.m);
  if (p->n < 0) return RM_STATUS(RM_ERR_SIZE, at.n);
  if (p->k < 0) return RM_STATUS(RM_ERR_SIZE, at.k);
  return RM_OK;
}

static rm_status check_pointers(const rm_matmul_problem *p, positions at, rm_view a, rm_view b, rm_view bias, rm_view c) {
  const int size = rm_size_of(p->fmt), size_c = rm_size_of(p->out_fmt);
  if (p->m == 0 || p->n == 0 || p->batch == 0) return RM_OK; /* nothing is read or written */
  if (p->k > 0 && !a.base) return RM_STATUS(RM_ERR_NULL, at.a);
  if (p->k > 0 && !b.base) return RM_STATUS(RM_ERR_NULL, at.b);
  if (!c.base) return RM_STATUS(RM_ERR_NULL, at.c);
  if (rm_overlaps_itself(c, p->m, p->n, size_c) || (p->k > 0 && rm_overlaps(c, p->m, p->n, size_c, a, p->m, p->k, size)) ||
      (p->k > 0 && rm_overlaps(c, p->m, p->n, size_c, b, p->k, p->n, size)) ||
      (bias.base && rm_overlaps(c, p->m, p->n, size_c, bias, 1, p->n, size)))
    return RM_STATUS(RM_ERR_OVERLAP, at.c);
  return RM_OK;
}

/* One operand as a view: `rows` x `cols` after the transposition. */
static rm_status dense_view(rm_view *v, const void *base, int64_t rows, int64_t cols, int64_t ld, int col_major,
                            int transposed, int size, int position) {
  int columns_contiguous = col_major != transposed;
  int64_t length = columns_contiguous ? rows : cols;
  if (ld < (length > 1 ? length : 1) || ld > INT64_MAX / size) return RM_STATUS(RM_ERR_LD, position);
  *v = rm_view_of(base, columns_contiguous ? size : ld * size, columns_contiguous ? ld * size : size);
  return RM_OK;
}

static void fill(rm_matmul_problem *p, rm_view a, rm_view b, rm_view bias, rm_view c) {
  p->a = rm_rows_of(a), p->b = rm_columns_of(b), p->bias = bias;
  p->c = (rm_target){c.base, c.row, c.col, 0, 0};
}

/* Positions of arguments in rm_matmul_f32, in rm_gemm, in rm_matmul_strided_f32 and in rm_matmul_batched. */
enum { AT_LAYOUT = 1, AT_M = 4, AT_N, AT_K, AT_A, AT_B = 9, AT_BIAS = 11, AT_C };
enum {
  GEMM_AT_FORMAT = 1,
  GEMM_AT_LAYOUT,
  GEMM_AT_M = 5,
  GEMM_AT_N,
  GEMM_AT_K,
  GEMM_AT_A = 9,
  GEMM_AT_B = 11,
  GEMM_AT_C = 14
};
enum {
  STRIDED_AT_M = 1,
  STRIDED_AT_N,
  STRIDED_AT_K,
  STRIDED_AT_A,
  STRIDED_AT_B = 7,
  STRIDED_AT_BIAS = 10,
  STRIDED_AT_C = 12
};
enum {
  BATCH_AT_FORMAT = 1,
  BATCH_AT_FORMAT_OUT,
  BATCH_AT_BATCH,
  BATCH_AT_M,
  BATCH_AT_N,
  BATCH_AT_K,
  BATCH_AT_A,
  BATCH_AT_B = 11,
  BATCH_AT_BIAS = 15,
  BATCH_AT_C = 18
};

rm_status rm_check_dense(rm_matmul_problem *p, const rm_dense_product *d) {
  static const positions plain = {AT_M, AT_N, AT_K, AT_A, AT_B, AT_BIAS, AT_C},
                         general = {GEMM_AT_M, GEMM_AT_N, GEMM_AT_K, GEMM_AT_A, GEMM_AT_B, 0, GEMM_AT_C};
  const positions at = p->alpha_beta ? general : plain;
  const int first = p->alpha_beta ? GEMM_AT_LAYOUT : AT_LAYOUT;
  if (d->layout != RM_ROW_MAJOR && d->layout != RM_COL_MAJOR) return RM_STATUS(RM_ERR_ENUM, first);
  if (d->trans_a < RM_NO_TRANS || d->trans_a > RM_CONJ_TRANS) return RM_STATUS(RM_ERR_ENUM, first + 1);
  if (d->trans_b < RM_NO_TRANS || d->trans_b > RM_CONJ_TRANS) return RM_STATUS(RM_ERR_ENUM, first + 2);
  p->m = d->m, p->n = d->n, p->k = d->k;
  rm_view va, vb, vc, vbias = rm_view_of(d->bias, 0, rm_size_of(p->fmt));
  const int col_major = d->layout == RM_COL_MAJOR, size = rm_size_of(p->fmt);
  rm_status status = check_sizes(p, at);
  if (!status) status = dense_view(&va, d->a, d->m, d->k, d->lda, col_major, d->trans_a != RM_NO_TRANS, size, at.a + 1);
  if (!status) status = dense_view(&vb, d->b, d->k, d->n, d->ldb, col_major, d->trans_b != RM_NO_TRANS, size, at.b + 1);
  if (!status) status = dense_view(&vc, d->c, d->m, d->n, d->ldc, col_major, 0, rm_size_of(p->out_fmt), at.c + 1);
  if (!status && p->alpha_beta && rm_is_zero(p->alpha_beta->alpha)) p->k = 0; /* A and B stay unread */
  if (!status) status = check_pointers(p, at, va, vb, vbias, vc);
  if (!status) fill(p, va, vb, vbias, vc);
  return status;
}

/* Whether the results of a batch may meet each other or an operand: by the bytes that each spans, so that interleaved ones
 * count. */
static int batch_overlaps(const rm_matmul_problem *p, rm_view a, rm_view b, rm_view bias, rm_view c) {
  const int size = rm_size_of(p->fmt), size_c = rm_size_of(p->out_fmt);
  const int64_t sizes[4][3] = {{p->batch, p->m, p->n}, {p->batch, p->m, p->k}, {p->batch, p->k, p->n}, {p->batch, 1, p->n}};
  const ptrdiff_t strides[4][3] = {
      {p->next_c, c.row, c.col}, {p->next_a, a.row, a.col}, {p->next_b, b.row, b.col}, {p->next_bias, 0, bias.col}};
  const char *base[4] = {c.base, p->k ? a.base : NULL, p->k ? b.base : NULL, bias.base};
  const rm_grid result = {base[0], 3, sizes[0], strides[0]};
  if (rm_grid_may_overlap_itself(&result, size_c)) return 1;
  for (int i = 1; i < 4; i++) {
    const rm_grid operand = {base[i], 3, sizes[i], strides[i]};
    if (base[i] && rm_spans_meet(&result, size_c, &operand, size)) return 1;
  }
  return 0;
}

rm_status rm_check_strided(rm_matmul_problem *p, int64_t m, int64_t n, int64_t k, rm_view a, rm_view b, rm_view bias,
                           rm_view c) {
  static const positions single = {STRIDED_AT_M, STRIDED_AT_N,    STRIDED_AT_K, STRIDED_AT_A,
                                   STRIDED_AT_B, STRIDED_AT_BIAS, STRIDED_AT_C},
                         batched = {BATCH_AT_M, BATCH_AT_N, BATCH_AT_K, BATCH_AT_A, BATCH_AT_B, BATCH_AT_BIAS, BATCH_AT_C};
  const positions at = p->batch == RM_NO_BATCH ? single : batched;
  if (p->batch == RM_NO_BATCH) p->batch = 1;
  p->m = m, p->n = n, p->k = k;
  rm_status status = check_sizes(p, at);
  if (!status) status = check_pointers(p, at, a, b, bias, c);
  if (!status && p->batch > 1 && m > 0 && n > 0 && batch_overlaps(p, a, b, bias, c)) status = RM_STATUS(RM_ERR_OVERLAP, at.c);
  if (!status) fill(p, a, b, bias, c);
  return status;
}

rm_status rm_check_gemm(rm_matmul_problem *p, const rm_alpha_beta *alpha_beta, int format, const rm_dense_product *d) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, GEMM_AT_FORMAT);
  *p = rm_problem_of(format, 1);
  p->alpha_beta = alpha_beta;
  const rm_status status = rm_check_dense(p, d);
  if (alpha_beta->alpha == 1.0 && rm_is_zero(alpha_beta->beta)) p->alpha_beta = NULL;
  return status;
}

rm_status rm_check_batch(rm_matmul_problem *p, int format, int format_out, int64_t batch, ptrdiff_t next_a, ptrdiff_t next_b,
                         ptrdiff_t next_bias, ptrdiff_t next_c) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, BATCH_AT_FORMAT);
  if (format_out != format && (format_out != RM_FORMAT_F32 || format == RM_FORMAT_F64))
    return RM_STATUS(RM_ERR_ENUM, BATCH_AT_FORMAT_OUT);
  if (batch < 0) return RM_STATUS(RM_ERR_SIZE, BATCH_AT_BATCH);
  *p = rm_problem_of(format, batch);
  p->out_fmt = format_out;
  p->next_a = next_a, p->next_b = next_b, p->next_bias = next_bias, p->next_c = next_c;
  return RM_OK;
}

/* Positions of arguments in rm_random_matmul_batched. */
enum {
  RANDOM_AT_BATCH = 3,
  RANDOM_AT_M,
  RANDOM_AT_N,
  RANDOM_AT_K,
  RANDOM_AT_A,
  RANDOM_AT_B = 9,
  RANDOM_AT_C = 13,
  RANDOM_AT_R
};

rm_status rm_check_random(rm_matmul_problem *p, int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k,
                          const rm_random_rounding *r) {
  const int64_t most = INT64_C(1) << 31; /* of each size */
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 1);
  if (format_out != format && format_out != RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 2);
  *p = rm_problem_of(format, batch);
  p->out_fmt = format_out;
  p->m = m, p->n = n, p->k = k;
  if (batch < 0) return RM_STATUS(RM_ERR_SIZE, RANDOM_AT_BATCH);
  if (m < 0 || m >= most) return RM_STATUS(RM_ERR_SIZE, RANDOM_AT_M);
  if (n < 0 || n >= most) return RM_STATUS(RM_ERR_SIZE, RANDOM_AT_N);
  if (k < 0) return RM_STATUS(RM_ERR_SIZE, RANDOM_AT_K);
  if (m > 0 && n > 0 && batch > RM_ROUNDING_ELEMENTS / m / n) return RM_STATUS(RM_ERR_SIZE, RANDOM_AT_BATCH);
  const rm_status status = rm_rounding_check(r, batch * m * n, RANDOM_AT_R);
  if (status) return status;
  if (r->mode == RM_ROUND_UP_DOWN || rm_is_directed(r->mode)) return RM_STATUS(RM_ERR_ENUM, RANDOM_AT_R);
  p->random = *r;
  return RM_OK;
}

rm_status rm_check_random_operands(rm_matmul_problem *p, const rm_random_operand *const *operands, const ptrdiff_t *next,
                                   void *c) {
  const int size = rm_size_of(p->fmt), size_c = rm_size_of(p->out_fmt);
  const int64_t sizes[3][3] = {{p->batch, p->m, p->k}, {p->batch, p->k, p->n}, {p->batch, p->m, p->n}};
  const int64_t size_of_c[3] = {p->batch, p->m, p->n};
  rm_view views[3] = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
  for (int i = 0; i < 3; i++)
    if (operands[i]) views[i] = rm_view_of(operands[i]->base, operands[i]->row, operands[i]->column);
  if (p->k > 0 && !views[0].base) return RM_STATUS(RM_ERR_NULL, RANDOM_AT_A);
  if (p->k > 0 && !views[1].base) return RM_STATUS(RM_ERR_NULL, RANDOM_AT_B);
  if (!c) return RM_STATUS(RM_ERR_NULL, RANDOM_AT_C);
  const ptrdiff_t row = (ptrdiff_t)p->n * size_c, strides_c[3] = {(ptrdiff_t)p->m * row, row, size_c};
  const rm_grid result = {c, 3, size_of_c, strides_c};
  for (int i = 0; i < 3; i++) {
    const ptrdiff_t strides[3] = {next[i], views[i].row, views[i].col};
    const rm_grid operand = {views[i].base, 3, sizes[i], strides};
    if (views[i].base && (p->k > 0 || i == 2) && rm_spans_meet(&result, size_c, &operand, size))
      return RM_STATUS(RM_ERR_OVERLAP, RANDOM_AT_C);
  }
  p->next_a = next[0], p->next_b = next[1], p->next_bias = next[2], p->next_c = strides_c[0];
  fill(p, views[0], views[1], views[2], rm_view_of(c, row, size_c));
  p->origin = c;
  return RM_OK;
}
