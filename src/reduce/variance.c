/* var and std: RN(N/(n - ddof)) and RN(root of it), where N = sum of (x - mu)^2 with the exact mean mu.
 *
 * For any c, N = Q - D^2/n with Q = sum of (x - c)^2 and D = sum of (x - c) = S - n c. Approximately: c is the mean up to a few
 * roundings, Q is summed with its bound (sum.c), and D follows from S, which is known with a bound, and is tiny beside the
 * standard deviation, so that little of D^2/n matters. Exactly: n N = n (sum of x^2) - S^2 in integers, which always decides. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "elements.h"
#include "statistics.h"
#include "stats.h"

/* N within *err of *hi + *lo; 0 when a term or a sum is out of range.
 *
 * n c is taken as n c1 + n c2, c1 with the leading 26 bits of c: the first product is exact for n below 2^27. Every rounding
 * is counted as 2^-52 of what it made, and underflows as 2^-1070 each. */
static int approximate(const rm_sum_problem *x, int tier, double *hi, double *lo, double *err) {
  double s, s_low, s_err, q, q_low, q_err;
  if (x->n > INT64_C(1) << 53 || !rm_sum_approximately(x, tier, &s, &s_low, &s_err)) return 0;
  const double n = (double)x->n, c = s / n;
  rm_sum_problem deviations = *x;
  deviations.shift = &c;
  if (!rm_sum_approximately(&deviations, tier, &q, &q_low, &q_err)) return 0;

  const double c1 = rm_from_bits64(rm_bits64(c) & ~UINT64_C(0x7ffffff)), c2 = c - c1;
  const double p1 = n * c1, p2 = n * c2, t1 = s - p1, t2 = t1 - p2, d = t2 + s_low;
  double made = __builtin_fabs(t1) + __builtin_fabs(p2) + __builtin_fabs(t2) + __builtin_fabs(d);
  if (n >= 0x1p27) made += __builtin_fabs(p1);
  const double d_err = s_err + RM_BOUND(0x1p-51 * made) + 0x1p-1068;
  const double g = d * d / n, g_err = (2.0 * __builtin_fabs(d) + d_err) * d_err / n;

  /* q - g by a two-sum; q_low and its error are below 2^-52 (q + g), so their sum is rounded by less than 2^-103 of that. */
  const double r = q - g, back = q - r, r_low = ((back - g) + (q - (r + back))) + q_low;
  *hi = r + r_low;
  const double t = *hi - r;
  *lo = (r - (*hi - t)) + (r_low - t);
  *err = 1.01 * (q_err + RM_BOUND(0x1p-50 * g + 0x1p-102 * (q + g)) + g_err) + 0x1p-1068;
  return *hi - *hi == 0.0 && *err - *err == 0.0;
}

/* Digits of 32 bits: those of a square of a sum in units of 2^(-RM_ACC_ONE), and below them room for the fraction of a
 * quotient by n < 2^63, so that its leading 127 bits are whole. */
enum {
  LOW = 8,
  HALF = RM_ACC_FRACTION / 2, /* sums of x are multiples of 2^-1074: their digits below this one are 0 */
  SUM_DIGITS = RM_ACC_DIGITS - HALF,
  DIGITS = LOW + 2 * SUM_DIGITS
};
_Static_assert(RM_ACC_FRACTION % 2 == 0 && 32 * HALF >= -RM_ACC_EMIN, "squares of sums have the unit of sums of squares");
_Static_assert(2 * SUM_DIGITS >= RM_ACC_DIGITS + 2, "n times a sum of squares fits");

/* N, exactly. `classes` of the terms, when they are not all finite, take its place. */
static rm_superacc_top exact(const rm_sum_problem *x, uint32_t *classes) {
  rm_superaccumulator acc, squares, sum;
  rm_sum_exactly(x, &acc);
  *classes = acc.classes;
  if (acc.classes) return (rm_superacc_top){0, 0, 0, 0};
  rm_superacc_magnitude(&acc, &sum);
  rm_sum_problem p = *x;
  p.y = p.x;
  rm_sum_exactly(&p, &acc);
  rm_superacc_magnitude(&acc, &squares);

  uint64_t square[2 * SUM_DIGITS] = {0};
  const int64_t *s = sum.digit + HALF;
  for (int i = 0; i < SUM_DIGITS; i++) {
    uint64_t carry = 0;
    if (s[i] == 0) continue;
    for (int j = 0; j < SUM_DIGITS; j++) { /* below 2^64: (2^32 - 1)^2 + 2 (2^32 - 1) */
      const uint64_t t = square[i + j] + (uint64_t)s[i] * (uint64_t)s[j] + carry;
      square[i + j] = t & 0xffffffffu;
      carry = t >> 32;
    }
    square[i + SUM_DIGITS] = carry;
  }

  int64_t digit[DIGITS] = {0};
  rm_u128 carry = 0; /* of n (sum of squares) */
  int64_t borrow = 0;
  for (int i = 0; i < 2 * SUM_DIGITS; i++) {
    if (i < RM_ACC_DIGITS) carry += (rm_u128)(uint64_t)squares.digit[i] * (uint64_t)x->n;
    const int64_t t = (int64_t)((uint64_t)carry & 0xffffffffu) - (int64_t)square[i] - borrow;
    carry >>= 32;
    digit[LOW + i] = t & INT64_C(0xffffffff);
    borrow = t < 0;
  }

  rm_u128 rest = 0;
  for (int i = DIGITS - 1; i >= 0; i--) {
    rest = rest << 32 | (uint64_t)digit[i];
    digit[i] = (int64_t)(uint64_t)(rest / (uint64_t)x->n);
    rest %= (uint64_t)x->n;
  }
  rm_superacc_top top = rm_digits_top(digit, DIGITS);
  top.inexact |= rest != 0;
  top.e -= RM_ACC_ONE + 32 * LOW;
  return top;
}

static double value(const rm_sum_problem *p, int64_t i) { return rm_read_element(p->x.base + i * p->x.stride, p->fmt); }

/* Whether all terms are one finite number. The bound never decides such sums. */
static int is_constant(const rm_sum_problem *p) {
  const double first = value(p, 0);
  if (first - first != 0.0) return 0;
  for (int64_t i = 1; i < p->n; i++)
    if (value(p, i) != first) return 0;
  return 1;
}

/* divisor 0: ddof is n or more. */
static uint64_t evaluate(const rm_sum_function *f, const rm_sum_problem *p, int format, uint32_t *flags) {
  const int constant = is_constant(p);
  if (constant && f->divisor) {
    rm_stats_add(1, 0, 0);
    return 0;
  }
  uint64_t bits;
  for (int tier = p->fmt == RM_F64; f->divisor && tier < 2; tier++) {
    double hi, lo, err;
    if (approximate(p, tier, &hi, &lo, &err) && rm_function_decide(f, hi, lo, err, format, &bits, flags)) {
      const int fast = tier == 0 || p->fmt == RM_F64; /* the first tier of its format */
      rm_stats_add(fast, !fast, 0);
      return bits;
    }
  }
  rm_stats_add(0, 0, 1);
  uint32_t classes;
  const rm_superacc_top n = exact(p, &classes);
  /* An infinity is infinitely far from the mean: as if there were both. */
  if (classes & (RM_ACC_PINF | RM_ACC_NINF)) classes |= RM_ACC_PINF | RM_ACC_NINF;
  if (classes) return rm_superacc_round_classes(classes, format, flags);
  if (f->divisor) return rm_function_of_top(f, n, format, flags);
  *flags |= n.m ? RM_FLAG_DIVBYZERO : RM_FLAG_INVALID;
  return n.m ? rm_infinity_bits(format) : rm_nan_bits(format);
}

/* f->divisor 2^(-f->scale) = max(n - ddof, 0); 0 when that has more than 62 bits. */
static int set_divisor(rm_sum_function *f, int64_t n, double ddof) {
  int k = 0;
  for (; k <= 62 && __builtin_fabs(ddof) < 0x1p62 && ddof != (double)(int64_t)ddof; k++) ddof *= 2.0;
  if (k > 62 || !(__builtin_fabs(ddof) < 0x1p62) || n > INT64_C(1) << 62 >> k) return 0;
  const int64_t d = (n << k) - (int64_t)ddof;
  f->divisor = d > 0 ? (uint64_t)d : 0;
  f->scale = k;
  return 1;
}

static rm_status run(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                     double ddof) {
  const rm_status status = rm_statistic_check(format_x, n, x, format_out, out);
  if (status) return status;
  rm_sum_function f = {1, 0, root};
  const rm_sum_problem p = {n, {x, stride_x}, {NULL, 0}, format_x, NULL};
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  if (!set_divisor(&f, n, ddof)) {
    rm_env_leave(env, 0);
    return RM_STATUS(RM_ERR_RANGE, 7);
  }
  uint64_t bits;
  if (n)
    bits = evaluate(&f, &p, format_out, &flags);
  else
    bits = rm_nan_bits(format_out), flags = RM_FLAG_INVALID; /* there is no mean */
  memcpy(out, &bits, (size_t)rm_size_of(format_out)); /* little endian */
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof) {
  return run(0, format_x, n, x, stride_x, format_out, out, ddof);
}
rm_status rm_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof) {
  return run(1, format_x, n, x, stride_x, format_out, out, ddof);
}
