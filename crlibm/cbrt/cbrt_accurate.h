/* The accurate phase of cbrt: any argument, format and rounding mode. It tries double-double, then takes an integer root with
 * its remainder. */
#pragma once

#include "../fp/exact.h"
#include "../pow/root_mp.h"
#include "cbrt_dd.h"

RM_COLD uint64_t rm_cbrt_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  int e, rest;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return rm_signed_zero(rm_is_negative(x), format);
  if (rm_is_infinite(x)) return rm_signed_infinity(rm_is_negative(x), format);
  uint64_t m = rm_decompose(x, &e);
  while (e % 3 != 0) { /* at most twice: m < 2^55 */
    m <<= 1;
    e--;
  }
#if !defined(RM_CFG_NO_DD) /* a control build leaves it out */
  const int negative = rm_is_negative(x);
  double hi, lo, err;
  int undecided;
  rm_cbrt_dd((double)m, &hi, &lo, &err); /* m has 53 bits and zeros below them; |x| is that times a power of eight */
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, e / 3, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  const uint64_t root = rm_integer_cbrt(m, &rest);
  if (rest && rm_mode_kind(mode) == RM_STOCHASTIC) /* irrational: the 57 digits of root do not suffice */
    return rm_root_mp_round_of(rm_is_negative(x), m, e, 3, 0, format, mode, flags);
  return rm_round_exact(rm_is_negative(x), root | (uint64_t)rest, (e - 117) / 3, format, mode, flags);
}
