/* The accurate phase of exp2m1: any argument, format and rounding mode, for what the fast phase leaves undecided. Also what
 * exp10m1 shares with it.
 *
 * 2^x is irrational unless x is a whole number, and 10^x too: a fraction as exponent, in lowest terms, would make a power of
 * 2 or 10 by a whole number a higher power of another number. */
#pragma once

#include "../exp/exp_accurate.h"
#include "../fp/exact.h"
#include "exp2m1.h"
#include "exp2m1_mp.h"

/* 1 where x is NaN, 0 or infinite: then *bits is the result. */
RM_FN int rm_exp2m1_closed(double x, int format, uint64_t *bits) {
  const int negative = rm_is_negative(x);
  *bits = rm_is_nan(x) ? rm_nan_bits(format) : x == 0.0 ? rm_signed_zero(negative, format) : rm_infinity_bits(format);
  if (negative && rm_is_infinite(x)) *bits = rm_one_bits(format) | rm_sign_bit(format);
  return x == 0.0 || !rm_is_finite(x);
}

RM_COLD uint64_t rm_exp2m1_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t bits;
  if (rm_exp2m1_closed(x, format, &bits)) return bits;
  if (x > (double)(rm_emax(format) + 1)) return rm_overflow(0, format, mode, flags);
  /* 0 < 2^x < 2^-(p+2), less than half an ulp below 1. */
  if (x < (double)-(rm_precision(format) + 2 + rm_more_digits(mode))) return rm_round_beside(-1.0, 0, format, mode, flags);
  const int k = (int)x;
  if ((double)k == x) { /* 2^k - 1, beyond 2^120 a hair below 2^k; -(2^-k - 1) 2^k */
    if (k < 0) return rm_round_exact(1, ((rm_u128)1 << -k) - 1, k, format, mode, flags);
    const int kept = k < 120 ? k : 120;
    return rm_round_exact(0, ((rm_u128)1 << kept) - 1, k - kept, format, mode, flags);
  }
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  if (x > 966.0) { /* the 1 is within rm_exp_round_dd's bound */
    vi64 j;
    double rh, rl;
    rm_exp2_reduce_dd(x, &j, &rh, &rl);
    bits = rm_exp_round_dd(0, j, rh, rl, format, mode, flags, &undecided);
  } else {
    /* A tiny x is scaled: 2^x - 1 is x ln2 then, and so with 2^200 x, but for less than 2^-690 of it. */
    const int shift = -0x1p-900 < x && x < 0x1p-900 ? 200 : 0;
    rm_exp2m1_dd(x * rm_pow2(shift), &hi, &lo, &err);
    bits = rm_round_dd(hi, lo, err, -shift, format, mode, flags, &undecided);
  }
  if (!undecided) return bits;
#endif
  return rm_exp2m1_mp_round(x, rm_mp_ln2, format, mode, flags);
}
