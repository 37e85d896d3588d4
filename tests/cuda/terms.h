/* Terms of sums in every format, of kinds whose sums are hard to round, for the programs of this folder. */
#ifndef RM_TESTS_TERMS_H
#define RM_TESTS_TERMS_H

#include "device.h"

static const int widths[] = {2, 2, 4, 8}, fractions[] = {10, 7, 23, 52}; /* bytes, bits below the leading one, by format */
static int exponent_bits(int format) { return 8 * widths[format] - 1 - fractions[format]; }

static uint64_t state;
static uint64_t random_word() { /* splitmix64 */
  uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Bits of a number: sign, exponent field (all ones: 2^k - 1) and fraction. */
static uint64_t number(int format, uint64_t sign, uint64_t exponent, uint64_t fraction) {
  return sign << (8 * widths[format] - 1) | exponent << fractions[format] | fraction;
}

/* Any bits; finite ones of all sizes; numbers near 1; short ones; pairs that cancel, beside small ones; 2^(p+1) and ones, so
 * that sums are ties, and seldom the least number; subnormal ones; runs near the largest; infinities and NaN; all the same;
 * zeros; and such that a bound decides. */
enum { BITS, FINITE, NEAR_1, SHORT, CANCEL, TIES, SUBNORMAL, LARGEST, INFINITE, ALIKE, ZEROS, BESIDE, BESIDE_F64, KINDS };

/* 1 and half a last place of it, 58 terms that a sum in binary64 (of f64: in two of them) loses, and one that takes back less
 * than they are: the sum is above the tie, what is left of it is below, by more than all but the bound allows. Then all of it
 * with the other sign. f16 has no such numbers. */
static uint64_t beside_a_tie(int format, bool f64, int64_t i) {
  static const double units[] = {0x1p-54, 0x1p-107};
  const double unit = units[f64];
  double half = 0x1p-53;
  if (!f64) half = format == RM_FORMAT_F32 ? 0x1p-24 : 0x1p-8;
  const int k = static_cast<int>(i % 64), taken = f64 ? 16 : 40;
  const double last[] = {-taken * unit, -1, -half, (taken - 58) * unit};
  const double x = k == 0 ? 1 : k == 1 ? half : k < 60 ? unit : last[k - 60];
  const float y = static_cast<float>(x); /* exact, as is bf16 */
  uint64_t bits = 0;
  if (format == RM_FORMAT_F64) memcpy(&bits, &x, 8);
  else memcpy(&bits, &y, 4);
  return format == RM_FORMAT_BF16 ? bits >> 16 : bits;
}

static uint64_t term(int format, int kind, int64_t i, uint64_t last) {
  const int f = fractions[format], k = exponent_bits(format);
  const uint64_t w = random_word(), top = (UINT64_C(1) << k) - 1, bias = top / 2, fraction = w & ((UINT64_C(1) << f) - 1);
  const uint64_t v = w >> 52;
  const uint64_t sign = w >> 63;
  if (kind >= BESIDE && format != RM_FORMAT_F16)
    return beside_a_tie(format, format == RM_FORMAT_F64 || kind == BESIDE_F64, i);
  switch (kind) {
    case BITS: return number(format, sign, random_word() & top, fraction);
    case FINITE: return number(format, sign, random_word() % top, fraction);
    case NEAR_1: return number(format, sign, bias - v % 4, fraction);
    case SHORT: return number(format, sign, bias + v % 3, fraction >> (f - 2) << (f - 2));
    case CANCEL:
      if (i % 2) return last ^ UINT64_C(1) << (8 * widths[format] - 1);
      return i % 14 == 4 ? number(format, sign, v % 3, fraction) : number(format, sign, v % top, fraction);
    case TIES:
      if (i == 0) return number(format, 0, bias + f + 1 < top ? bias + f + 1 : top - 1, 0);
      return i % 61 == 60 ? number(format, sign, 0, 1) : number(format, i % 4 == 3, bias, 0);
    case SUBNORMAL: return number(format, sign, v % 16 == 0, fraction);
    case LARGEST: return number(format, i / 50 % 2, top - 1, fraction);
    case INFINITE: {
      const uint64_t choice = v % 1024; /* some stretches have none, some only one kind */
      if (choice == 1) return number(format, i % 2, top, 0);
      if (choice == 2 && i > 300) return number(format, sign, top, UINT64_C(1) << (f - 1)); /* quiet */
      if (choice == 3 && i > 600) return number(format, sign, top, 1);                      /* signalling */
      return number(format, sign, bias, fraction);
    }
    case ALIKE: return number(format, 1, bias + 1, 5);
    default: return number(format, i % 3 == 0, 0, 0);
  }
}

static void fill(char *at, int format, int kind, int64_t n, ptrdiff_t stride) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; i++) {
    bits = term(format, kind, i, bits);
    memcpy(at + i * stride, &bits, static_cast<size_t>(widths[format])); /* little endian */
  }
}

#endif
