/* exp2m1 and exp10m1 in multiprecision fixed point (fp/mp.h). */
#pragma once

#include "../expm1/expm1_mp.h"

/* |b^x - 1| = v 2^e for 0 < |x| <= 2^-40, ln = ln b, within 7 (n + 1) (n + 3) units; returns e.
 *
 * With y = |x| ln b it is |x| ln b S, S = the sum of (+-y)^i/(i + 1)!. y is 2 units off and below 2^-38; a term that is e
 * off makes the next one off by (2^-38 e + n + 3)/(i + 1) + 1 at most: each is within n + 3, and at most 2 n + 2 of them are
 * not 0. The significand of x times ln b is n + 3 short, which S takes over, as the product does S's error, times 2.31; the
 * last product is n + 1 short. Sum: 2 n + 5 + 4.7 (n + 1) (n + 3). */
RM_LONG int rm_exp2m1_mp_tiny(uint64_t *v, double x, const uint64_t *ln, int n) {
  uint64_t y[RM_MP_LIMBS], t[RM_MP_LIMBS], plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  int e;
  const uint64_t m = rm_decompose(x, &e);
  rm_exp_mp_argument(y, x, ln, n);
  rm_mp_set(t, 1, n);
  rm_mp_set(plus, 1, n);
  rm_mp_set(minus, 0, n);
  for (uint64_t i = 1; rm_mp_length(t, n) > 0; i++) {
    uint64_t *const sum = x < 0.0 && (i & 1) ? minus : plus;
    rm_mp_mul(t, t, y, n);
    rm_mp_div_small(t, t, i + 1, n);
    rm_mp_add(sum, sum, t, n);
  }
  rm_mp_sub(plus, plus, minus, n);
  rm_mp_from_integer(t, m, -53, n);
  rm_mp_mul(t, t, ln + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_mul(v, t, plus, n);
  return e + 53;
}

/* b^x - 1 correctly rounded, ln = ln b, |x| ln b <= 800, where it is no boundary of rounding. */
RM_COLD uint64_t rm_exp2m1_mp_round(double x, const uint64_t *ln, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], y[RM_MP_LIMBS], result = 0;
  const int tiny = -0x1p-40 < x && x < 0x1p-40;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int e;
    uint64_t err = 7 * (uint64_t)(n + 1) * (uint64_t)(n + 3);
    if (tiny) e = rm_exp2m1_mp_tiny(v, x, ln, n);
    else {
      rm_exp_mp_argument(y, x, ln, n);
      e = rm_expm1_mp(v, y, x < 0.0, n);
      err = rm_expm1_mp_err(n);
    }
    if (rm_mp_round(x < 0.0, v, e, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
