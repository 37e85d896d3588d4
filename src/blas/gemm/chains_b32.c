/* The product of bf16 matrices by the CPU's products of pairs: a block of C, from accumulation chains in binary32 of
 * bounded length (chains_sums.h, bound_b32.h).
 *
 * Rows of A are copied, with zeros behind them; of B panels of SIDE columns are packed, word after word of two k. Tiles of
 * ROWS x SIDE sums are tested and rounded. Undecided elements are dot products in binary64; what these leave undecided is
 * resolved as in the binary64 engine (resolve_b64.h). That engine computes the block where it has numbers that are
 * subnormal or not finite, or where much of it is undecided. */
#include "chains_b32.h"
#if RM_HAS_BF16

#include "../../../crlibm/simd/bf16.h"
#include "chains_sums.h"
#include "undecided_16.h"

enum { ROWS = RM_CHAIN_ROWS, WIDE = RM_CHAIN_WIDE, SIDE = RM_CHAIN_SIDE, WORDS = RM_CHAIN_WORDS };
/* Rows of A that the L2 cache holds beside the rest. */
enum { ROWS_BYTES = 512 << 10 };
/* The binary64 engine is faster where more than one element in TOO_MANY is undecided, as the first ENOUGH show. */
enum { TOO_MANY = 5, ENOUGH = 2048 };

typedef struct {
  rm_layout_b64 plain;
  int64_t pairs, row_step; /* of k, up to whole chains; rows of A that are copied at a time */
  ptrdiff_t stride;        /* of copied rows */
  char *a, *b, *b_values, *stage;
  float *sums;       /* of a tile: of a group, and of the last one */
  double *totals;    /* of the groups */
  float *row_bound;  /* u |n a| */
  double *row_norm;
  float *col_norm;
  size_t bytes;
} layout;

static layout layout_of(const rm_matmul_problem *p, int64_t rows, int64_t cols, char *work) {
  layout t;
  t.plain = rm_layout_of_b64(p, rows, cols, work);
  t.pairs = (p->k + 2 * RM_CHAIN_PAIRS - 1) / (2 * RM_CHAIN_PAIRS) * RM_CHAIN_PAIRS;
  t.stride = (ptrdiff_t)((4 * t.pairs + 63) / 64 * 64 + 64);
  const int64_t fit = ROWS_BYTES / t.stride / ROWS * ROWS, all = (rows + ROWS - 1) / ROWS * ROWS;
  t.row_step = fit < ROWS ? ROWS : fit < all ? fit : all;
  t.bytes = t.plain.bytes;
  size_t *n = &t.bytes;
  const size_t step = (size_t)t.row_step, wide = (size_t)t.stride * 64; /* copies are made of 32 rows at a time */
  t.a = rm_bump_allocate(work, n, step * (size_t)t.stride);
  t.b = rm_bump_allocate(work, n, wide);
  t.b_values = rm_bump_allocate(work, n, wide);
  t.stage = rm_bump_allocate(work, n, p->a.im2col || p->b.im2col ? wide : 0);
  t.sums = rm_bump_allocate(work, n, ROWS * SIDE * 4);
  t.totals = rm_bump_allocate(work, n, ROWS * SIDE * 8);
  t.row_bound = rm_bump_allocate(work, n, step * 4);
  t.row_norm = rm_bump_allocate(work, n, step * 8);
  t.col_norm = rm_bump_allocate(work, n, SIDE * 4);
  return t;
}

static size_t work_of(const rm_matmul_problem *p, int64_t rows, int64_t cols) {
  const size_t mine = layout_of(p, rows, cols, 0).bytes, plain = rm_blas_kernels()->engine[p->fmt].work(p, rows, cols);
  return mine > plain ? mine : plain;
}

typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  const layout *t;
  float weight[RM_GROUP_PAIRS]; /* n_k^2 */
} pass;

/* Copies a row, with zeros up to its stride, and makes its norms. Returns 0 where it has numbers that are not for chains. */
static int copy_row(const pass *s, char *to, const char *from, float *bound, double *norm) {
  enum { PARTS = RM_GROUP_PAIRS / 16 };
  const int64_t k = s->p->k;
  vf32 square[PARTS];
  vbytes_range range = vbytes_range_of_none();
  RM_UNROLL for (int v = 0; v < PARTS; v++) square[v] = vf32_set1(0.0f);
  for (int64_t q = 0; q < k; q += 32 * PARTS) RM_UNROLL for (int v = 0; v < PARTS; v++) {
      const int64_t at = q + 32 * v, left = k - at;
      if (left <= 0) break;
      const vbytes x = left >= 32 ? vbytes_load(from + 2 * at) : vbytes_load_16(from + 2 * at, (int)left);
      vbytes_store(to + 2 * at, x);
      vbytes_range_add(&range, x);
      square[v] = vf32_add_pairs(square[v], x, x);
    }
  vf32 sum = vf32_set1(0.0f), weighted = sum;
  RM_UNROLL for (int v = 0; v < PARTS; v++) {
    sum = vf32_add(sum, square[v]);
    weighted = vf32_fma(square[v], vf32_load_f32(s->weight + 16 * v), weighted);
  }
  const double total = (double)vf32_sum_lanes(sum), most = (double)vf32_sum_lanes(weighted), floor = rm_floor_b32(k);
  const int none = vbytes_are_zeros(range);
  *bound = none ? 0.0f : (float)(rm_bound_b32() * __builtin_sqrt(most + floor));
  *norm = none ? 0.0 : __builtin_sqrt(total + floor) * (1.0 + 0x1p-10);
  return vbytes_are_normal(range) && most < 0x1p127;
}

/* Packs columns that are neighbours in memory: words of two k. */
static void pack_adjacent(const pass *s, const char *from, ptrdiff_t k_stride, int cols) {
  const int64_t k = s->p->k;
  char *to = s->t->b;
  const int first = cols < 32 ? cols : 32, last = cols - first;
  for (int64_t q = 0; q < 2 * s->t->pairs; q += 2, to += WORDS) {
    const char *at = from + q * k_stride;
    vbytes x = vbytes_zero(), y = x, u = x, v = x, low, high, other;
    __builtin_prefetch(at + RM_VALUES_AHEAD * k_stride);
    __builtin_prefetch(at + (RM_VALUES_AHEAD + 1) * k_stride);
    if (q < k) x = vbytes_load_16(at, first);
    if (q + 1 < k) y = vbytes_load_16(at + k_stride, first);
    if (q < k && last) u = vbytes_load_16(at + 64, last);
    if (q + 1 < k && last) v = vbytes_load_16(at + k_stride + 64, last);
    vbytes_pairs(x, y, &low, &high);
    vbytes_store(to, low);
    vbytes_store(to + 64, high);
    vbytes_pairs(u, v, &low, &other);
    vbytes_store(to + 128, low);
  }
}

/* The same of columns whose k are neighbours. */
static void pack_values(const pass *s, rm_values from, int cols) {
  const int64_t k = s->p->k;
  for (int c = 0; c < SIDE; c += 16)
    for (int64_t q = 0; q < 2 * s->t->pairs; q += 32) {
      char rows[16 * 64] __attribute__((aligned(64))), words[16 * 64] __attribute__((aligned(64)));
      const int64_t left = k - q, pairs = s->t->pairs - q / 2;
      for (int i = 0; i < 16; i++) {
        const char *at = from.base + (c + i) * from.stride + 2 * q;
        vbytes_store(rows + 64 * i, c + i >= cols || left <= 0 ? vbytes_zero()
                                    : left >= 32               ? vbytes_load(at)
                                                               : vbytes_load_16(at, (int)left));
      }
      char *const to = s->t->b + q / 2 * WORDS + 4 * c;
      if (pairs >= 16) {
        vbytes_transpose(to, WORDS, rows, 64);
      } else {
        vbytes_transpose(words, 64, rows, 64);
        for (int i = 0; i < pairs; i++) vbytes_store(to + i * WORDS, vbytes_load(words + 64 * i));
      }
    }
}

/* The norms of the columns of the packed panel at column j of the block. Returns 0 where it has numbers that are not for
 * chains. */
static int norms_of_panel(const pass *s, int64_t j, int cols) {
  const layout *t = s->t;
  vf32 square[WIDE];
  vbytes_range range[WIDE];
  float sums[SIDE];
  RM_UNROLL for (int v = 0; v < WIDE; v++) square[v] = vf32_set1(0.0f), range[v] = vbytes_range_of_none();
  for (int64_t q = 0; q < t->pairs; q++) RM_UNROLL for (int v = 0; v < WIDE; v++) {
      const vbytes x = vbytes_load(t->b + q * WORDS + 64 * v);
      vbytes_range_add(range + v, x);
      square[v] = vf32_add_pairs(square[v], x, x);
    }
  int good = 1;
  uint64_t zeros = 0; /* columns; squares may vanish where there are other elements */
  RM_UNROLL for (int v = 0; v < WIDE; v++) {
    vf32_store_f32(sums + 16 * v, square[v]);
    good &= vbytes_are_normal(range[v]);
    zeros |= (uint64_t)vbytes_zero_words(range[v]) << 16 * v;
  }
  const double floor = rm_floor_b32(s->p->k);
  for (int c = 0; c < SIDE; c++) {
    const double norm = zeros >> c & 1 ? 0.0 : __builtin_sqrt((double)sums[c] + floor);
    t->col_norm[c] = (float)norm;
    if (c < cols) t->plain.col_norm[j + c] = norm * (1.0 + 0x1p-10);
    good &= sums[c] < 0x1p127f;
  }
  return good;
}

/* Packs the panel at column j of the block; values get those that lie in memory. Returns 0 where it is not for chains. */
static int pack_panel(const pass *s, int64_t j, int cols, rm_values *values) {
  const layout *t = s->t;
  const rm_operand *o = &s->p->b;
  const int64_t col = s->block->col + j;
  *values = (rm_values){0, t->stride};
  if (!o->im2col && o->row_stride == 2) {
    pack_adjacent(s, o->base + 2 * col, o->k_stride, cols);
  } else {
    *values = rm_values_of(o, col, cols < 32 ? cols : 32, s->p->k, t->b_values, t->stride, t->stage);
    if (cols > 32 && values->base == t->b_values)
      rm_values_of(o, col + 32, cols - 32, s->p->k, t->b_values + 32 * values->stride, t->stride, t->stage);
    pack_values(s, *values, cols);
  }
  return norms_of_panel(s, j, cols);
}

/* The values of the packed panel, where they do not lie in memory. */
static void unpack_panel(const pass *s) {
  const layout *t = s->t;
  for (int c = 0; c < SIDE; c += 16)
    for (int64_t q = 0; q < t->pairs; q += 16) {
      char words[16 * 64] __attribute__((aligned(64)));
      const int64_t pairs = t->pairs - q < 16 ? t->pairs - q : 16;
      const char *from = t->b + q * WORDS + 4 * c;
      for (int i = 0; i < 16; i++) vbytes_store(words + 64 * i, i < pairs ? vbytes_load(from + i * WORDS) : vbytes_zero());
      vbytes_transpose(t->b_values + c * t->stride + 4 * q, t->stride, words, 64);
    }
}

/* Tests and rounds the tile at (i0, j0) of the block; undecided[i] gets the columns that are left. Returns how many. */
static int round_tile(const pass *s, const float *row_bound, int64_t i0, int64_t j0, int rows, int cols,
                      uint64_t *undecided) {
  const rm_matmul_problem *p = s->p;
  const layout *t = s->t;
  const rm_output_map *output = &t->plain.output;
  int count = 0;
  for (int i = 0; i < rows; i++) {
    uint64_t left = 0;
    for (int c = 0; c < cols; c += 16) {
      const int lanes = cols - c < 16 ? cols - c : 16;
      const vf32 sum = vf32_load_f32(t->sums + i * SIDE + c);
      vf32 value = sum, margin = vf32_mul(vf32_set1(row_bound[i]), vf32_load_f32(t->col_norm + c));
      margin = vf32_fma(vf32_abs(sum), vf32_set1(0x1p-23f), margin);
      if (p->bias.base) {
        float bias[16] = {0};
        for (int h = 0; h < lanes; h += RM_LANES)
          vf64_store_f32(bias + h, rm_load_bias(&p->bias, s->block->row + i0 + i, s->block->col + j0 + c + h,
                                                lanes - h < RM_LANES ? lanes - h : RM_LANES, RM_BF16));
        value = vf32_add(sum, vf32_load_f32(bias));
      }
      margin = vf32_fma(vf32_abs(value), vf32_set1(0x1p-22f), margin);
      const uint32_t outside = vm32_bits(vf32_nle(vf32_add(vf32_abs(value), margin), vf32_set1(0x1p126f)));
      uint16_t out[16];
      const uint32_t differ = vf32_store_between_bf16(out, vf32_sub(value, margin), vf32_add(value, margin));
      if (RM_LIKELY(lanes == 16 && output->whole[(j0 + c) / RM_LANES] && output->whole[(j0 + c) / RM_LANES + 1]))
        RM_UNROLL for (int h = 0; h < 16; h += RM_LANES)
            __builtin_memcpy(rm_output_at(output, i0 + i, j0 + c + h), out + h, 2 * RM_LANES);
      else
        for (int l = 0; l < lanes; l++) __builtin_memcpy(rm_output_at(output, i0 + i, j0 + c + l), out + l, 2);
      left |= (uint64_t)((differ | outside) & ((1u << lanes) - 1)) << c;
    }
    undecided[i] = left;
    if (left) count += __builtin_popcountll(left);
  }
  return count;
}

/* Copies rows [first, end) of A. Returns 0 where they are not for chains. */
static int copy_rows(const pass *s, int64_t first, int64_t end) {
  const layout *t = s->t;
  for (int64_t i = first; i < end; i += ROWS) {
    const int rows = rm_min_int(end - i, ROWS);
    const rm_values v = rm_values_of(&s->p->a, s->block->row + i, rows, s->p->k, t->b_values, t->stride, t->stage);
    char *const to = t->a + (i - first) * t->stride;
    for (int r = 0; r < rows; r++) {
      const int64_t at = i - first + r;
      if (!copy_row(s, to + r * t->stride, v.base + r * v.stride, t->row_bound + at, t->row_norm + at)) return 0;
      t->plain.row_bound[i + r] = rm_bound_b64(s->p->k) * t->row_norm[at];
    }
    if (rows < ROWS) __builtin_memset(to + rows * t->stride, 0, (size_t)((ROWS - rows) * t->stride));
  }
  return 1;
}

static uint32_t block_of(const rm_matmul_problem *p, const rm_block *block, void *work, rm_tiers *tiers,
                         rm_panel_queue *queue) {
  layout whole = layout_of(p, block->rows, block->cols, work), *t = &whole;
  const rm_layout_b64 *w = &t->plain;
  pass s = {p, block, t, {0}};
  const int chains = rm_chains_b32(p->k);
  for (int i = 0; i < chains * RM_CHAIN_PAIRS; i++) {
    const int n = rm_roundings_b32(chains, i);
    s.weight[i] = (float)(n * n);
  }
  int64_t left = 0, undecided_count = 0, seen = 0;
  rm_output_map_fill(&t->plain.output, &p->c, block, 2);
  __builtin_memset(w->flagged, 0, (size_t)(w->row_tiles * w->col_tiles * (RM_TILE / RM_LANES)));
  for (int64_t first = 0; first < block->rows; first += t->row_step) {
    const int64_t end = first + t->row_step < block->rows ? first + t->row_step : block->rows;
    int good = copy_rows(&s, first, end);
    for (int64_t j = 0; good && j < block->cols; j += SIDE) {
      const int cols = rm_min_int(block->cols - j, SIDE);
      rm_values b;
      good = pack_panel(&s, j, cols, &b);
      for (int64_t i = first; good && i < end; i += ROWS) {
        const int64_t at = i - first;
        const int rows = rm_min_int(end - i, ROWS);
        const rm_values a = {t->a + at * t->stride, t->stride};
        uint64_t undecided[ROWS];
        rm_sums_of_chains(a.base, t->stride, t->b, t->pairs, t->sums, t->totals);
        const int count = round_tile(&s, t->row_bound + at, i, j, rows, cols, undecided);
        seen += rows * cols, undecided_count += count;
        if (!count) continue;
        good = undecided_count <= seen / TOO_MANY + ENOUGH / TOO_MANY;
        if (!b.base) unpack_panel(&s), b.base = t->b_values;
        left += rm_sum_undecided_16(&(rm_piece_16){w, p, block, i, j, rows, t->row_norm + at}, a, b, undecided, RM_BF16);
      }
    }
    if (!good) return rm_blas_kernels()->engine[RM_BF16].block(p, block, work, tiers, queue);
  }
  tiers->fast += block->rows * block->cols - left;
  return left ? rm_blas_kernels()->resolve_b64(w, p, block, left, work, tiers) : 0;
}

const rm_engine rm_chains_bf16 = {ROWS, SIDE, work_of, block_of, 0};

#endif
