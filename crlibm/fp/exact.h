/* Algebraic functions by exact integers: helpers for the roots, the four basic operations, fma and hypot, and their special
 * values.
 *
 * Each helper finds the result to at least 57 bits and whether there is a remainder; the remainder goes into the last bit,
 * which is sticky (rm_round_exact), and one rounding follows. Nothing here is approximate, so nothing is repeated with a
 * growing precision. Magnitudes are m 2^e. Where the last bit of m is sticky, an odd m stands for a value strictly between
 * its two even neighbours m-1 and m+1, which may be m itself. */
#pragma once

#include "round.h"

RM_FN int rm_is_negative(double x) { return (int)(rm_bits64(x) >> 63); }
RM_FN int rm_is_infinite(double x) { return (rm_bits64(x) & UINT64_C(0x7fffffffffffffff)) == UINT64_C(0x7ff0000000000000); }

/* These results need no arithmetic but have a sign. */
RM_FN uint64_t rm_signed_zero(int negative, int format) { return negative ? rm_sign_bit(format) : 0; }
RM_FN uint64_t rm_signed_infinity(int negative, int format) {
  return rm_infinity_bits(format) | rm_signed_zero(negative, format);
}
RM_FN uint64_t rm_invalid(int format, uint32_t *flags) {
  *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(format);
}
RM_FN uint64_t rm_pole(int negative, int format, uint32_t *flags) {
  *flags |= RM_FLAG_DIVBYZERO;
  return rm_signed_infinity(negative, format);
}

/* 1 where x is NaN, 0 or infinite: then *bits is f(x) of an odd function f whose limit at infinity is 1. */
RM_FN int rm_special_saturating(double x, int format, uint64_t *bits) {
  const uint64_t sign = rm_signed_zero(rm_is_negative(x), format);
  *bits = rm_is_nan(x) ? rm_nan_bits(format) : x == 0.0 ? sign : rm_one_bits(format) | sign;
  return rm_is_nan(x) || x == 0.0 || rm_is_infinite(x);
}
/* The same of a periodic function, which has no value at infinity. at_zero: the bits of f(x) for x = 0. */
RM_FN int rm_special_periodic(double x, uint64_t at_zero, int format, uint32_t *flags, uint64_t *bits) {
  *bits = x == 0.0 ? at_zero : rm_is_infinite(x) ? rm_invalid(format, flags) : rm_nan_bits(format);
  return x == 0.0 || !rm_is_finite(x);
}

/* The sign of an exact sum that is zero: that of both terms when they agree, else + (and - when rounding down). */
RM_FN int rm_zero_sum_sign(int negative_a, int negative_b, rm_mode mode) {
  return negative_a == negative_b ? negative_a : mode == RM_DOWN;
}

/* a 2^ea + b 2^eb with signs, for a, b != 0 of at most 106 bits, rounded once. *e = weight of the last bit; the result is
 * has at least 120 bits, the last one sticky, or is exactly 0.
 *
 * Both are moved up to bit 126. With the larger one first, a difference of exponents d <= 20 loses nothing (21 low bits are
 * free); beyond, the sum is at least half of the larger one and keeps 125 bits, and what the smaller one loses is in
 * its sticky bit: the low bits of the larger one are 0, so this is the last bit of the sum too. */
RM_LONG rm_u128 rm_exact_sum(int negative_a, rm_u128 a, int64_t ea, int negative_b, rm_u128 b, int64_t eb, int *negative,
                             int64_t *e) {
  const int sa = rm_clz128(a) - 1, sb = rm_clz128(b) - 1;
  a <<= sa;
  ea -= sa;
  b <<= sb;
  eb -= sb;
  if (ea < eb || (ea == eb && a < b)) {
    const rm_u128 m = a;
    const int64_t em = ea;
    const int nm = negative_a;
    a = b;
    ea = eb;
    negative_a = negative_b;
    b = m;
    eb = em;
    negative_b = nm;
  }
  const int64_t d = ea - eb;
  if (d > 126) b = 1;
  else b = b >> d | ((b & (((rm_u128)1 << d) - 1)) != 0);
  *negative = negative_a;
  *e = ea;
  return negative_a == negative_b ? a + b : a - b;
}

/* The same, rounded. */
RM_LONG uint64_t rm_round_sum(int negative_a, rm_u128 a, int64_t ea, int negative_b, rm_u128 b, int64_t eb, int format,
                              rm_mode mode, uint32_t *flags) {
  int negative;
  int64_t e;
  const rm_u128 m = rm_exact_sum(negative_a, a, ea, negative_b, b, eb, &negative, &e);
  if (m == 0) return rm_signed_zero(rm_zero_sum_sign(negative_a, negative_b, mode), format);
  return rm_round_exact(negative, m, e, format, mode, flags);
}

/* floor(sqrt(m)), digit by digit: root holds the digits found, at twice their final weight, and m the remainder. */
RM_LONG uint64_t rm_integer_root(rm_u128 m, int *rest) {
  rm_u128 root = 0;
  for (int i = 126; i >= 0; i -= 2) {
    const rm_u128 trial = root + ((rm_u128)1 << i);
    root >>= 1;
    if (m >= trial) {
      m -= trial;
      root += (rm_u128)1 << i;
    }
  }
  *rest = m != 0;
  return (uint64_t)root;
}

/* sqrt(m 2^e) rounded, m >= 2^118, its last bit sticky. One bit or two are dropped, so that the exponent is even, and the
 * value lies strictly between two integers when one of these bits is set: nothing is a square then. */
RM_LONG uint64_t rm_round_root(rm_u128 m, int64_t e, int format, rm_mode mode, uint32_t *flags) {
  const int drop = 2 - (int)(e & 1);
  const int dropped = (m & (((rm_u128)1 << drop) - 1)) != 0;
  int rest;
  const uint64_t root = rm_integer_root(m >> drop, &rest);
  return rm_round_exact(0, root | (uint64_t)(dropped | rest), (e + drop) / 2, format, mode, flags);
}

/* The same for an exact m, with 96 digits of the root, for stochastic rounding. With m = r^2 + rest, rest <= 2r, the root
 * of m 2^64 is r 2^32 + q, where q is rest 2^32 over 2r, or one less: q^2 < 2^67 has to be taken from what that division
 * leaves, in units of 2^-32. */
RM_LONG uint64_t rm_round_root_exact(rm_u128 m, int64_t e, int format, rm_mode mode, uint32_t *flags) {
  if (e & 1) m >>= 1, e++; /* the lowest bits of m are 0 */
  rm_u128 root = 0, rest = m;
  for (int i = 126; i >= 0; i -= 2) {
    const rm_u128 trial = root + ((rm_u128)1 << i);
    root >>= 1;
    if (rest >= trial) {
      rest -= trial;
      root += (rm_u128)1 << i;
    }
  }
  const rm_u128 twice = 2 * root;
  rm_u128 q = (rest << 32) / twice, left = ((rest << 32) % twice) << 32;
  if (left < q * q) { /* once suffices: 2r 2^32 > q^2 */
    left += twice << 32;
    q--;
  }
  const int inexact = left != q * q;
  return rm_round_exact(0, ((root << 32) + q) << 1 | (rm_u128)inexact, e / 2 - 33, format, mode, flags);
}

/* 2^179/m for 2^52 <= m < 2^53, in (2^126, 2^127], with a sticky last bit, by two digits of 64 bits. */
RM_LONG rm_u128 rm_exact_reciprocal(uint64_t m) {
  const rm_u128 one = (rm_u128)1 << 115, rest = one % m << 64;
  return one / m << 64 | rest / m | (rest % m != 0);
}

/* floor((m 2^117)^(1/3)) for 2^52 <= m < 2^55, at least 2^56; bit by bit, the cube of each trial in 192 bits. */
RM_LONG uint64_t rm_integer_cbrt(uint64_t m, int *rest) {
  const rm_u128 target = (rm_u128)m << 53; /* in units of 2^64 */
  uint64_t root = 0;
  *rest = 1;
  for (int i = 57; i >= 0; i--) {
    const uint64_t trial = root | UINT64_C(1) << i;
    const rm_u128 square = (rm_u128)trial * trial, low = (rm_u128)(uint64_t)square * trial;
    const rm_u128 cube = (square >> 64) * trial + (low >> 64); /* the high 128 bits; square < 2^116, so this is < 2^110 */
    const int below = (uint64_t)low != 0;
    if (cube + (rm_u128)below > target) continue;
    root = trial;
    *rest = cube != target; /* cube == target only when below == 0 */
  }
  return root;
}
