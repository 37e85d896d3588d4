/* Formats, rounding modes, exception flags, the bits of binary64 and binary32, and error-free transformations. */
#pragma once

#include "../config.h"

/* Every table that is indexed by format has this order, and functions.def has it. */
enum { RM_F16, RM_BF16, RM_F32, RM_F64, RM_FORMATS };

/* The rounding modes: an argument of the last operation alone (docs/spec.md, sections 1 and 1a). A random one carries its
 * word in the high half, so that it is one number like the others. */
typedef uint64_t rm_mode;
enum { RM_NEAREST, RM_TOWARD_ZERO, RM_DOWN, RM_UP, RM_STOCHASTIC, RM_RANDOM };
RM_FN rm_mode rm_random_mode(int kind, uint32_t word) { return (rm_mode)word << 32 | (rm_mode)kind; }
RM_FN int rm_mode_kind(rm_mode mode) { return (int)(mode & 7); }
RM_FN uint32_t rm_mode_word(rm_mode mode) { return (uint32_t)(mode >> 32); }

/* The exceptions that are raised when, and only when, IEEE 754 asks for them. */
enum { RM_FLAG_INVALID = 1, RM_FLAG_DIVBYZERO = 2, RM_FLAG_OVERFLOW = 4 };

RM_FN uint64_t rm_bits64(double x) {
  uint64_t b;
  __builtin_memcpy(&b, &x, 8);
  return b;
}
RM_FN double rm_from_bits64(uint64_t b) {
  double x;
  __builtin_memcpy(&x, &b, 8);
  return x;
}
RM_FN uint32_t rm_bits32(float x) {
  uint32_t b;
  __builtin_memcpy(&b, &x, 4);
  return b;
}
RM_FN float rm_from_bits32(uint32_t b) {
  float x;
  __builtin_memcpy(&x, &b, 4);
  return x;
}

RM_FN int rm_is_nan(double x) { return x != x; }
RM_FN int rm_is_finite(double x) { return x - x == 0.0; }
RM_FN int rm_is_finite_f32(float x) { return x - x == 0.0f; }

/* a + b = s + e exactly when nothing overflows (Knuth's TwoSum). */
RM_FN double rm_two_sum(double a, double b, double *e) {
  const double s = a + b, t = s - a;
  *e = (a - (s - t)) + (b - t);
  return s;
}
/* a b - p, exactly for p = RN(a b) when |a|, |b| < 2^996 and either 2^-968 <= |ab|, so that no part underflows, or ab = 0. */
RM_FN double rm_two_prod_error(double a, double b, double p) {
#if RM_HAS_FMA
  return rm_fma(a, b, -p);
#else /* Dekker (1971) with Veltkamp's splitting */
  const double c = 134217729.0, ta = c * a, tb = c * b; /* 2^27 + 1 */
  const double ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/* The number of zeros above the highest bit that is set, x != 0. */
RM_FN int rm_clz64(uint64_t x) { return __builtin_clzll(x); }
/* The number of zeros below the lowest bit that is set, x != 0. CUDA has no __builtin_ctz. */
RM_FN int rm_ctz64(uint64_t x) { return 63 - rm_clz64(x & (0 - x)); }

/* 2^k, a normal number. */
RM_FN double rm_pow2(int k) { return rm_from_bits64((uint64_t)(k + 1023) << 52); } /* -1022 <= k <= 1023 */

/* binary16 to binary32 is exact, and a NaN stays a NaN. */
RM_FN float rm_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = (h >> 10) & 31u, m = h & 0x3ffu;
  if (e == 31) return rm_from_bits32(sign | 0x7f800000u | (m << 13));
  if (e == 0) { /* m 2^-24, at most 10 bits: exact */
    float v = (float)m * 0x1p-24f;
    return rm_from_bits32(rm_bits32(v) | sign);
  }
  return rm_from_bits32(sign | ((e + 112u) << 23) | (m << 13));
}
RM_FN float rm_bf16_to_f32(uint16_t b) { return rm_from_bits32((uint32_t)b << 16); }

/* binary32 to binary16 rounds to nearest even, and a NaN becomes the canonical one. */
RM_FN uint16_t rm_f32_to_f16(float x) {
  uint32_t b = rm_bits32(x), a = b & 0x7fffffffu;
  uint16_t sign = (uint16_t)((b >> 16) & 0x8000u);
  if (a > 0x7f800000u) return 0x7e00u;
  if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* at or above 65520, the midpoint beyond the largest */
  if (a < 0x38800000u) { /* below 2^-14: the grid is 2^-24; adding 2^-1 (ulp 2^-24) rounds to it */
    float v = rm_from_bits32(a) + 0.5f;
    return (uint16_t)(sign | (rm_bits32(v) - 0x3f000000u));
  }
  a += 0xfffu + ((a >> 13) & 1u); /* half of the 13 dropped bits, to even */
  return (uint16_t)(sign | ((a - 0x38000000u) >> 13));
}
/* binary32 to bfloat16 rounds to nearest even, and a NaN becomes the canonical one. */
RM_FN uint16_t rm_f32_to_bf16(float x) {
  uint32_t b = rm_bits32(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return (uint16_t)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}
