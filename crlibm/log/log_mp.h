/* log in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../fp/mp.h"
#include "../fp/mp_tables.h"
#include "log_mp_tables.h"

/* The error of rm_log_mp in units (derived at rm_log_mp_of). */
RM_FN uint64_t rm_log_mp_err(int n) { return 4 * (uint64_t)(n + 1) * (uint64_t)(n + 5) + 8; }

/* v = |log(A 2^e)| within *err units, A > 0 the wide number a, known within a_err units, |e| <= 2^40; returns 1 when the
 * logarithm is negative. v may be a. Callers keep a_err below 2^54 A; should it be above 2^56 A,
 * nothing is known: v = 0, which rm_mp_round leaves undecided.
 *
 * A 2^e = 2^E m with m in [0.707, 1.415), c/32 the nearest 32nd to m, s = (m - c/32)/(m + c/32): the result is E ln2 +
 * log(c/32) + 2 atanh(s), |s| < 2^-6 / 1.40 < 2^-6.4. Where E = 0 and c = 32, that is around 1, the first two terms are
 * exactly 0: then only s is small, and its error stays that of one division.
 *
 * Errors in units, m taken as exact. s is a quotient, a unit short at most; s^2 is n+2 off at most (2 |s| < 0.03 from s). The
 * powers p_k = p_(k-1) s^2 lose n+1 each and take over 2^-12.8 of what s^2 and p_(k-1) have: n+2 at most; a term p_k/(2k+1)
 * is then (n+2)/3 + 1 off, k >= 1, and a sum of at most 5 n of them (p_k falls by 2^-12.8; the rest of the series is below
 * n+4 once p_k is computed as 0) off by 5 n (n+5)/3 + n + 4 + 1. Doubled, with 1.001 for E ln2 (from n+1 fraction limbs,
 * cut) and 1 for the table: 10 n (n+5)/3 + 2 n + 13 <= 4 (n+1)(n+5) + 8.
 * m is d off, d < 2^56 units: a_err, moved with a, and when a moves down 2 more for what is cut off. The logarithm is
 * d/0.703 < 1.5 d off. For an exact A < 1, d = 0. */
RM_SHARED int rm_log_mp_of(uint64_t *v, const uint64_t *a, int64_t e, uint64_t a_err, int n, uint64_t *err);

/* v = |log x| for finite x > 0, within rm_log_mp_err(n) units; returns 1 when log x < 0. */
RM_FN int rm_log_mp(uint64_t *v, double x, int n) {
  uint64_t a[RM_MP_LIMBS], err;
  int e;
  const uint64_t m = rm_decompose(x, &e);
  rm_mp_from_integer(a, m, -53, n);
  return rm_log_mp_of(v, a, e + 53, 0, n, &err);
}

/* log(x) correctly rounded, for finite x > 0 other than 1. */
RM_COLD uint64_t rm_log_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative = rm_log_mp(v, x, n);
    if (rm_mp_round(negative, v, 0, rm_log_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}

#if RM_DEFINES_SHARED
RM_SHARED int rm_log_mp_of(uint64_t *v, const uint64_t *a, int64_t e, uint64_t a_err, int n, uint64_t *err) {
  uint64_t s[RM_MP_LIMBS], s2[RM_MP_LIMBS], p[RM_MP_LIMBS], plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  uint64_t t[RM_MP_LIMBS + 2], m[RM_MP_LIMBS];
  const int length = rm_mp_length(a, n);
  int up = 0, down = 0; /* to [1/2, 1), below by one more */
  if (length == n + 1) down = 64 - rm_clz64(a[n]);
  else if (length > 0) up = 64 * (n - length) + rm_clz64(a[length - 1]);
  *err = rm_log_mp_err(n);
  if (length == 0 || (a_err != 0 && up + 1 + 64 - rm_clz64(a_err) > 56)) {
    rm_mp_set(v, 0, n);
    return 0;
  }
  if (down > 0) rm_mp_shift_down(m, a, down, n);
  else rm_mp_shift_up(m, a, up, n);
  uint64_t d = down > 0 ? (a_err >> down) + 2 : a_err << up;
  e += down - up;
  if (m[n - 1] < UINT64_C(0xb504f333f9de6484)) { /* 2^64/sqrt(2) */
    rm_mp_double(m, m, n);
    d *= 2;
    e -= 1;
  }
  *err += d + d / 2 + (d & 1);
  const uint64_t c = (((m[n] << 32 | m[n - 1] >> 32) >> 26) + 1) >> 1; /* 23 ... 45 */

  rm_mp_set(t, c >> 5, n);
  t[n - 1] = c << 59;
  const int s_negative = rm_mp_less(m, t, n);
  if (s_negative) rm_mp_sub(p, t, m, n);
  else rm_mp_sub(p, m, t, n);
  rm_mp_add(m, m, t, n);
  rm_mp_div(s, p, m, n);

  rm_mp_mul(s2, s, s, n);
  rm_mp_copy(p, s, n);
  for (uint64_t k = 3; rm_mp_length(p, n) > 0; k += 2) {
    rm_mp_mul(p, p, s2, n);
    rm_mp_div_small(t, p, k, n);
    rm_mp_add(s, s, t, n);
  }
  rm_mp_double(s, s, n);

  rm_mp_set(plus, 0, n);
  rm_mp_set(minus, 0, n);
  rm_mp_copy(s_negative ? minus : plus, s, n);
  uint64_t *to = e < 0 ? minus : plus;
  rm_mp_mul_small(t, rm_mp_ln2 + (RM_MP_TABLE_LIMBS - 2 - n), (uint64_t)(e < 0 ? -e : e), n + 1);
  rm_mp_add(to, to, t + 1, n);
  to = c < 32 ? minus : plus;
  rm_mp_add(to, to, rm_mp_log_32nds[c - 23] + (RM_MP_TABLE_LIMBS - 1 - n), n);
  const int negative = rm_mp_less(plus, minus, n);
  if (negative) rm_mp_sub(v, minus, plus, n);
  else rm_mp_sub(v, plus, minus, n);
  return negative;
}
#endif
