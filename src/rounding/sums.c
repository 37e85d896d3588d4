/* Exact sums and matrix products under the random rounding modes.
 *
 * A sum is taken in double-double first: products are exact as a pair, two-sums keep what each addition rounds, and the
 * low parts are added in binary64. With A the sum of the magnitudes of the k terms, as computed, and k <= 2^24, every
 * high part is at most A (1 + 2^-27), and so:
 *   the two-sums leave k 2^-53 A (1 + 2^-27) together, and the products 2^-53 A (1 + 2^-27) more: no low sum is larger;
 *   each of k additions to the low sum is off by 2^-53 of that at most, and the k additions of a product's part to that of a
 *   two-sum by (k + 1) 2^-106 A (1 + 2^-27) together: (k + 1)^2 2^-106 A (1 + 2^-26) in all.
 * That and the underflow of low parts, 2k 2^-1074, are together below (k + 2)^2 2^-104 A where A >= 2^-900.
 * Ziv's rounding test decides with that bound; the superaccumulator computes what it leaves
 * undecided, and all that is infinite, NaN or beyond these limits. */
#include <string.h>

#include "../common/elements.h"
#include "../reduce/exact.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "../common/rounding_words.h"

enum { COLUMNS = 8, GRAIN_TERMS = 1 << 14 };
static const double MAX_TERMS = 0x1p24;

static double element(const char *p, int format) { return rm_to_double(rm_read_bits(p, format), format); }

/* Sums of COLUMNS columns: high and low parts, and magnitudes. */
typedef struct {
  double high[COLUMNS], low[COLUMNS], size[COLUMNS];
} sums;

/* Adds x b[j] to the columns. exact: products of numbers of 24 bits need no low part. */
static void add_products(sums *s, double x, const double *b, int exact) {
  for (int j = 0; j < COLUMNS; j++) {
    double e;
    const double p = x * b[j], h = rm_two_sum(s->high[j], p, &e);
    if (!exact) e += rm_two_prod_error(x, b[j], p);
    s->high[j] = h;
    s->low[j] += e;
    s->size[j] += p < 0.0 ? -p : p;
  }
}

/* The sum of a column rounded, 1 if that is decided. exact: no product has underflowed. */
static int decide(const sums *s, int j, int64_t terms, int exact, int format, rm_mode mode, uint64_t *bits, uint32_t *flags) {
  const double size = s->size[j], n = (double)terms + 2.0;
  if (exact && size == 0.0) { /* every term is 0 */
    *bits = 0;
    return s->high[j] == 0.0;
  }
  if (!(size >= 0x1p-900 && size <= 0x1p1000 && n <= MAX_TERMS)) return 0;
  double low;
  const double high = rm_two_sum(s->high[j], s->low[j], &low), err = RM_BOUND(n * n * 0x1p-104) * size;
  const double limit = (high < 0.0 ? -high : high) * 0x1p-9;
  int undecided;
  if (!(err < limit && low < limit && -low < limit)) return 0;
  *bits = rm_round_dd(high, low, err, 0, format, mode, flags, &undecided);
  return !undecided;
}

typedef struct {
  int format, out_format, exact;
  int64_t m, n, k, columns, elements;
  rm_random_operand a, b, bias;
  char *out;
  const rm_random_rounding *r;
} problem;

static uint64_t accumulated(const problem *p, int64_t i, int64_t j, rm_mode mode, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  const char *row = (const char *)p->a.base + i * p->a.row;
  if (p->b.base)
    rm_superacc_add_products(&acc, p->format, p->k, row, p->a.column, (const char *)p->b.base + j * p->b.column, p->b.row);
  else rm_superacc_add_array(&acc, p->format, p->k, row, p->a.column);
  if (p->bias.base)
    rm_superacc_add_array(&acc, p->format, 1, (const char *)p->bias.base + i * p->bias.row + j * p->bias.column, 0);
  return rm_superacc_round(&acc, p->out_format, mode, flags);
}

static void put(const problem *p, const sums *s, int64_t i, int64_t j, int at, rm_rounding_words *words, uint32_t *flags) {
  const int64_t place = i * p->n + j;
  const uint32_t word = rm_rounding_word(words, p->r->first + place);
  const rm_mode mode = rm_rounding_mode(p->r->mode, word);
  uint64_t bits;
  if (!decide(s, at, p->k + 1, p->exact, p->out_format, mode, &bits, flags)) bits = accumulated(p, i, j, mode, flags);
  if (p->r->mode == RM_ROUND_UP_DOWN) bits = rm_round_up_down(bits, p->out_format, word);
  rm_write_bits(p->out + place * rm_size_of(p->out_format), bits, p->out_format);
}

/* Rows [begin, end) of a product. Columns are taken eight at a time, and k indices as many as fit into the panel. */
static uint32_t product_part(const void *context, int64_t begin, int64_t end) {
  enum { PANEL = 256, ROWS = 16 };
  const problem *p = context;
  double panel[PANEL * COLUMNS];
  sums s[ROWS];
  uint32_t flags = 0;
  rm_rounding_words words = rm_rounding_words_of(p->r);
  for (int64_t j = 0; j < p->n; j += COLUMNS)
    for (int64_t i = begin; i < end; i += ROWS) {
      const int64_t rows = end - i < ROWS ? end - i : ROWS, columns = p->n - j < COLUMNS ? p->n - j : COLUMNS;
      memset(s, 0, sizeof s);
      for (int64_t q = 0; q < p->k; q += PANEL) {
        const int64_t count = p->k - q < PANEL ? p->k - q : PANEL;
        for (int64_t t = 0; t < count; t++)
          for (int64_t c = 0; c < COLUMNS; c++)
            panel[t * COLUMNS + c] =
                c < columns ? element((const char *)p->b.base + (q + t) * p->b.row + (j + c) * p->b.column, p->format) : 0.0;
        for (int64_t r = 0; r < rows; r++) {
          const char *x = (const char *)p->a.base + (i + r) * p->a.row + q * p->a.column;
          for (int64_t t = 0; t < count; t++, x += p->a.column)
            add_products(s + r, element(x, p->format), panel + t * COLUMNS, p->exact);
        }
      }
      for (int64_t r = 0; r < rows; r++) {
        if (p->bias.base) {
          double bias[COLUMNS] = {0.0};
          for (int64_t c = 0; c < columns; c++)
            bias[c] = element((const char *)p->bias.base + (i + r) * p->bias.row + (j + c) * p->bias.column, p->format);
          add_products(s + r, 1.0, bias, 1);
        }
        for (int64_t c = 0; c < columns; c++) put(p, s + r, i + r, j + c, (int)c, &words, &flags);
      }
    }
  return flags;
}

static uint32_t sum_part(const void *context, int64_t begin, int64_t end) {
  const problem *p = context;
  uint32_t flags = 0;
  rm_rounding_words words = rm_rounding_words_of(p->r);
  for (int64_t i = begin; i < end; i++) {
    const char *x = (const char *)p->a.base + i * p->a.row;
    sums s = {{0.0}, {0.0}, {0.0}};
    int64_t q = 0;
    for (; q + COLUMNS <= p->k; q += COLUMNS) { /* eight chains, joined below */
      double v[COLUMNS];
      for (int c = 0; c < COLUMNS; c++) v[c] = element(x + (q + c) * p->a.column, p->format);
      add_products(&s, 1.0, v, 1);
    }
    for (; q < p->k; q++) {
      double v[COLUMNS] = {element(x + q * p->a.column, p->format)};
      add_products(&s, 1.0, v, 1);
    }
    for (int c = 1; c < COLUMNS; c++) { /* the joins are additions like the others: fewer than one for each term */
      double e;
      s.high[0] = rm_two_sum(s.high[0], s.high[c], &e);
      s.low[0] += s.low[c] + e;
      s.size[0] += s.size[c];
    }
    put(p, &s, i, 0, 0, &words, &flags);
  }
  return flags;
}

static rm_status run(const problem *p, int64_t terms, rm_part_fn *part) {
  const int64_t grain = terms > GRAIN_TERMS ? 1 : GRAIN_TERMS / (terms + 1) + 1;
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(p->m, grain, part, p));
  return RM_OK;
}

static int is_format(int format) { return format >= RM_FORMAT_F16 && format <= RM_FORMAT_F64; }

rm_status rm_random_sums(int format, int out_format, int64_t rows, int64_t n, const void *x, ptrdiff_t stride_row,
                         ptrdiff_t stride, void *out, const rm_random_rounding *r) {
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!is_format(out_format)) return RM_STATUS(RM_ERR_ENUM, 2);
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 4);
  const rm_status status = rm_rounding_check(r, rows, 9);
  if (status || rows == 0) return status;
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 5);
  if (!out) return RM_STATUS(RM_ERR_NULL, 8);
  const problem p = {format, out_format, 1, rows, 1, n, 0, 0, {x, stride_row, stride}, {NULL, 0, 0}, {NULL, 0, 0}, out, r};
  return run(&p, n, sum_part);
}

rm_status rm_random_matmul(int format, int out_format, int64_t m, int64_t n, int64_t k, const rm_random_operand *a,
                           const rm_random_operand *b, const rm_random_operand *bias, void *c, const rm_random_rounding *r) {
  const int64_t most = INT64_C(1) << 31; /* of each size: m n < 2^62 */
  if (!is_format(format)) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!is_format(out_format)) return RM_STATUS(RM_ERR_ENUM, 2);
  if (m < 0 || m >= most) return RM_STATUS(RM_ERR_SIZE, 3);
  if (n < 0 || n >= most) return RM_STATUS(RM_ERR_SIZE, 4);
  if (k < 0) return RM_STATUS(RM_ERR_SIZE, 5);
  const rm_status status = rm_rounding_check(r, m * n, 10);
  if (status || m == 0 || n == 0) return status;
  if (!a || (k > 0 && !a->base)) return RM_STATUS(RM_ERR_NULL, 6);
  if (!b || (k > 0 && !b->base)) return RM_STATUS(RM_ERR_NULL, 7);
  if (!c) return RM_STATUS(RM_ERR_NULL, 9);
  problem p = {format, out_format, format != RM_FORMAT_F64, m, n, k, 0, 0, *a, *b, {NULL, 0, 0}, c, r};
  if (bias) p.bias = *bias;
  return run(&p, k * n, product_part);
}
