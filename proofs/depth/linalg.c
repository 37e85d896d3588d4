/* How many roundings a term passes in the products of src/linalg/kernels.h, in triangular solutions of them (approximate.c),
 * and in the columns between them (panels.c), as they are called: the source of the library over depths. linalg LONGEST
 * [ALLOWANCES LESS BY] */
#include "vocabulary.h"

#include "../../crlibm/simd/machine.h"
#include "../../src/reduce/vector_pair.h"

/* What a two-sum loses is a number that has not been rounded; products lose another one. */
static rm_vpair depth_two_sum(vf64 a, vf64 b) { return (rm_vpair){vf64_add(a, b), vf64_set1(1.0)}; }
static vf64 depth_mul_err(vf64 a, vf64 b, vf64 p) { return (void)a, (void)b, (void)p, vf64_set1(1.0); }
#define rm_vpair_two_sum depth_two_sum
#define vf64_mul_err depth_mul_err
#include "../../src/linalg/kernels.c"

#define rm_linalg_kernels() (&RM_ISA_SYMBOL(rm_linalg_table))
#include "../../src/linalg/approximate.c"
#include "../../src/linalg/columns.c"

enum { MOST_ROWS = 9, MOST_COLS = 19 };

static double deepest(const double *c, int64_t m, int64_t n, int64_t ld) {
  double most = 0.0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      if (c[i * ld + j] > most) most = c[i * ld + j];
  return most;
}

/* Of a check whose allowance has room everywhere, a control takes more. */
static void counted_with_room(record *r, double count, double allowed, const char *where) {
  counted(r, count, allowed - allowed * depth_less, where);
}

/* h: the additions that the bounds of kernels.h count for each term. */
static double additions(int64_t k, int64_t calls) {
  const int64_t chain = k < RM_LINALG_PAIR_CHAIN ? k : RM_LINALG_PAIR_CHAIN;
  return (double)(chain + calls * (k / RM_LINALG_PAIR_CHAIN + 2));
}

static void products(int64_t m, int64_t n, int64_t k, const double *ones) {
  static double c[MOST_ROWS * MOST_COLS], low[MOST_ROWS * MOST_COLS], lowest[MOST_ROWS * MOST_COLS];
  char where[64];
  for (int subtract = 0; subtract < 2; subtract++)
    for (int64_t calls = 1; calls <= 4; calls++) {
      rm_linalg_product p = {m, n, k, ones, 0, ones, 0, subtract, c, low, MOST_COLS, lowest};
      const double h = additions(k, calls);
      snprintf(where, sizeof where, "%lld x %lld x %lld, calls %lld", (long long)m, (long long)k, (long long)n,
               (long long)calls);
      if (calls == 1) { /* the term's own rounding is one more */
        for (int i = 0; i < MOST_ROWS * MOST_COLS; i++) c[i] = 1.0;
        plain(&p);
        const int64_t chain = k < RM_LINALG_CHAIN ? k : RM_LINALG_CHAIN;
        counted(record_of("plain"), deepest(c, m, n, MOST_COLS), (double)(chain + k / RM_LINALG_CHAIN + 4), where);
      }
      for (int three = 0; three < 2; three++) {
        for (int i = 0; i < MOST_ROWS * MOST_COLS; i++) c[i] = 1.0, low[i] = lowest[i] = 0.0;
        for (int64_t call = 0; call < calls; call++) three ? triple(&p) : pair(&p);
        counted(record_of(three ? "triple" : "pair"), deepest(c, m, n, MOST_COLS) - 1.0, h, where);
        /* one more joins the parts at the end */
        counted_with_room(record_of(three ? "triple, second parts" : "pair, second parts"), deepest(low, m, n, MOST_COLS),
                          2.0 * (h + 1.0), where);
        if (three)
          counted_with_room(record_of("triple, third parts"), deepest(lowest, m, n, MOST_COLS), 3.0 * (h + 1.0), where);
      }
    }
}

/* An entry of a factorization: products of PANEL terms, and a column's terms one by one. */
enum { PANEL = 16 };

static void entries(int64_t calls, int64_t alone, const double *ones) {
  static double c[MOST_COLS + RM_LINALG_PADDING], low[MOST_COLS + RM_LINALG_PADDING];
  char where[64];
  snprintf(where, sizeof where, "%lld products and %lld columns", (long long)calls, (long long)alone);
  for (int pairs = 0; pairs < 2; pairs++) {
    const rm_linalg_product p = {1, MOST_COLS, PANEL, ones, 0, ones, 0, 1, c, low, MOST_COLS, NULL};
    const rm_linalg_column column = {MOST_COLS, c, pairs ? low : NULL, NULL, 0.0};
    for (int i = 0; i < MOST_COLS; i++) c[i] = 1.0, low[i] = 0.0;
    for (int64_t call = 0; call < calls; call++) pairs ? pair(&p) : plain(&p);
    for (int64_t i = 0; i < alone; i++) subtract(&column, 1.0, ones);
    const double h = pairs ? additions(PANEL, calls + alone) : (double)(PANEL + calls + alone + 4);
    counted_with_room(record_of(pairs ? "entries, pairs" : "entries"), deepest(c, 1, MOST_COLS, MOST_COLS), h, where);
    if (pairs)
      counted_with_room(record_of("entries, second parts"), deepest(low, 1, MOST_COLS, MOST_COLS), 2.0 * (h + 1.0), where);
  }
}

/* Term t_ij x_j of row i in a solution, deeper than all others, and in one of several columns; its own rounding and the
 * quotient are two more. */
static void solutions(int64_t n, int64_t i, int64_t j, double *t, double *x) {
  enum { COLUMNS = 3 };
  char where[64];
  snprintf(where, sizeof where, "n = %lld, %lld, %lld", (long long)n, (long long)i, (long long)j);
  for (int64_t place = 0; place < n * n; place++) t[place] = 1.0;
  for (int64_t place = 0; place < n * COLUMNS; place++) x[place] = 1.0;
  t[i * n + j] = MARK + 1.0;
  if (j < i) rm_approximate_lower(n, COLUMNS, t, n, 1, x, COLUMNS);
  else rm_approximate_upper(n, COLUMNS, t, n, x, COLUMNS);
  const int64_t chain = n < RM_LINALG_CHAIN ? n : RM_LINALG_CHAIN;
  counted_with_room(record_of("solutions"), deepest(x + i * COLUMNS, 1, COLUMNS, COLUMNS) - MARK + 2.0,
                    (double)(chain + n / RM_LINALG_CHAIN + 4) + 40.0, where);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (argc > 2) depth_less = atof(argv[2]);
  const int64_t longest = atoll(argv[1]) < 20000 ? atoll(argv[1]) : 20000;
  double *const ones = malloc((size_t)(longest + MOST_COLS) * sizeof *ones);
  if (!ones) return 3;
  for (int64_t i = 0; i < longest + MOST_COLS; i++) ones[i] = 1.0;
  for (int64_t k = 1; k <= longest; k += k < 70 ? 1 : k / 4 + 7) {
    products(1, 1, k, ones);
    if (k < 600 && k % 7 < 1) products(MOST_ROWS, MOST_COLS, k, ones);
  }
  for (int64_t calls = 0; calls < 70; calls += 1 + calls / 3)
    for (int64_t alone = 0; alone < PANEL; alone++) entries(calls, alone, ones);
  const int64_t most = longest < 700 ? longest : 700;
  double *const t = malloc((size_t)(most * (most + 3)) * sizeof *t);
  if (!t) return 3;
  for (int64_t n = 2; n <= most; n += n < 40 ? 1 : n / 2 + 5) {
    const int64_t step = n < 20 ? 1 : n / 6;
    for (int64_t i = 0; i < n; i += step)
      for (int64_t j = 0; j < n; j += step)
        if (i != j) solutions(n, i, j, t, t + n * n);
  }
  free(ones), free(t);
  static const char *const all[] = {
      "plain",     "pair",    "triple",         "pair, second parts",   "triple, second parts", "triple, third parts",
      "solutions", "entries", "entries, pairs", "entries, second parts"};
  int bad = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) bad |= told(record_of(all[i]));
  return bad;
}
