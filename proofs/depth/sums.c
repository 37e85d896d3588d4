/* How many roundings a term passes in sums, rows and scatter sums (src/reduce/chains.h, sum_parts.h, segment.h,
 * src/nn/rows/step.h): the source of the library over depths. sums LONGEST [ALLOWANCES LESS BY] */
#include "vocabulary.h"

#include "../../crlibm/simd/machine.h"
#include "../../src/reduce/vector_pair.h"

/* A two-sum is exact with its error: what is counted is how often the sums that it joins have been rounded, and how many
 * joins follow one another. `joined` begins anew with each running sum. */
static double deepest, joined;
static rm_vpair depth_two_sum(vf64 a, vf64 b) {
  const vf64 s = vf64_add(a, b);
  for (int q = 0; q < RM_LANES; q++) {
    if (b.v[q] - 1.0 > deepest) deepest = b.v[q] - 1.0;
    if (s.v[q] - 1.0 > joined) joined = s.v[q] - 1.0;
  }
  return (rm_vpair){s, vf64_set1(0.0)};
}
/* For rows: the running sum is joined by two-sums alone, so that only what comes in counts. */
static vf64 depth_join(vf64 a, vf64 b, vf64 *e) {
  (void)a;
  for (int q = 0; q < RM_LANES; q++)
    if (b.v[q] - 1.0 > deepest) deepest = b.v[q] - 1.0;
  *e = vf64_set1(0.0);
  return vf64_set1(1.0);
}
#define rm_vpair_two_sum depth_two_sum
#define vf64_two_sum depth_join

#include "../../src/reduce/chains.h"
#include "../../src/reduce/segment.h"

#include "../../src/nn/rows/kernels.h"
#include "../../crlibm/exp/exp_b64.h"
#define rm_exp_sixteenths(x, c) ((void)(c), x) /* its roundings are its own bound's */
#include "../../src/nn/rows/loops.h"

static float ones[1 << 20];
static double wide[1 << 17], made[1 << 17];

static void sums(int64_t n, ptrdiff_t stride, int fmt) {
  char where[80];
  const char *x = fmt == RM_F64 ? (const char *)wide : (const char *)ones;
  const rm_terms t = {x, stride * rm_size_of(fmt)}, none = {0, 0};
  rm_partial p;
  snprintf(where, sizeof where, "%lld terms, stride %d, format %d", (long long)n, (int)stride, fmt);
  if (fmt != RM_F64)
    for (int two = 0; two < 2; two++) {
      deepest = joined = 0;
      rm_plain(n, t, two ? t : none, fmt, &p);
      counted(record_of(two ? "plain products" : "plain sums"), deepest, RM_CHAIN + 2, where);
    }
  for (int two = 0; two < 2; two++) { /* the lanes are joined one after the other */
    deepest = joined = 0;
    rm_compensated(n, t, two ? t : none, fmt, &p);
    counted(record_of("compensated sums"), joined + RM_LANES, p.depth, where);
  }
  if (fmt != RM_F64) {
    deepest = joined = 0;
    rm_deviations(n, t, 0.5, fmt, 0, &p); /* a difference has been rounded before: one deeper */
    counted(record_of("plain deviations"), deepest - 1.0, RM_CHAIN + 2, where);
  }
}

static void rows(int64_t n) {
  char where[40];
  double sums[3], a, b;
  snprintf(where, sizeof where, "%lld numbers", (long long)n);
  deepest = 0;
  rm_row_exponentials(n, wide, 0.0, made);
  counted(record_of("rows, exponentials"), deepest, RM_ROW_CHAIN + 2, where);
  deepest = 0;
  rm_row_moments(n, wide, 0.0, &a, &b);
  counted(record_of("rows, moments"), deepest, RM_ROW_CHAIN + 2, where);
  deepest = 0;
  rm_row_weighted(n, wide, wide, wide, 0.0, made, sums);
  counted(record_of("rows, weighted"), deepest, RM_ROW_CHAIN + 2, where);
}

static void segments(int64_t n, int64_t cols, int add) {
  char where[60];
  int64_t *terms = malloc((size_t)n * 8);
  if (!terms) exit(3);
  for (int64_t i = 0; i < n; i++) terms[i] = i % 16;
  const rm_segment s = {0, n, terms, terms + n};
  const rm_columns g = {
      (const char *)ones, add ? (const char *)ones : 0, 64, 4, 4, &s, (int)(cols < RM_LANES ? cols : RM_LANES)};
  vf64 c[RM_SEGMENT_VECTORS], r[RM_SEGMENT_VECTORS], err[RM_SEGMENT_VECTORS];
  snprintf(where, sizeof where, "%lld terms, %lld columns, old value %d", (long long)n, (long long)cols, add);
  rm_columns_plain(&g, RM_F32, 1, cols >= RM_LANES, c, r, err);
  /* T terms with the old one: T - 1 additions, of which the bound counts n or more. */
  counted(record_of("scatter sums"), c[0].v[0] - 1.0, (double)(n + add - 1), where);
  counted(record_of("scatter sums' bound"), c[0].v[0] - 1.0, (double)n, where);
  free(terms);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (argc > 2) depth_less = atof(argv[2]);
  const int64_t longest = atoll(argv[1]) < (1 << 17) - 4096 ? atoll(argv[1]) : (1 << 17) - 4096;
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1.0f;
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) wide[i] = 1.0;
  for (int64_t n = 1; n <= longest; n += n < 300 ? 1 : n / 8 + 7)
    for (int stride = 1; stride <= 3; stride++) {
      sums(n, stride, RM_F32);
      if (n * stride <= (1 << 17)) sums(n, stride, RM_F64);
    }
  for (int64_t n = RM_ROW_PAD; n <= longest; n += n < 20 * RM_ROW_PAD ? RM_ROW_PAD : n / 4 / RM_ROW_PAD * RM_ROW_PAD) rows(n);
  for (int64_t n = 1; n <= 3000; n += n < 80 ? 1 : 171)
    for (int add = 0; add < 2; add++) segments(n, 1, add), segments(n, 9, add);
  static const char *const all[] = {"plain sums",       "plain products",     "compensated sums",
                                    "plain deviations", "rows, exponentials", "rows, moments",
                                    "rows, weighted",   "scatter sums",       "scatter sums' bound"};
  int bad = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) bad |= told(record_of(all[i]));
  return bad;
}
