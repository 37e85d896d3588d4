/* Computes the sum of squared deviations from two approximate sums. It is also device code.
 *
 * For any c, N = Q - D^2/n with Q = sum of (x - c)^2 and D = sum of (x - c) = S - n c. Where c is the mean up to a few
 * roundings, and Q and S are known with their bounds, D is tiny beside the standard deviation, so that an error of D^2/n
 * matters little. */
#pragma once

#include "../../crlibm/config.h"
#include "../../crlibm/fp/bits.h"

/* A sum within err of hi + lo, as rm_sum_approximately leaves it. */
typedef struct {
  double hi, lo, err;
} rm_moment;

/* N within *err of *hi + *lo, from S and Q of n <= 2^53 terms; 0 when a sum is out of range.
 *
 * n c is taken as n c1 + n c2, c1 with the leading 26 bits of c: the first product is exact for n below 2^27. Every rounding
 * is counted as 2^-52 of what it made, and underflow as 2^-1070 each time. */
RM_FN int rm_deviations_known(int64_t terms, const rm_moment *s, double c, const rm_moment *q, double *hi, double *lo,
                              double *err) {
  const double n = (double)terms;
  const double c1 = rm_from_bits64(rm_bits64(c) & ~UINT64_C(0x7ffffff)), c2 = c - c1;
  const double p1 = n * c1, p2 = n * c2, t1 = s->hi - p1, t2 = t1 - p2, d = t2 + s->lo;
  double made = __builtin_fabs(t1) + __builtin_fabs(p2) + __builtin_fabs(t2) + __builtin_fabs(d);
  if (n >= 0x1p27) made += __builtin_fabs(p1);
  const double d_err = s->err + RM_BOUND(0x1p-51 * made) + 0x1p-1068;
  const double g = d * d / n, g_err = (2.0 * __builtin_fabs(d) + d_err) * d_err / n;

  /* q - g by a two-sum; its low part and its error are below 2^-52 (q + g), so their sum is rounded by less than 2^-103 of
   * that. */
  double lost;
  const double r = rm_two_sum(q->hi, -g, &lost), r_low = lost + q->lo;
  *hi = rm_two_sum(r, r_low, lo);
  *err = 1.01 * (q->err + RM_BOUND(0x1p-50 * g + 0x1p-102 * (q->hi + g)) + g_err) + 0x1p-1068;
  return *hi - *hi == 0.0 && *err - *err == 0.0;
}
