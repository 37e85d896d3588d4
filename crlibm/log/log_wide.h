/* log in wide fixed point (fp/wide.h): a value with a stated error, and the correctly rounded result from it. */
#ifndef RM_LOG_WIDE_H
#define RM_LOG_WIDE_H

#include "../fp/wide.h"
#include "../fp/wide_tables.h"
#include "log_wide_tables.h"

/* The error of rm_log_wide in units (derived there). */
RM_FN uint64_t rm_log_wide_err(int n) { return 4 * (uint64_t)(n + 1) * (uint64_t)(n + 5) + 8; }

/* v = |log x| for finite x > 0, within rm_log_wide_err(n) units; returns 1 when log x < 0.
 *
 * x = 2^E m with m in [0.707, 1.415), a/32 the nearest 32nd to m, s = (m - a/32)/(m + a/32): log x = E ln2 + log(a/32) + 2
 * atanh(s), |s| < 2^-6 / 1.40 < 2^-6.4. Where E = 0 and a = 32, that is around x = 1, the first two terms are exactly 0:
 * then only s is small, and its error stays that of one division.
 *
 * Errors in units. s is a quotient of two integers, a unit short at most; s^2 is n+2 off at most (2 |s| < 0.03 from s). The
 * powers p_k = p_(k-1) s^2 lose n+1 each and take over 2^-12.8 of what s^2 and p_(k-1) have: n+2 at most; a term p_k/(2k+1)
 * is then (n+2)/3 + 1 off, k >= 1, and a sum of at most 5 n of them (p_k falls by 2^-12.8; the rest of the series is below
 * n+4 once p_k is computed as 0) off by 5 n (n+5)/3 + n + 4 + 1. Doubled, with 1.001 for E ln2 (from n+1 fraction limbs,
 * cut) and 1 for the table: 10 n (n+5)/3 + 2 n + 13 <= 4 (n+1)(n+5) + 8. */
RM_FN int rm_log_wide(uint64_t *v, double x, int n) {
  uint64_t s[RM_WIDE_LIMBS], s2[RM_WIDE_LIMBS], p[RM_WIDE_LIMBS], plus[RM_WIDE_LIMBS], minus[RM_WIDE_LIMBS];
  uint64_t t[RM_WIDE_LIMBS + 2];
  int e;
  uint64_t m = rm_split_double(x, &e); /* x = m 2^e */
  e += 53; /* m 2^-53 in [1/2, 1) */
  if (m < UINT64_C(0x16a09e667f3bcd)) { /* 2^53/sqrt(2) */
    m *= 2;
    e -= 1;
  }
  const uint64_t a = (m + (UINT64_C(1) << 47)) >> 48, fraction = a << 48; /* 23 ... 45 */

  /* |s|, digit by digit: the divisor is below 2^55. */
  const int s_negative = m < fraction;
  uint64_t rest = s_negative ? fraction - m : m - fraction;
  s[n] = 0;
  for (int i = n - 1; i >= 0; i--) {
    rm_u128 w = (rm_u128)rest << 64;
    s[i] = (uint64_t)(w / (m + fraction));
    rest = (uint64_t)(w % (m + fraction));
  }

  rm_wide_mul(s2, s, s, n);
  rm_wide_copy(p, s, n);
  for (uint64_t k = 3; rm_wide_length(p, n) > 0; k += 2) {
    rm_wide_mul(p, p, s2, n);
    rm_wide_div_small(t, p, k, n);
    rm_wide_add(s, s, t, n);
  }
  rm_wide_double(s, s, n);

  rm_wide_set(plus, 0, n);
  rm_wide_set(minus, 0, n);
  rm_wide_copy(s_negative ? minus : plus, s, n);
  uint64_t *to = e < 0 ? minus : plus;
  rm_wide_mul_small(t, rm_wide_ln2 + (RM_WIDE_TABLE_LIMBS - 2 - n), (uint64_t)(e < 0 ? -e : e), n + 1);
  rm_wide_add(to, to, t + 1, n);
  to = a < 32 ? minus : plus;
  rm_wide_add(to, to, rm_wide_log_32nds[a - 23] + (RM_WIDE_TABLE_LIMBS - 1 - n), n);
  const int negative = rm_wide_less(plus, minus, n);
  if (negative)
    rm_wide_sub(v, minus, plus, n);
  else
    rm_wide_sub(v, plus, minus, n);
  return negative;
}

/* log(x) correctly rounded, for finite x > 0 other than 1. */
RM_COLD uint64_t rm_log_wide_round(double x, int format, int rule, uint32_t *flags) {
  uint64_t v[RM_WIDE_LIMBS], result = 0;
  for (int n = RM_WIDE_FIRST; n <= RM_WIDE_MAX; n *= 2) {
    int negative = rm_log_wide(v, x, n);
    if (rm_wide_round(negative, v, 0, rm_log_wide_err(n), n, format, rule, flags, &result)) break;
  }
  return result;
}

#endif
