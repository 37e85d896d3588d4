/* The accurate phase of log2p1: any argument, format and rounding mode, for what the fast phase leaves undecided. Also what
 * log10p1 shares with it.
 *
 * The logarithm of a rational number to the base 2 or 10 is irrational, or a whole number, that power of it being
 * 1 + x. */
#pragma once

#include "../fp/exact.h"
#include "../log/log_any.h"
#include "../log1p/log1p_mp.h"
#include "log2p1.h"

/* log(1 + x) times c, as table c and as ch + cl. */
struct rm_log2p1_base {
  double ch, cl;
  const uint64_t *c;
};

/* |log(1 + x)| c = v 2^e for 0 < |x| <= 2^-40, within 4 (n + 2) (n + 4) units; returns e. It is |x| c S, S the sum of
 * (-x)^i/(i + 1). |x| is a unit short and below 2^-39; a power is then within n + 2, a term within n + 3, and at most 2 n + 2
 * of them are not 0. The significand of x times c < 1.45 is n + 3 short; S's error counts 1.45 times at most, and the
 * product is n + 1 short: 2 n + 4 + 2.9 (n + 1) (n + 3). */
RM_LONG int rm_log2p1_mp_tiny(uint64_t *v, double x, const uint64_t *c, int n) {
  uint64_t y[RM_MP_LIMBS], p[RM_MP_LIMBS], t[RM_MP_LIMBS], plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  int e;
  const uint64_t m = rm_decompose(x, &e);
  rm_mp_from_double(y, x, 0, n);
  rm_mp_set(p, 1, n);
  rm_mp_set(plus, 1, n);
  rm_mp_set(minus, 0, n);
  for (uint64_t i = 1; rm_mp_length(p, n) > 0; i++) {
    uint64_t *const sum = x > 0.0 && (i & 1) ? minus : plus;
    rm_mp_mul(p, p, y, n);
    rm_mp_div_small(t, p, i + 1, n);
    rm_mp_add(sum, sum, t, n);
  }
  rm_mp_sub(plus, plus, minus, n);
  rm_mp_from_integer(t, m, -53, n);
  rm_mp_mul(t, t, c + (RM_MP_TABLE_LIMBS - 1 - n), n);
  rm_mp_mul(v, t, plus, n);
  return e + 53;
}

/* log(1 + x) to the base, correctly rounded, for finite x > -1 other than 0 where it is irrational. c < 1.45 is a unit short,
 * |log(1 + x)| < 746, and the product n + 1 units. */
RM_COLD uint64_t rm_log2p1_round(double x, struct rm_log2p1_base base, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  const int tiny = -0x1p-40 < x && x < 0x1p-40;
#if !defined(RM_CFG_NO_DD)
  double h, l, e, hi, lo, bound; /* double-double; a control build leaves it out */
  int undecided;
  /* A tiny x is scaled: the logarithm is x c then, and so with 2^200 x, but for less than 2^-690 of it. From 2^1023 on it is
   * that of x but for 1/x. */
  const int shift = -0x1p-900 < x && x < 0x1p-900 ? 200 : 0;
  if (x >= 0x1p1023) rm_log_any_dd(x, 0, &h, &l, &e);
  else rm_log1p_dd(x * rm_pow2(shift), &h, &l, &e);
  rm_log_product_dd(h, l, e, base.ch, base.ch, base.cl, &hi, &lo, &bound);
  result = rm_round_dd(hi, lo, bound, -shift, format, mode, flags, &undecided);
  if (!undecided) return result;
#endif
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int exponent = 0, negative = x < 0.0;
    if (tiny) {
      exponent = rm_log2p1_mp_tiny(v, x, base.c, n);
      err = 4 * (uint64_t)(n + 2) * (uint64_t)(n + 4);
    } else {
      negative = rm_log1p_mp(v, x, n, &err);
      rm_mp_mul(v, v, base.c + (RM_MP_TABLE_LIMBS - 1 - n), n);
      err = 2 * err + (uint64_t)n + 747;
    }
    if (rm_mp_round(negative, v, exponent, err, n, format, mode, flags, &result)) break;
  }
  return result;
}

/* 1 where x is NaN, at most -1, 0 or infinite: then *bits is the result. */
RM_FN int rm_log2p1_closed(double x, int format, uint32_t *flags, uint64_t *bits) {
  if (rm_is_nan(x)) *bits = rm_nan_bits(format);
  else if (x < -1.0) *bits = rm_invalid(format, flags);
  else if (x == -1.0) *bits = rm_pole(1, format, flags);
  else if (x == 0.0) *bits = rm_signed_zero(rm_is_negative(x), format);
  else if (rm_is_infinite(x)) *bits = rm_infinity_bits(format);
  else return 0;
  return 1;
}

RM_COLD uint64_t rm_log2p1_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t bits;
  int e;
  if (rm_log2p1_closed(x, format, flags, &bits)) return bits;
  const double y = x + 1.0;
  if (x < 0x1p53 && y - 1.0 == x && rm_decompose(y, &e) == UINT64_C(1) << 52) { /* 1 + x = y = 2^(e + 52), exactly */
    const int k = e + 52;
    return rm_round_exact(k < 0, (rm_u128)(k < 0 ? -k : k), 0, format, mode, flags);
  }
  /* x = 2^k: 0 < log2(1 + x) - k < 1.45 2^-k, below 2^-58 k or 2^-89 k. */
  if (rm_is_near(1.0 / x, 0x1p-53, 0x1p-84, mode) && x > 0.0 && rm_decompose(x, &e) == UINT64_C(1) << 52)
    return rm_round_beside((double)(e + 52), 1, format, mode, flags);
  const struct rm_log2p1_base base = {RM_LOG_INV_LN2, RM_LOG_INV_LN2_LO, rm_mp_inv_ln2};
  return rm_log2p1_round(x, base, format, mode, flags);
}
