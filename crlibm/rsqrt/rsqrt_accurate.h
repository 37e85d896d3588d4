/* The accurate phase of rsqrt: any argument, format and rounding mode. It tries double-double, then computes 1/x by long
 * division and takes an integer root, both with their remainders. */
#pragma once

#include "../fp/exact.h"
#include "../pow/root_mp.h"
#include "rsqrt_dd.h"

RM_COLD uint64_t rm_rsqrt_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  int e;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_pole(rm_is_negative(x), format, flags);
  if (x < 0.0) return rm_invalid(format, flags);
  if (rm_is_infinite(x)) return 0;
  const uint64_t m = rm_decompose(x, &e);
#if !defined(RM_CFG_NO_DD) /* a control build leaves it out */
  double hi, lo, err;
  int undecided;
  rm_rsqrt_dd((double)(m << (e & 1)), &hi, &lo, &err); /* 2^52 to 2^54: x is that times an even power of two */
  const uint64_t bits = rm_round_dd(hi, lo, err, -(e - (e & 1)) / 2, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  if (rm_mode_kind(mode) == RM_STOCHASTIC && (m != UINT64_C(1) << 52 || (e & 1))) /* irrational */
    return rm_root_mp_round_of(0, m, e, 2, 1, format, mode, flags);
  const rm_u128 reciprocal = rm_exact_reciprocal(m);
  return rm_round_root(reciprocal, -179 - e, format, mode, flags);
}
