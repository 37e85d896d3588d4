/* The accurate phase of sin: any argument, format and rounding mode, for what the fast phase leaves undecided. Also what cos
 * and tan share with it. */
#pragma once

#include "../fp/exact.h"
#include "sin.h"
#include "sin_mp.h"

/* a = k pi/16 + rh + rl modulo 2 pi, within *err, for finite a >= 2^-27.
 *
 * f = |a 16/pi - k| has 187 bits, is off by 2^53 of their units, 2^-134, and is at least 2^-58.6 (sin_gen.py). Its 106 top
 * bits are fh + fl, cut, so that fl is below 2 u fh, u = 2^-53, and f within 4 u^2 of it. Times pi/16 in two parts: fl times
 * the first rounds by 2 u^2, fh times the second by 0.4, their sum by 2.4, that with what the first product leaves over by
 * 3.4, and pi/16 is within 0.4 u^2: below 12 u^2 of h (proofs/formula). */
RM_LONG void rm_sin_reduce_large(double a, int64_t *k, double *rh, double *rl, double *err) {
  uint64_t f[3];
  int negative;
  rm_sin_payne_hanek(f, a, 3);
  *k = rm_sin_take(f, 5, 3, &negative);
  const int s = rm_clz64(f[2] | 1); /* 1 ... 59 */
  const uint64_t w1 = f[2] << s | f[1] >> (64 - s), w0 = f[1] << s | f[0] >> (64 - s);
  double fh = (double)(w1 >> 11) * rm_pow2(-53 - s);
  double fl = (double)((w1 << 42 | w0 >> 22) & (UINT64_MAX >> 11)) * rm_pow2(-106 - s);
  if (negative) {
    fh = -fh;
    fl = -fl;
  }
  const double h = fh * RM_SIN_STEP, l = vf64_mul_err(fh, RM_SIN_STEP, h) + (fh * RM_SIN_STEP_LO + fl * RM_SIN_STEP);
  *rh = vf64_fast_two_sum(h, l, rl);
  *err = RM_BOUND(0x1.8p-103) * vf64_abs(h) + RM_BOUND(0x1p-136);
}

/* The reduction of a, fast when possible. */
RM_LONG void rm_sin_reduce_any(double a, int64_t *k, double *rh, double *rl, double *err) {
  if (a <= RM_SIN_DD_MAX) rm_sin_reduce_dd(a, k, rh, rl, err);
  else rm_sin_reduce_large(a, k, rh, rl, err);
}

/* sin(|x| + turn pi/2), its sign changed when `flip`, for finite |x| >= 2^-27. */
RM_COLD uint64_t rm_sin_accurate_turned(double x, int turn, int flip, int format, rm_mode mode, uint32_t *flags) {
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  int64_t k;
  double rh, rl, err, hi, lo;
  int undecided;
  rm_sin_reduce_any(vf64_abs(x), &k, &rh, &rl, &err);
  k += 8 * turn;
  rm_sin_reduced_dd(k, rh, rl, err, &hi, &lo, &err);
  if ((k >> 4 & 1) ^ flip) {
    hi = -hi;
    lo = -lo;
  }
  const uint64_t bits = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_sin_mp_round(x, turn, flip, format, mode, flags);
}

RM_COLD uint64_t rm_sin_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double size = vf64_abs(x);
  uint64_t special;
  if (rm_special_periodic(x, rm_signed_zero(negative, format), format, flags, &special)) return special;
  /* 0 < |x| - |sin x| < |x|^3/6 < 2^-56 |x|. */
  if (rm_is_near(size, 0x1.fffffffffffffp-28, 0x1p-45, mode)) return rm_round_beside(x, 0, format, mode, flags);
  if (size < 0x1p-27)
    return rm_sin_mp_round(x, 0, negative, format, mode, flags); /* stochastic rounding tells the two apart */
  return rm_sin_accurate_turned(x, 0, negative, format, mode, flags);
}
