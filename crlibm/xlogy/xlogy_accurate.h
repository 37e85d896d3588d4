/* The accurate phase of xlogy: any arguments, format and rounding mode. Also what xlog1py shares with it.
 *
 * The logarithm of an algebraic number other than 0 and 1 is transcendental (Lindemann), and so is its product with a
 * rational number other than 0: none lies on a boundary of rounding. */
#pragma once

#include "../fp/exact.h"
#include "../log/log_any.h"
#include "../log1p/log1p_dd.h"
#include "../log1p/log1p_mp.h"
#include "xlogy.h"

/* x log(1 + y) for 0 < |y| <= 2^-126, x = mx 2^ex: that is x y but for less than 2^-126 of it. The product of the
 * significands, moved up by 20 bits, is in [2^124, 2^126): the result is less than a unit from it, above it for y < 0. */
RM_COLD uint64_t rm_xlogy_tiny(int negative, uint64_t mx, int ex, double y, int format, rm_mode mode, uint32_t *flags) {
  int ey;
  const uint64_t my = rm_decompose(y, &ey);
  const rm_u128 twice = (rm_u128)mx * my << 21;
  return rm_round_exact(negative, y < 0.0 ? twice + 1 : twice - 1, (int64_t)ex + ey - 21, format, mode, flags);
}

/* x log y (more = 0, y > 0) or x log(1 + y) (more = 1, y > -1) correctly rounded, for finite x and y where neither factor
 * is 0.
 *
 * In multiprecision the logarithm is within err units, the significand of x, as a number below 1, exact, and the product n
 * + 1 units short. */
RM_COLD uint64_t rm_xlogy_round(double x, double y, int more, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], w[RM_MP_LIMBS], err, result = 0;
  int ex;
  const uint64_t mx = rm_decompose(x, &ex);
  const double size = rm_from_bits64(rm_bits64(y) & UINT64_C(0x7fffffffffffffff));
  if (more && size <= 0x1p-126) return rm_xlogy_tiny((x < 0.0) != (y < 0.0), mx, ex, y, format, mode, flags);
#if !defined(RM_CFG_NO_DD)
  double h, l, e, hi, lo, bound; /* double-double; a control build leaves it out */
  int undecided;
  if (more && y < 0x1p1023) rm_log1p_dd(y, &h, &l, &e); /* beyond, it is log y but for 1/y */
  else rm_log_any_dd(y, 0, &h, &l, &e);
  rm_log_factor_dd(h, l, e, x < 0.0 ? -(double)mx : (double)mx, &hi, &lo, &bound);
  result = rm_round_dd(hi, lo, bound, ex, format, mode, flags, &undecided);
  if (!undecided) return result;
#endif
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative = x < 0.0;
    if (more) {
      negative ^= rm_log1p_mp(v, y, n, &err);
    } else {
      negative ^= rm_log_mp(v, y, n);
      err = rm_log_mp_err(n);
    }
    rm_mp_from_integer(w, mx, -53, n);
    rm_mp_mul(v, v, w, n);
    if (rm_mp_round(negative, v, (int64_t)ex + 53, err + (uint64_t)n + 1, n, format, mode, flags, &result)) break;
  }
  return result;
}

/* 1 where x is 0 or not finite, y NaN or infinite, or beside where its logarithm is a number: d, a number with the sign of
 * the logarithm, is then 0 or y is `pole`, or less. *bits is the product. */
RM_FN int rm_xlogy_closed(double x, double y, double pole, double d, int format, uint32_t *flags, uint64_t *bits) {
  const int negative = rm_is_negative(x) != (d < 0.0);
  if (rm_is_nan(x) || rm_is_nan(y)) *bits = rm_nan_bits(format);
  else if (x == 0.0) *bits = 0;
  else if (y < pole || (rm_is_infinite(x) && d == 0.0)) *bits = rm_invalid(format, flags);
  else if (rm_is_infinite(x) || rm_is_infinite(y)) *bits = rm_signed_infinity(negative, format);
  else if (y == pole) *bits = rm_pole(negative, format, flags);
  else if (d == 0.0) *bits = rm_signed_zero(rm_is_negative(x) != rm_is_negative(d), format);
  else return 0;
  return 1;
}

RM_COLD uint64_t rm_xlogy_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  uint64_t bits;
  if (rm_xlogy_closed(x, y, 0.0, y - 1.0, format, flags, &bits)) return bits;
  return rm_xlogy_round(x, y, 0, format, mode, flags);
}
