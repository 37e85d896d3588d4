/* The accurate phase of sinpi: any argument, format and rounding mode, for what the fast phase leaves undecided. Also what
 * cospi and tanpi share with it.
 *
 * A number of the format is a whole number times a power of two. By Niven's theorem the sine and cosine of pi times a
 * rational number are rational only if they are 0, +-1/2 or +-1, and its tangent only if it is 0 or +-1; the sine +-1/2
 * belongs to a multiple of 1/6 that no such number is. What is left are multiples of 1/2, of 1/4 for the tangent; every other
 * result is irrational, and no boundary of rounding. */
#pragma once

#include "../fp/exact.h"
#include "sinpi.h"
#include "sinpi_mp.h"

/* |x| less the greatest even number that it holds, for finite x: exact, below 2. */
RM_FN double rm_sinpi_part(double x) {
  const double a = vf64_abs(x);
  return a < 0x1p53 ? a - (double)((int64_t)a & ~INT64_C(1)) : 0.0;
}
/* Whether x is the whole number *k, for 0 <= x < 2^31. */
RM_FN int rm_sinpi_is_whole(double x, int *k) {
  *k = (int)x;
  return (double)*k == x;
}

RM_COLD uint64_t rm_sinpi_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  uint64_t special;
  int k;
  if (rm_special_periodic(x, rm_signed_zero(negative, format), format, flags, &special)) return special;
  const double a = rm_sinpi_part(x);
  if (rm_sinpi_is_whole(2.0 * a, &k)) {
    if (!(k & 1)) return rm_signed_zero(negative, format);
    return rm_one_bits(format) | rm_signed_zero(negative ^ (k >> 1), format);
  }
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  /* A tiny a is scaled; sin(pi a) is pi a then, and so with 2^200 a, but for less than 2^-1000 of it. */
  const int shift = a < 0x1p-900 ? 200 : 0;
  rm_sinpi_dd(a * rm_pow2(shift), &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, -shift, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_sinpi_mp_round(a, 0, negative, format, mode, flags);
}
