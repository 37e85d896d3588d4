/* Argument checks of matmul: sizes, pointers, leading dimensions, overlap. */
#include "../../include/repmath/reductions.h"
#include "../../crlibm/fp/round.h"
#include "views.h"

typedef __int128 wide; /* byte offsets of absurd arguments do not fit 64 bits */

static wide magnitude(wide x) { return x < 0 ? -x : x; }

/* The bytes that a view touches lie in [low, high). */
typedef struct {
  wide low, high;
} range;
static range range_of(rm_view v, int64_t rows, int64_t cols, int size) {
  wide r = (wide)v.row * (rows - 1), c = (wide)v.col * (cols - 1), base = (wide)(intptr_t)v.base;
  return (range){base + (r < 0 ? r : 0) + (c < 0 ? c : 0), base + (r > 0 ? r : 0) + (c > 0 ? c : 0) + size};
}

/* Whether two elements of the view share a byte: |i row + j col| < size for some (i, j) != (0, 0) in reach. */
static int self_overlap(rm_view v, int64_t rows, int64_t cols, int size) {
  wide s = magnitude(v.row), t = magnitude(v.col);
  int64_t ns = rows, nt = cols;
  if (s > t) {
    wide u = s;
    s = t, t = u;
    ns = cols, nt = rows;
  }
  /* Now s <= t. The usual case: elements of a line apart, lines apart. */
  if (ns > 1 && s < size) return 1;
  if (nt <= 1 || ns <= 1) return nt > 1 && t < size;
  if (t >= s * (ns - 1) + size) return 0;
  /* Interleaved lines: for each j the i that come nearest to -j t / s, from both sides (signs are symmetric here, as only
   * magnitudes of i and j range freely). */
  for (int64_t j = 1; j < nt; j++) {
    wide d = j * t, q = d / s, rest = d - q * s;
    if (q < ns && rest < size) return 1;
    if (q + 1 < ns && s - rest < size) return 1;
    if (q >= ns) return 0; /* further lines are out of reach */
  }
  return 0;
}

/* Whether C may share bytes with another view. Exact for disjoint ranges and for two blocks of one larger matrix; any other
 * interleaving counts as overlap. */
static int overlaps(rm_view c, int64_t cr, int64_t cc, int size_c, rm_view x, int64_t xr, int64_t xc, int size) {
  range p = range_of(c, cr, cc, size_c), q = range_of(x, xr, xc, size);
  if (p.high <= q.low || q.high <= p.low) return 0;
  wide pitch = magnitude(c.row) > magnitude(c.col) ? magnitude(c.row) : magnitude(c.col);
  wide other = magnitude(x.row) > magnitude(x.col) ? magnitude(x.row) : magnitude(x.col);
  if (pitch != other || pitch == 0) return 1;
  /* Lines of both repeat with the pitch: their bytes modulo the pitch must be two disjoint arcs. */
  int c_rows = magnitude(c.row) == pitch, x_rows = magnitude(x.row) == pitch;
  rm_view cl = c, xl = x;
  *(c_rows ? &cl.row : &cl.col) = 0;
  *(x_rows ? &xl.row : &xl.col) = 0;
  p = range_of(cl, c_rows ? 1 : cr, c_rows ? cc : 1, size_c);
  q = range_of(xl, x_rows ? 1 : xr, x_rows ? xc : 1, size);
  wide gap = (q.low - p.low) % pitch;
  if (gap < 0) gap += pitch;
  return gap < p.high - p.low || gap + (q.high - q.low) > pitch;
}

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

static rm_status check_pointers(const rm_matmul_problem *p, positions at, rm_view a, rm_view b, rm_view bias, rm_view c) {
  const int size = rm_size_of(p->fmt), size_c = rm_size_of(p->out_fmt);
  if (p->m == 0 || p->n == 0) return RM_OK; /* nothing is read or written */
  if (p->k > 0 && !a.base) return RM_STATUS(RM_ERR_NULL, at.a);
  if (p->k > 0 && !b.base) return RM_STATUS(RM_ERR_NULL, at.b);
  if (!c.base) return RM_STATUS(RM_ERR_NULL, at.c);
  if (self_overlap(c, p->m, p->n, size_c) || (p->k > 0 && overlaps(c, p->m, p->n, size_c, a, p->m, p->k, size)) ||
      (p->k > 0 && overlaps(c, p->m, p->n, size_c, b, p->k, p->n, size)) ||
      (bias.base && overlaps(c, p->m, p->n, size_c, bias, 1, p->n, size)))
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

static void fill(rm_matmul_problem *p, rm_view a, rm_view b, rm_view bias, rm_view c) {
  p->a = rm_rows_of(a), p->b = rm_columns_of(b), p->bias = bias;
  p->c = (rm_target){c.base, c.row, c.col, 0, 0};
}

rm_status rm_check_dense(rm_matmul_problem *p, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                         const void *a, int64_t lda, const void *b, int64_t ldb, const void *bias, void *c, int64_t ldc) {
  static const positions at = {4, 5, 6, 7, 9, 11, 12};
  if (layout != RM_ROW_MAJOR && layout != RM_COL_MAJOR) return RM_STATUS(RM_ERR_ENUM, 1);
  if (trans_a < RM_NO_TRANS || trans_a > RM_CONJ_TRANS) return RM_STATUS(RM_ERR_ENUM, 2);
  if (trans_b < RM_NO_TRANS || trans_b > RM_CONJ_TRANS) return RM_STATUS(RM_ERR_ENUM, 3);
  p->m = m, p->n = n, p->k = k;
  rm_view va, vb, vc, vbias = {(char *)(uintptr_t)bias, 0, rm_size_of(p->fmt)};
  const int col_major = layout == RM_COL_MAJOR, size = rm_size_of(p->fmt);
  rm_status status = check_sizes(p, at);
  if (!status) status = dense_view(&va, a, m, k, lda, col_major, trans_a != RM_NO_TRANS, size, 8);
  if (!status) status = dense_view(&vb, b, k, n, ldb, col_major, trans_b != RM_NO_TRANS, size, 10);
  if (!status) status = dense_view(&vc, c, m, n, ldc, col_major, 0, rm_size_of(p->out_fmt), 13);
  if (!status) status = check_pointers(p, at, va, vb, vbias, vc);
  if (!status) fill(p, va, vb, vbias, vc);
  return status;
}

/* The bytes of all the views of a batch. */
static range batch_range(rm_view v, int64_t rows, int64_t cols, int size, int64_t batch, ptrdiff_t next) {
  range r = range_of(v, rows, cols, size);
  const wide move = (wide)next * (batch - 1);
  return move < 0 ? (range){r.low + move, r.high} : (range){r.low, r.high + move};
}

/* Whether the results of a batch may meet each other or an operand: by the bytes that each spans, so that interleaved ones count. */
static int batch_overlaps(const rm_matmul_problem *p, rm_view a, rm_view b, rm_view bias, rm_view c) {
  const int size = rm_size_of(p->fmt), size_c = rm_size_of(p->out_fmt);
  const range one = range_of(c, p->m, p->n, size_c), all = batch_range(c, p->m, p->n, size_c, p->batch, p->next_c);
  if (magnitude(p->next_c) < one.high - one.low) return 1;
  range others[3] = {{0, 0}, {0, 0}, {0, 0}};
  if (p->k > 0) {
    others[0] = batch_range(a, p->m, p->k, size, p->batch, p->next_a);
    others[1] = batch_range(b, p->k, p->n, size, p->batch, p->next_b);
  }
  if (bias.base) others[2] = batch_range(bias, 1, p->n, size, p->batch, p->next_bias);
  for (int i = 0; i < 3; i++)
    if (others[i].low < others[i].high && others[i].low < all.high && all.low < others[i].high) return 1;
  return 0;
}

rm_status rm_check_strided(rm_matmul_problem *p, int64_t m, int64_t n, int64_t k, rm_view a, rm_view b, rm_view bias, rm_view c) {
  static const positions single = {1, 2, 3, 4, 7, 10, 12}, batched = {4, 5, 6, 7, 11, 15, 18};
  const positions at = p->batch == RM_NO_BATCH ? single : batched;
  if (p->batch == RM_NO_BATCH) p->batch = 1;
  p->m = m, p->n = n, p->k = k;
  rm_status status = check_sizes(p, at);
  if (!status) status = check_pointers(p, at, a, b, bias, c);
  if (!status && p->batch > 1 && m > 0 && n > 0 && batch_overlaps(p, a, b, bias, c)) status = RM_STATUS(RM_ERR_OVERLAP, at.c);
  if (!status) fill(p, a, b, bias, c);
  return status;
}
