/* The accurate phase of atan: any argument, format and rounding mode; and the angle of a direction, which atan2 shares. It
 * takes what the fast phase leaves undecided. */
#pragma once

#include "atan.h"
#include "atan_mp.h"

/* (-1)^negative atan(q), q = ma/mb 2^d for 2^52 <= ma, mb < 2^53 and d <= -56.
 *
 * atan q = q (1 - f), 0 < f < q^2/3 < 2^-111.5. With m = floor(2^64 ma/mb), 2^63 < m < 2^65: when the quotient is exact,
 * the value lies between the integers 2m - 1 and 2m, in units of 2^(d-65). Otherwise the quotient exceeds m by rest/mb and
 * the value lies less than 2^-46 below it. A boundary of rounding of this size is a multiple of 2^10; so if m is one, rest
 * is a multiple of 2^10, and the value still lies above it, between m and m + 1. If m is none, no boundary separates the
 * value from m | 1.
 *
 * Under stochastic rounding d <= -73, f < 2^-145, and m has 56 more bits, 120 or 121. A boundary of at most 86 bits is a
 * multiple of 2^34 and differs from the quotient, where that is not exact, by a multiple of 2^34/mb, far more than the
 * 2^-24 by which the value lies below the quotient: so the same holds. */
RM_COLD uint64_t rm_atan_round_quotient(int negative, uint64_t ma, uint64_t mb, int d, int format, rm_mode mode,
                                        uint32_t *flags) {
  const rm_u128 dividend = (rm_u128)ma << 64, m = dividend / mb;
  if (rm_mode_kind(mode) == RM_STOCHASTIC) {
    const rm_u128 rest = (dividend % mb) << 56, more = m << 56 | rest / mb;
    if (rest % mb == 0) return rm_round_exact(negative, 2 * more - 1, d - 121, format, mode, flags);
    return rm_round_exact(negative, more | 1, d - 120, format, mode, flags);
  }
  if (dividend % mb == 0) return rm_round_exact(negative, 2 * m - 1, d - 65, format, mode, flags);
  return rm_round_exact(negative, m | 1, d - 64, format, mode, flags);
}

/* The angle of (x, y), both finite; y is not 0, or x < 0. */
RM_COLD uint64_t rm_atan_direction_accurate(double y, double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = (int)(rm_bits64(y) >> 63), left = x < 0.0;
  uint64_t v[RM_MP_LIMBS], result = 0, ma = 0, mb = 0;
  int ea = 0, eb = 0, d = 0; /* |y| = ma 2^ea, |x| = mb 2^eb */
  if (y != 0.0) ma = rm_decompose(y, &ea);
  if (x != 0.0) mb = rm_decompose(x, &eb);
  if (ma && mb) {
    d = ea - eb;
    if (d <= (rm_mode_kind(mode) == RM_STOCHASTIC ? -73 : -56) && !left)
      return rm_atan_round_quotient(negative, ma, mb, d, format, mode, flags);
  }
#if !defined(RM_CFG_NO_DD)
  /* Double-double; a control build leaves it out. Beyond 2^120 either way the quotient is taken as one near that: both angles
   * are within 2^-118 of the axis, for which err has room: it is 2^-70 near pi/2, and 2^-100 near pi, of which 2^-107 is used
   * (rm_atan_left_dd). */
  const int near = d > 120 ? 120 : d < -120 ? -120 : d;
  double hi, lo, err;
  int undecided;
  rm_atan_direction_dd((double)ma, (double)mb * rm_pow2(-near), &hi, &lo, &err);
  rm_atan_left_dd(left, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_atan_mp_direction(v, y, x, n);
    if (rm_mp_round(negative, v, 0, rm_atan_mp_err(n, 1), n, format, mode, flags, &result)) break;
  }
  return result;
}

RM_COLD uint64_t rm_atan_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = (int)(rm_bits64(x) >> 63);
  const double size = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (size == 0.0) return negative ? rm_sign_bit(format) : 0;
  if (size == rm_from_bits64(UINT64_C(0x7ff0000000000000)))
    return rm_atan_direction_accurate(negative ? -1.0 : 1.0, 0.0, format, mode, flags);
  /* 0 < x - atan x < x^3/3 <= 2^-55.5 x (alternating series). */
  if (rm_is_near(size, 0x1p-27, 0x1p-45, mode)) return rm_round_beside(x, 0, format, mode, flags);
  return rm_atan_direction_accurate(x, 1.0, format, mode, flags);
}
