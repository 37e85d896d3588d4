/* The products of kernels.h. A tile of C is in registers while a chain of k indices runs; the columns of B that it needs are
 * copied beside each other, with zeros up to whole vectors. */
#include "kernels.h"

#include "../../crlibm/simd/machine.h"
#include "../reduce/vector_pair.h"

#if RM_SIMD == RM_SIMD_AVX512 || RM_SIMD == RM_SIMD_NEON
enum { ROWS = 8, VECTORS = 2, PAIR_ROWS = 4, PAIR_VECTORS = 2 };
#else
enum { ROWS = 4, VECTORS = 2, PAIR_ROWS = 2, PAIR_VECTORS = 2 };
#endif
enum { WIDTH = VECTORS * RM_LANES, PAIR_WIDTH = PAIR_VECTORS * RM_LANES, TRIPLE_ROWS = 2 };

typedef void (*tile_function)(const rm_linalg_product *p, const double *b, int64_t i, int64_t j, int64_t k, int64_t count);

/* Columns j to j + width of `count` rows of B from row k on. */
RM_FN void pack(double *to, const rm_linalg_product *p, int64_t k, int64_t count, int64_t j, const int width) {
  const int64_t columns = p->n - j < width ? p->n - j : width;
  for (int64_t r = 0; r < count; r++) {
    const double *from = p->b + (k + r) * p->ld_b + j;
    for (int64_t c = 0; c < columns; c++) to[r * width + c] = from[c];
    for (int64_t c = columns; c < width; c++) to[r * width + c] = 0.0;
  }
}

/* Rows of A from row i on; beyond the last, that one again, whose sums are not stored. */
RM_FN void rows_of(const double **row, const rm_linalg_product *p, int64_t i, int64_t k, const int rows) {
  for (int r = 0; r < rows; r++) row[r] = p->a + (i + r < p->m ? i + r : p->m - 1) * p->ld_a + k;
}

/* A tile's row of C that is not a whole number of vectors goes through a buffer. */
RM_FN void load_part(double *to, const double *from, int64_t columns, const int width) {
  for (int c = 0; c < width; c++) to[c] = c < columns ? from[c] : 0.0;
}
RM_FN void store_part(double *to, const double *from, int64_t columns) {
  for (int64_t c = 0; c < columns; c++) to[c] = from[c];
}

RM_FN void plain_tile(const rm_linalg_product *p, const double *b, int64_t i, int64_t j, int64_t k, int64_t count) {
  vf64 s[ROWS][VECTORS];
  const double *row[ROWS];
  double buffer[WIDTH];
  rows_of(row, p, i, k, ROWS);
  RM_UNROLL for (int r = 0; r < ROWS; r++) RM_UNROLL for (int v = 0; v < VECTORS; v++) s[r][v] = vf64_set1(0.0);
  for (int64_t t = 0; t < count; t++) {
    vf64 y[VECTORS];
    RM_UNROLL for (int v = 0; v < VECTORS; v++) y[v] = vf64_load(b + t * WIDTH + v * RM_LANES);
    RM_UNROLL for (int r = 0; r < ROWS; r++) {
      const vf64 x = vf64_set1(row[r][t]);
      RM_UNROLL for (int v = 0; v < VECTORS; v++) s[r][v] = vf64_mad(x, y[v], s[r][v]);
    }
  }
  const int64_t columns = p->n - j < WIDTH ? p->n - j : WIDTH, rows = p->m - i < ROWS ? p->m - i : ROWS;
  RM_UNROLL for (int r = 0; r < ROWS; r++) {
    if (r >= rows) continue;
    double *c = p->c + (i + r) * p->ld_c + j, *at = columns == WIDTH ? c : buffer;
    if (at != c) load_part(buffer, c, columns, WIDTH);
    RM_UNROLL for (int v = 0; v < VECTORS; v++) {
      const vf64 old = vf64_load(at + v * RM_LANES);
      vf64_store(at + v * RM_LANES, p->subtract ? vf64_sub(old, s[r][v]) : vf64_add(old, s[r][v]));
    }
    if (at != c) store_part(c, buffer, columns);
  }
}

/* Sums and their errors by two-sums; the errors of products join those. */
RM_FN void pair_tile(const rm_linalg_product *p, const double *b, int64_t i, int64_t j, int64_t k, int64_t count) {
  vf64 s[PAIR_ROWS][PAIR_VECTORS], e[PAIR_ROWS][PAIR_VECTORS];
  const double *row[PAIR_ROWS];
  double buffer[PAIR_WIDTH], buffer_low[PAIR_WIDTH];
  rows_of(row, p, i, k, PAIR_ROWS);
  RM_UNROLL for (int r = 0; r < PAIR_ROWS; r++) RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) s[r][v] = e[r][v] =
      vf64_set1(0.0);
  for (int64_t t = 0; t < count; t++) {
    vf64 y[PAIR_VECTORS];
    RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) y[v] = vf64_load(b + t * PAIR_WIDTH + v * RM_LANES);
    RM_UNROLL for (int r = 0; r < PAIR_ROWS; r++) {
      const vf64 x = vf64_set1(row[r][t]);
      RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) {
        const vf64 product = vf64_mul(x, y[v]), rest = vf64_mul_err(x, y[v], product);
        const rm_vpair sum = rm_vpair_two_sum(s[r][v], product);
        s[r][v] = sum.hi;
        e[r][v] = vf64_add(e[r][v], vf64_add(sum.lo, rest));
      }
    }
  }
  const int64_t columns = p->n - j < PAIR_WIDTH ? p->n - j : PAIR_WIDTH, rows = p->m - i < PAIR_ROWS ? p->m - i : PAIR_ROWS;
  RM_UNROLL for (int r = 0; r < PAIR_ROWS; r++) {
    if (r >= rows) continue;
    double *c = p->c + (i + r) * p->ld_c + j, *low = p->low + (i + r) * p->ld_c + j;
    double *at = columns == PAIR_WIDTH ? c : buffer, *at_low = columns == PAIR_WIDTH ? low : buffer_low;
    if (at != c) load_part(buffer, c, columns, PAIR_WIDTH), load_part(buffer_low, low, columns, PAIR_WIDTH);
    RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) {
      const int o = v * RM_LANES;
      const vf64 hi = p->subtract ? vf64_neg(s[r][v]) : s[r][v], lo = p->subtract ? vf64_neg(e[r][v]) : e[r][v];
      const rm_vpair sum = rm_vpair_two_sum(vf64_load(at + o), hi);
      vf64_store(at + o, sum.hi);
      vf64_store(at_low + o, vf64_add(vf64_load(at_low + o), vf64_add(sum.lo, lo)));
    }
    if (at != c) store_part(c, buffer, columns), store_part(low, buffer_low, columns);
  }
}

/* As a pair's, but the second parts are summed by two-sums too. */
RM_FN void triple_tile(const rm_linalg_product *p, const double *b, int64_t i, int64_t j, int64_t k, int64_t count) {
  vf64 s[TRIPLE_ROWS][PAIR_VECTORS], e[TRIPLE_ROWS][PAIR_VECTORS], f[TRIPLE_ROWS][PAIR_VECTORS];
  const double *row[TRIPLE_ROWS];
  rows_of(row, p, i, k, TRIPLE_ROWS);
  RM_UNROLL for (int r = 0; r < TRIPLE_ROWS; r++) RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) s[r][v] = e[r][v] =
      f[r][v] = vf64_set1(0.0);
  for (int64_t t = 0; t < count; t++) {
    vf64 y[PAIR_VECTORS];
    RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) y[v] = vf64_load(b + t * PAIR_WIDTH + v * RM_LANES);
    RM_UNROLL for (int r = 0; r < TRIPLE_ROWS; r++) {
      const vf64 x = vf64_set1(row[r][t]);
      RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) {
        const vf64 product = vf64_mul(x, y[v]), rest = vf64_mul_err(x, y[v], product);
        const rm_vpair sum = rm_vpair_two_sum(s[r][v], product);
        const rm_vpair one = rm_vpair_two_sum(e[r][v], sum.lo), two = rm_vpair_two_sum(one.hi, rest);
        s[r][v] = sum.hi, e[r][v] = two.hi;
        f[r][v] = vf64_add(f[r][v], vf64_add(one.lo, two.lo));
      }
    }
  }
  const int64_t columns = p->n - j < PAIR_WIDTH ? p->n - j : PAIR_WIDTH,
                rows = p->m - i < TRIPLE_ROWS ? p->m - i : TRIPLE_ROWS;
  RM_UNROLL for (int r = 0; r < TRIPLE_ROWS; r++) {
    if (r >= rows) continue;
    const int64_t place = (i + r) * p->ld_c + j;
    double part[3][PAIR_WIDTH], *to[3] = {p->c + place, p->low + place, p->lowest + place};
    for (int q = 0; q < 3; q++) load_part(part[q], to[q], columns, PAIR_WIDTH);
    RM_UNROLL for (int v = 0; v < PAIR_VECTORS; v++) {
      const int o = v * RM_LANES;
      const vf64 hi = p->subtract ? vf64_neg(s[r][v]) : s[r][v], lo = p->subtract ? vf64_neg(e[r][v]) : e[r][v];
      const vf64 last = p->subtract ? vf64_neg(f[r][v]) : f[r][v];
      const rm_vpair sum = rm_vpair_two_sum(vf64_load(part[0] + o), hi);
      const rm_vpair one = rm_vpair_two_sum(vf64_load(part[1] + o), lo), two = rm_vpair_two_sum(one.hi, sum.lo);
      vf64_store(part[0] + o, sum.hi);
      vf64_store(part[1] + o, two.hi);
      vf64_store(part[2] + o, vf64_add(vf64_load(part[2] + o), vf64_add(last, vf64_add(one.lo, two.lo))));
    }
    for (int q = 0; q < 3; q++) store_part(to[q], part[q], columns);
  }
}

/* All tiles of C, chain by chain; b has room for a chain of `width` columns. */
RM_FN void by_tiles(const rm_linalg_product *p, tile_function tile, double *b, int64_t chain, const int width,
                    const int rows) {
  for (int64_t k = 0; k < p->k; k += chain) {
    const int64_t count = p->k - k < chain ? p->k - k : chain;
    for (int64_t j = 0; j < p->n; j += width) {
      pack(b, p, k, count, j, width);
      for (int64_t i = 0; i < p->m; i += rows) tile(p, b, i, j, k, count);
    }
  }
}
static void plain(const rm_linalg_product *p) {
  double b[RM_LINALG_CHAIN * WIDTH];
  by_tiles(p, plain_tile, b, RM_LINALG_CHAIN, WIDTH, ROWS);
}
static void pair(const rm_linalg_product *p) {
  double b[RM_LINALG_PAIR_CHAIN * PAIR_WIDTH];
  by_tiles(p, pair_tile, b, RM_LINALG_PAIR_CHAIN, PAIR_WIDTH, PAIR_ROWS);
}
static void triple(const rm_linalg_product *p) {
  double b[RM_LINALG_PAIR_CHAIN * PAIR_WIDTH];
  by_tiles(p, triple_tile, b, RM_LINALG_PAIR_CHAIN, PAIR_WIDTH, TRIPLE_ROWS);
}

static void subtract_row(double *to, const double *from, double factor, int64_t n) {
  const vf64 by = vf64_set1(-factor);
  int64_t i = 0;
  for (; i + RM_LANES <= n; i += RM_LANES) vf64_store(to + i, vf64_mad(by, vf64_load(from + i), vf64_load(to + i)));
  if (i == n) return;
  double part[2][RM_LANES];
  load_part(part[0], to + i, n - i, RM_LANES), load_part(part[1], from + i, n - i, RM_LANES);
  vf64_store(part[0], vf64_mad(by, vf64_load(part[1]), vf64_load(part[0])));
  store_part(to + i, part[0], n - i);
}

extern const struct rm_linalg_kernels RM_ISA_SYMBOL(rm_linalg_table);
const struct rm_linalg_kernels RM_ISA_SYMBOL(rm_linalg_table) = {plain, pair, triple, subtract_row};
