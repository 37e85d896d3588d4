/* Unevaluated sums of two binary64 numbers. */
#pragma once

#include "../../../crlibm/fp/round.h"

typedef struct {
  double hi, lo;
} rm_pair;

RM_FN rm_pair rm_pair_two_sum(double a, double b) {
  rm_pair r;
  r.hi = rm_two_sum(a, b, &r.lo);
  return r;
}

/* hi + lo rounded to odd: it loses nothing that a rounding to 51 bits or fewer could see (Boldo and Melquiond 2008). Zero is
 * +0. */
RM_FN double rm_pair_to_odd(double hi, double lo) {
  rm_pair s = rm_pair_two_sum(hi, lo);
  if (s.hi == 0.0) return 0.0;
  uint64_t b = rm_bits64(s.hi);
  if (s.lo != 0.0 && !(b & 1)) b += (s.lo > 0.0) == (s.hi > 0.0) ? 1u : ~UINT64_C(0);
  return rm_from_bits64(b);
}

/* RN(x) in a format below binary64, as bits. */
RM_STATIC uint64_t rm_round_double(double x, int fmt) {
  const uint64_t sign = rm_bits64(x) >> 63 ? rm_sign_bit(fmt) : 0;
  uint32_t flags = 0;
  int e;
  if (fmt == RM_F32) return rm_bits32((float)x);
  if (rm_is_nan(x)) return rm_nan_bits(fmt);
  if (x == 0.0) return sign;
  if (!rm_is_finite(x)) return sign | rm_infinity_bits(fmt);
  const uint64_t m = rm_decompose(x, &e);
  return rm_round_exact(sign != 0, m, e, fmt, RM_NEAREST, &flags);
}
