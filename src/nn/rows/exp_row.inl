/* Rows of exponentials (exp_row.h). It is also device code. */
#include "exp_row.h"

/* The maximum of all elements but x[at], or -infinity. */
RM_STATIC double rm_exp_row_second(int64_t n, const double *x, int64_t at) {
  double second = -rm_dd_ball_infinity();
#if RM_DEVICE /* the threads of a block share the elements before x[at] and those after it */
  const int64_t from[] = {0, at + 1}, count[] = {at, n - 1 - at};
  for (int part = 0; part < 2; part++) {
    const double max = count[part] > 0 ? rm_rows_max(count[part], x + from[part]) : second;
    if (max > second) second = max;
  }
#else
  double *const row = (double *)(uintptr_t)x; /* a buffer */
  const double kept = row[at];
  row[at] = second;
  second = rm_nn_kernels()->max(n, row);
  row[at] = kept;
#endif
  return second;
}

RM_HOST_EXTERN void rm_exp_row_begin(rm_exp_row *r, int64_t n, const double *x, double m) {
  r->n = n;
  r->x = x;
  r->m = m;
  r->at = RM_ROW_FIRST(n, x, m);
  r->limbs_dd_ball = r->limbs_ball = -1;
  r->second = rm_exp_row_second(n, x, r->at);
  r->only_tail = r->second - m >= RM_EXP_TAIL ? 0 : rm_is_finite(r->second) ? 1 : -1;
}

/* The exponent of the lowest bit of x, which is finite and not 0. */
RM_FN int rm_lowest_bit(double x) {
  int e;
  const uint64_t m = rm_decompose(x, &e);
  return e + rm_ctz64(m);
}

/* L = log(1 + sum) is more than 0 and less than n e^(second - m). d = x_i - m and all boundaries of rounding near d, of any
 * format, are multiples of 2^g: those of binary64 are multiples of 2^-54 of d's power of two, and of half of that below it; a
 * difference whose rounding is d has a power of two at least half of d's. So there is none between d and d - 2^g, and all L
 * in that interval round alike: as 2^(g - 2) does. Thresholds of stochastic rounding below binary64, multiples of 2^-57 of
 * d's power of two at the least (common/rounding_vector.h), are multiples of 2^g too: that is at most 2^-60 of it. */
RM_HOST_EXTERN int rm_log_sum_is_negligible(double x, double m, double second, int64_t n, int *k) {
  const double d = x - m, gap = second - m;
  int g, e;
  if (d == 0.0 || !rm_is_finite(d)) return 0;
  rm_decompose(d, &g); /* d is at least 2^(g + 52) */
  g -= 8;
  e = rm_lowest_bit(m == 0.0 ? d : m);
  if (e < g) g = e;
  e = rm_lowest_bit(x == 0.0 ? d : x);
  if (e < g) g = e;
  *k = g - 2;
  /* log2 of the bound, upwards: 1.44 is less than 1/log 2, and gap is off by 2^-53 of itself. */
  return 1.44 * gap + (double)(64 - rm_clz64((uint64_t)n)) < (double)*k;
}
RM_HOST_EXTERN int rm_exp_row_is_negligible(const rm_exp_row *r, int64_t i, int *k) {
  return !r->only_tail && rm_log_sum_is_negligible(r->x[i], r->m, r->second, r->n, k);
}
