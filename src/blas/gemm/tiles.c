/* The matrix product by the CPU's tiles: a block of C, from exact sums of products of digits (digits.h).
 *
 * A block is cut into pieces of 32 x 32 elements, four tiles. The sums of a piece are exact integers; what the digits
 * leave out is bounded, and Ziv's rounding test follows. It leaves few elements undecided where the elements of a row are
 * not too far apart. These are dot products in binary64; what they leave undecided is resolved as in the binary64 engine
 * (resolve_b64.h). Where elements are far apart the binary64 engine computes the block.
 *
 * Digits of a panel of 32 rows: 16 rows and then 16 more, each as tiles of 1,024 bytes, of 64 k after 64 k digit after
 * digit. Those of B are transposed as words of four bytes. */
#include "tiles.h"
#if RM_HAS_TILES

#include "digits.h"
#include "undecided_16.h"

enum { HALF = RM_TILE_SIDE, SIDE = 2 * HALF };
/* The digits of A that the L2 cache holds beside the rest; k that four panels of digits bring to the L1 cache, in tiles. */
enum { ROWS_BYTES = 1600 << 10, DEPTH = 4 };
/* The binary64 engine is faster where more than one element in TOO_MANY is undecided, as the first ENOUGH show. */
enum { TOO_MANY = 8, ENOUGH = 1024 };

typedef struct {
  rm_layout_b64 plain;
  int64_t chunks, row_step;  /* of RM_TILE_K; rows of A that are packed at a time */
  int8_t *a, *b, *b_rows;    /* digits; of B before they are transposed */
  char *a_values, *b_values; /* copies of the operands with neighbouring k, where they have none */
  ptrdiff_t values_stride;
  int32_t *sums;             /* [group][tile][row][column] */
  double *row_term, *row_factor, *row_norm, *col_term, *col_factor;
  size_t bytes;
} layout;

static layout layout_of(const rm_matmul_problem *p, int64_t rows, int64_t cols, char *work) {
  const int digits = RM_DIGITS;
  layout t;
  t.plain = rm_layout_of_b64(p, rows, cols, work);
  t.chunks = (p->k + RM_TILE_K - 1) / RM_TILE_K;
  const int64_t deep = t.chunks * RM_TILE_K, fit = ROWS_BYTES / (deep * digits) / SIDE * SIDE,
                all = (rows + SIDE - 1) / SIDE * SIDE;
  t.row_step = fit < SIDE ? SIDE : fit < all ? fit : all;
  t.values_stride = (ptrdiff_t)(2 * deep + 64);
  t.bytes = t.plain.bytes;
  size_t *n = &t.bytes;
  const size_t step = (size_t)t.row_step, panel_bytes = (size_t)(SIDE * deep * digits);
  t.a = rm_bump_allocate(work, n, step * (size_t)(deep * digits));
  t.b = rm_bump_allocate(work, n, panel_bytes);
  t.b_rows = rm_bump_allocate(work, n, panel_bytes);
  t.a_values = rm_bump_allocate(work, n, p->a.im2col || p->a.k_stride != 2 ? step * (size_t)t.values_stride : 0);
  t.b_values = rm_bump_allocate(work, n, SIDE * (size_t)t.values_stride);
  t.sums = rm_bump_allocate(work, n, RM_DIGIT_GROUPS * 4 * RM_TILE_BYTES);
  t.row_term = rm_bump_allocate(work, n, step * RM_DIGIT_TERMS * 8);
  t.row_factor = rm_bump_allocate(work, n, step * 8);
  t.row_norm = rm_bump_allocate(work, n, step * 8);
  t.col_term = rm_bump_allocate(work, n, SIDE * RM_DIGIT_TERMS * 8);
  t.col_factor = rm_bump_allocate(work, n, SIDE * 8);
  return t;
}

static size_t work_of(const rm_matmul_problem *p, int64_t rows, int64_t cols) {
  const size_t mine = layout_of(p, rows, cols, 0).bytes, plain = rm_blas_kernels()->engine[p->fmt].work(p, rows, cols);
  return mine > plain ? mine : plain;
}

/* A panel of SIDE rows of A or columns of B: the digits, and for each row or column the terms of the bound, next_term apart,
 * the factor of its sums and its norm. */
typedef struct {
  int8_t *digits;
  double *term;
  int64_t next_term;
  double *factor, *norm;
} panel;

/* Makes a panel of `rows` rows. Rows that are not finite have terms that are NaN. */
static void pack(const panel *to, const layout *t, rm_values v, int rows, int64_t k, int column, const int fmt) {
  const int digits = RM_DIGITS, last = RM_DIGIT_GROUPS - 1, together = last + 1 - digits;
  for (int r = 0; r < SIDE; r++) {
    int8_t *at = to->digits + r / HALF * t->chunks * digits * RM_TILE_BYTES + r % HALF * RM_TILE_K;
    rm_digit_facts facts;
    if (r < rows) rm_digits_row(at, RM_TILE_BYTES, v.base + r * v.stride, k, &facts, fmt);
    else rm_digits_row(at, RM_TILE_BYTES, v.base, 0, &facts, fmt);
    const double none = facts.kind == RM_DIGITS_NONE ? __builtin_nan("") : 0.0,
                 unit = facts.kind == RM_DIGITS_FINITE ? rm_pow2(facts.exponent - RM_DIGITS_LEAD) : 1.0;
    const double *const n = facts.norm, scale = column ? unit : RM_BOUND(unit);
    double *term = to->term + r;
    *term = (column ? n[digits] : n[0] + n[together + 1]) * scale + none;
    for (int i = together + 1; i < digits; i++)
      *(term += to->next_term) = (column ? n[last + 1 - i] : n[i] + n[i + 1]) * scale + none;
    *(term += to->next_term) = (column ? n[0] : n[digits]) * scale + none;
    to->factor[r] = unit;
    to->norm[r] = n[0] * unit + none;
  }
}

/* The products of digits whose numbers add up to s, k in [q, end) in tiles. */
RM_FN void multiply_group(const int8_t *a, const int8_t *b, int64_t next, int64_t q, int64_t end, const int s, int32_t *sums,
                          int first) {
  const int digits = RM_DIGITS;
  RM_KEEP_ORDER;
  if (first) {
    RM_TILE_ZERO(0);
    RM_TILE_ZERO(1);
    RM_TILE_ZERO(2);
    RM_TILE_ZERO(3);
  } else {
    RM_TILE_LOAD(0, sums);
    RM_TILE_LOAD(1, sums + 256);
    RM_TILE_LOAD(2, sums + 512);
    RM_TILE_LOAD(3, sums + 768);
  }
  const int from = s < digits ? 0 : s - digits + 1, to = s < digits ? s : digits - 1;
  for (; q < end; q++)
    for (int i = from; i <= to; i++) {
      const int8_t *x = a + (q * digits + i) * RM_TILE_BYTES, *y = b + (q * digits + s - i) * RM_TILE_BYTES;
      RM_TILE_LOAD(4, x);
      RM_TILE_LOAD(6, y);
      RM_TILE_MULTIPLY(0, 4, 6);
      RM_TILE_LOAD(7, y + next);
      RM_TILE_MULTIPLY(1, 4, 7);
      RM_TILE_LOAD(5, x + next);
      RM_TILE_MULTIPLY(2, 5, 6);
      RM_TILE_MULTIPLY(3, 5, 7);
    }
  RM_TILE_STORE(0, sums);
  RM_TILE_STORE(1, sums + 256);
  RM_TILE_STORE(2, sums + 512);
  RM_TILE_STORE(3, sums + 768);
  RM_KEEP_ORDER;
}
static void multiply(const layout *t, const int8_t *a, const int8_t *b) {
  const int64_t next = t->chunks * RM_DIGITS * RM_TILE_BYTES;
  for (int64_t q = 0; q < t->chunks; q += DEPTH) {
    const int64_t end = t->chunks - q < DEPTH ? t->chunks : q + DEPTH;
    for (int s = 0; s < RM_DIGIT_GROUPS; s++) multiply_group(a, b, next, q, end, s, t->sums + s * 1024, q == 0);
  }
}

typedef char chains_are_short[RM_TILES_MAX_K <= 32 * 128 ? 1 : -1]; /* tiles_dot.h */

typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  const layout *t;
  double bound; /* of a dot product in binary64 */
} pass;

/* The values of RM_LANES elements of row r and columns from c on, v, and the bound e of their errors: 0 where the digits
 * are all there is. */
RM_FN void value_of(const pass *s, const double *row_term, const double *row_factor, int r, int c, vf64 *v, vf64 *e) {
  const layout *t = s->t;
  const int32_t *sums = t->sums + (r / HALF * 2 + c / HALF) * 256 + r % HALF * HALF + c % HALF;
  vf64 sum = vf64_load_i32(sums); /* exact, as all sums here: below 2^13 (2^12 2^24 + 2^14 2^16 + 3 2^14 2^8 + 2^16) < 2^53 */
  RM_UNROLL for (int g = 1; g < RM_DIGIT_GROUPS; g++) sum = vf64_mad(sum, vf64_set1(256.0), vf64_load_i32(sums + g * 1024));
  *v = vf64_mul(sum, vf64_mul(vf64_set1(row_factor[r]), vf64_load(t->col_factor + c)));
  vf64 bound = vf64_mul(vf64_set1(row_term[r]), vf64_load(t->col_term + c));
  RM_UNROLL for (int i = 1; i < RM_DIGIT_TERMS; i++) bound =
      vf64_mad(vf64_set1(row_term[i * t->row_step + r]), vf64_load(t->col_term + i * SIDE + c), bound);
  *e = bound;
}

/* Rounds the piece at (i0, j0); undecided[r] gets the columns that are left. Returns how many. */
RM_FN int round_piece(const pass *s, const double *row_term, const double *row_factor, int64_t i0, int64_t j0, int rows,
                      int cols, uint64_t *undecided, const int fmt) {
  const rm_matmul_problem *p = s->p;
  const rm_output_map *output = &s->t->plain.output;
  int count = 0;
  for (int r = 0; r < rows; r++) {
    uint32_t left = 0;
    for (int c = 0; c < cols; c += HALF) {
      const int lanes = cols - c < HALF ? cols - c : HALF;
      vf64 low[2], high[2];
      uint32_t good = 0;
      RM_UNROLL for (int h = 0; h < 2; h++) {
        const int at = c + h * RM_LANES;
        vf64 v, e, lost = vf64_set1(0.0);
        value_of(s, row_term, row_factor, r, at, &v, &e);
        if (p->bias.base && at < cols) {
          const vf64 bias = rm_load_bias(&p->bias, s->block->row + i0 + r, s->block->col + j0 + at,
                                         cols - at < RM_LANES ? cols - at : RM_LANES, fmt);
          v = vf64_two_sum(v, bias, &lost);
        }
        /* What the sum with the bias lost, at most u |v|, is in the margin of 2 u |v|. */
        const vm64 exact = vf64_eq(vf64_add(e, vf64_abs(lost)), vf64_set1(0.0));
        const vf64 margin = vf64_select(exact, e, rm_margin_b64(v, e));
        low[h] = vf64_sub(v, margin), high[h] = vf64_add(v, margin);
        good |= vm64_bits(vf64_le(vf64_add(vf64_abs(v), margin), vf64_set1(rm_max_tested_16(fmt)))) << h * RM_LANES;
      }
      uint16_t out[HALF];
      const vf32 a = vf32_of_halves(vf64_to_odd16(low[0]), vf64_to_odd16(low[1])),
                 b = vf32_of_halves(vf64_to_odd16(high[0]), vf64_to_odd16(high[1]));
      const uint32_t differ = fmt == RM_F16 ? vf32_store_between_f16(out, a, b) : vf32_store_between_bf16(out, a, b);
      if (RM_LIKELY(lanes == HALF && output->whole[(j0 + c) / RM_LANES] && output->whole[(j0 + c) / RM_LANES + 1]))
        RM_UNROLL for (int h = 0; h < 2; h++)
            __builtin_memcpy(rm_output_at(output, i0 + r, j0 + c + h * RM_LANES), out + h * RM_LANES, 2 * RM_LANES);
      else
        for (int l = 0; l < lanes; l++) __builtin_memcpy(rm_output_at(output, i0 + r, j0 + c + l), out + l, 2);
      left |= ((differ | ~good) & ((1u << lanes) - 1)) << c;
    }
    undecided[r] = left;
    if (left) count += __builtin_popcount(left);
  }
  return count;
}

/* Packs a panel of B at column j of the block; its values follow. */
RM_FN rm_values pack_columns(const pass *s, int64_t j, int cols, const int fmt) {
  const layout *t = s->t;
  const rm_matmul_problem *p = s->p;
  const double shift = rm_pow2(8 * (2 * RM_DIGITS - 1 - RM_DIGIT_GROUPS));
  double norm[SIDE];
  const rm_values v = rm_values_of(&p->b, s->block->col + j, cols, p->k, t->b_values, t->values_stride, (char *)t->b_rows);
  pack(&(panel){t->b_rows, t->col_term, SIDE, t->col_factor, norm}, t, v, cols, p->k, 1, fmt);
  for (int64_t q = 0; q < 2 * t->chunks * RM_DIGITS; q++)
    vbytes_transpose((char *)t->b + q * RM_TILE_BYTES, 64, (const char *)t->b_rows + q * RM_TILE_BYTES, 64);
  for (int c = 0; c < SIDE; c++) t->col_factor[c] *= shift;
  for (int c = 0; c < cols; c++) t->plain.col_norm[j + c] = norm[c];
  return v;
}

RM_FN uint32_t block_of(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers, rm_panel_queue *queue,
                        const int fmt) {
  layout whole = layout_of(p, block->rows, block->cols, work), *t = &whole;
  const rm_layout_b64 *w = &t->plain;
  const pass s = {p, block, t, rm_bound_b64(p->k)};
  const int64_t row_bytes = t->chunks * RM_TILE_K * RM_DIGITS; /* of digits */
  int64_t left = 0, undecided_count = 0, seen = 0;
  rm_output_map_fill(&t->plain.output, &p->c, block, 2);
  __builtin_memset(w->flagged, 0, (size_t)(w->row_tiles * w->col_tiles * (RM_TILE / RM_LANES)));
  rm_tiles_begin();
  for (int64_t first = 0; first < block->rows; first += t->row_step) {
    const int64_t end = first + t->row_step < block->rows ? first + t->row_step : block->rows;
    for (int64_t i = first; i < end; i += SIDE) {
      const int64_t at = i - first;
      const int rows = rm_min_int(end - i, SIDE);
      const rm_values v = rm_values_of(&p->a, block->row + i, rows, p->k, t->a_values + at * t->values_stride,
                                       t->values_stride, (char *)t->b_rows);
      const panel to = {t->a + at * row_bytes, t->row_term + at, t->row_step, t->row_factor + at, t->row_norm + at};
      pack(&to, t, v, rows, p->k, 0, fmt);
      for (int r = 0; r < rows; r++) w->row_bound[i + r] = s.bound * t->row_norm[at + r];
    }
    for (int64_t j = 0; j < block->cols; j += SIDE) {
      const int cols = rm_min_int(block->cols - j, SIDE);
      const rm_values b = pack_columns(&s, j, cols, fmt);
      for (int64_t i = first; i < end; i += SIDE) {
        const int64_t at = i - first;
        const int rows = rm_min_int(end - i, SIDE);
        uint64_t undecided[SIDE];
        multiply(t, t->a + at * row_bytes, t->b);
        const int count = round_piece(&s, t->row_term + at, t->row_factor + at, i, j, rows, cols, undecided, fmt);
        seen += rows * cols, undecided_count += count;
        if (!count) continue;
        if (undecided_count > seen / TOO_MANY + ENOUGH / TOO_MANY) {
          rm_tiles_end();
          return rm_blas_kernels()->engine[fmt].block(p, block, work, tiers, queue);
        }
        rm_values a = {t->a_values + at * t->values_stride,
                       p->a.im2col && !p->a.im2col->rows_adjacent ? (ptrdiff_t)(2 * p->k) : t->values_stride};
        if (!p->a.im2col && p->a.k_stride == 2)
          a = (rm_values){p->a.base + (block->row + i) * p->a.row_stride, p->a.row_stride};
        left += rm_sum_undecided_16(&(rm_piece_16){w, p, block, i, j, rows, t->row_norm + at}, a, b, undecided, fmt);
      }
    }
  }
  rm_tiles_end();
  tiers->fast += block->rows * block->cols - left;
  return left ? rm_blas_kernels()->resolve_b64(w, p, block, left, work, tiers) : 0;
}

#define RM_ENGINE(name, FMT)                                                                                   \
  static uint32_t block_##name(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers, \
                               rm_panel_queue *queue) {                                                        \
    return block_of(p, block, work, tiers, queue, FMT);                                                        \
  }                                                                                                            \
  const rm_engine rm_tiles_##name = {SIDE, SIDE, work_of, block_##name, 0};
RM_ENGINE(bf16, RM_BF16)
RM_ENGINE(f16, RM_F16)

#endif
