/* The SIMD vocabulary: kernels are written once over these names and compiled for every backend.
 *
 *   vf64, vi64, vm64   RM_LANES values of binary64, of 64-bit integers, and a lane mask
 *
 *   loads and stores   vf64_load vf64_store vf64_set1; from f32/f16/bf16 arrays (exact): vf64_load_f32 vf64_load_f16
 *                      vf64_load_bf16; to them (round to nearest even, 16-bit formats through f32):
 *                      vf64_store_f32 vf64_store_f16 vf64_store_bf16; vf64_store_differing_f32(p, a, b): vf64_store_f32(p,
 *                      a), and bit k of the result says that lane k of b has another f32 number, by its bits;
 *                      vf64_store_between_f32: or an infinite one, or a NaN;
 *                      vf64_load2_f32(p, v), vf64_store2_f32(p, v): lane k of v[i] is number 2 k + i;
 *                      vf64_store_halves(low, high, v): the first half of the lanes, and the other half;
 *                      vi64_load vi64_store vi64_set1; vi64_store_pairs(p, a, b): p[2 j] = a, p[2 j + 1] = b, from the
 *                      lane whose number in vi64_pair_numbers() is j
 *   arithmetic         vf64_add sub mul div sqrt min max abs neg, vf64_mad(a,b,c) = ab+c and vf64_nmad = c-ab with one OR two
 *                      roundings (proofs hold for both), vf64_mul_err(a,b,p) = ab-p exactly, for p = RN(ab), when ab = 0
 *                      or 2^-968 <= |ab|, and |a|, |b| < 2^996; for other p as a residual: within 2^-102 |ab| when p is
 *                      within 2^-50 of ab, within 2^-77 |ab| when it is within 2^-25,
 *                      vf64_quotient(a,b,&r) = a/b within 2^-51.9 relatively, for 2^-500 <= |b| <= 2^500, a = 0 or
 *                      |a| <= 2^500 and |a|, |a/b| >= 2^-968; r = 1/b within 2^-27 for a correction,
 *                      vf64_reciprocal(b) = 1/b within 2^-41.9 relatively, for 2^-500 <= |b| <= 2^500,
 *                      vf64_root(a,&r) = sqrt(a) within 2^-51.9 relatively, for a = 0 or 2^-1000 <= a <= 2^1000; r =
 *                      1/sqrt(a) within 2^-27 for a correction, finite for a = 0,
 *                      vf64_toward_zero(a), where RM_HAS_VF32: the whole number,
 *                      vf64_rsqrt(a) = 1/sqrt(a) within 2^-40.6 relatively, for normal a > 0
 *   min, max           of a NaN and a number: the second operand when the first is NaN; the second when it is NaN
 *   bits               vf64_bits vf64_from_bits; vi64_add sub and or xor, vi64_sll srl sra (constant counts), vi64_to_f64
 *                      (|v| < 2^51), vi64_round_f64 (any, to nearest); vi64_mul_low(a,b) = ab for the low 32 bits of each
 *                      lane, unsigned; vf64_copysign(magnitude, sign)
 *   compares           vf64_lt le eq ne unord, vi64_eq, vi64_ltu (unsigned), vi64_disjoint (a & b == 0); masks: vm64_and or
 *                      andnot not none; vm64_bits: lane i in bit i
 *   selection          vf64_select(m,a,b): a where m, else b
 *   tables             vf64_lookup16(t, i), vi64_lookup16(t, i): t[i & 15], t 64-byte aligned
 *                      vu16_lookup(t, x, y): y[k] = t[x[k]] for RM_LOOKUP_LANES elements; t has one element more than is
 *                      looked up. vu16_loads(t, x, y, n, ones): the same by a load for each of n elements, a multiple of
 *                      RM_LOOKUP_LANES, faster where gathers are slow; whether the bits `ones`, not the sign, are all set in
 *                      one of the results
 *   vf32               where RM_HAS_VF32: 2 RM_LANES values of binary32, for functions that are one operation
 *                      (simd/machine.h). vf32_load_<format>, vf32_store_<format> as above; vf32_add sub mul div sqrt;
 *                      vf32_fma(a,b,c) = ab+c with one rounding, where RM_HAS_FMA; vf32_all_below(a, b, limit): every |a|,
 *                      |b| < limit. vf32_load2_<format>(p, v), vf32_store2_<format>(p, v): 4 RM_LANES elements, two vectors;
 *                      which lane has which element is the backend's own
 *                      Where RM_HAS_FMA_TO_ODD: vf32_fma_to_odd(a,b,c) = ab+c rounded to odd, between x = vf32_to_odd_begin()
 *                      and vf32_to_odd_end(x): nothing else that rounds may be computed there, but stores to f16 and bf16
 *   vu16               where RM_HAS_VU16: 2 RM_LANES numbers of 16 bits, vu16_store(p, v); vf32_gather(t, x): t[x[k]], and
 *                      vf32_loads; vf32_round_f16 and vf32_round_bf16(v, rel, &y): y = v rounded to the format, where bit k
 *                      of the result does not say that lane k is infinite or NaN in the format, or that a number within rel
 *                      |v| could round otherwise; rel 2^24 is a power of two or rel is 0, for f16 v (1 -+ rel) rounds, so
 *                      that the test covers rel - 2^-24 if rel is not 0, and for bf16 below 2^-126 that many units of 2^-149
 *                      count as within; a NaN lane must have 16 low bits that are 0. vf32_to_f16(v) rounds without a test,
 *                      and bit k of vu16_outside(x, inputs) says that x[k] is not one of the inputs, 4 RM_LANES of them
 *
 * Where RM_B32 is 1, also
 *
 *   vf32, vi32, vm32   RM_B32_LANES values of binary32, of 32-bit integers, and a lane mask, for a first evaluation that
 *                      leaves what it cannot decide to binary64 (simd/b32.h). RM_B32_FULL is 1 where a look-up or a scaling
 *                      is one instruction: elsewhere functions with many of them are faster in binary64
 *   vf32_ and vi32_    as above; besides vf32_load_f32 vf32_store_f32, vf32_fma(a,b,c) = ab+c, vf32_fms = ab-c, vf32_fnma =
 *                      c-ab, always with ONE rounding; vf32_scale(a,k) = a 2^floor(k), or NaN when |k| > 252;
 *                      vf32_mantissa(a) = a 2^k in [0.75, 1.5) for positive normal a; vf32_lookup32(t, i): t[i & 31];
 *                      where RM_B32_FULL is 1, vf32_exponent(a) = floor(log2 |a|), infinite for zeros and infinities;
 *                      vf32_mantissa1(a) = |a| 2^k in [1, 2), vf32_mantissa_or_nan(a) = vf32_mantissa(a) for a >= 0,
 *                      subnormal too; else NaN; vf32_integer: nearest
 *                      vf32_toward_zero: the whole number;
 *                      vf32_nle: not less or equal, so true for NaN; vf32_not_normal: zero, subnormal, infinite or NaN;
 *                      vf32_rsqrt(a) = 1/sqrt(a) within 2^-21.7 for positive normal a, NaN for zeros, infinities, a < 0;
 *                      vf32_reciprocal(b) = 1/b within 2^-23.9 relatively, for 2^-100 <= |b| <= 2^100
 *
 * All loads and stores take any alignment. A translation unit has one backend. */
#pragma once

#include "../config.h"
#include "../fp/bits.h"

/* Numbers of f16, by their bits: first to last, or a number of either sign whose size is one of them; 0 in `but` is none. */
struct rm_inputs16 {
  uint16_t first, last;
  int either_sign;
  uint16_t but[3]; /* but not these */
};

#if RM_SIMD == RM_SIMD_AVX512
#include "avx512.h"
#elif RM_SIMD == RM_SIMD_AVX2
#include "avx2.h"
#elif RM_SIMD == RM_SIMD_NEON
#include "neon.h"
#else
#include "scalar.h"
#endif
#ifndef RM_LOOKUP_LANES
#define RM_LOOKUP_LANES 1
RM_FN void vu16_lookup(const uint16_t *t, const uint16_t *x, uint16_t *y) { *(rm_loose16 *)y = t[*(const rm_loose16 *)x]; }
RM_FN int vu16_loads(const uint16_t *t, const uint16_t *x, uint16_t *y, int n, uint16_t ones) {
  const rm_loose16 *in = x;
  rm_loose16 *out = y;
  int found = 0;
  for (int k = 0; k < n; k++) found |= ((out[k] = t[in[k]]) & ones) == ones;
  return found;
}
#else
/* Two indices a load: a load of each took a ninth longer on AMD Zen 5, and two fifths where x and y are whole pages apart. */
RM_FN int vu16_loads(const uint16_t *t, const uint16_t *x, uint16_t *y, int n, uint16_t ones) {
  const __m128i all = _mm_set1_epi16((short)ones);
  __m128i most = _mm_setzero_si128();
  for (int k = 0; k < n; k += 8) {
    uint32_t i[4];
    __builtin_memcpy(i, x + k, sizeof i);
    __m128i v = _mm_cvtsi32_si128(t[i[0] & 0xffff]);
    v = _mm_insert_epi16(v, t[i[0] >> 16], 1);
    v = _mm_insert_epi16(v, t[i[1] & 0xffff], 2);
    v = _mm_insert_epi16(v, t[i[1] >> 16], 3);
    v = _mm_insert_epi16(v, t[i[2] & 0xffff], 4);
    v = _mm_insert_epi16(v, t[i[2] >> 16], 5);
    v = _mm_insert_epi16(v, t[i[3] & 0xffff], 6);
    v = _mm_insert_epi16(v, t[i[3] >> 16], 7);
    most = _mm_max_epi16(most, _mm_and_si128(v, all));
    _mm_storeu_si128((__m128i *)(y + k), v);
  }
  return _mm_movemask_epi8(_mm_cmpeq_epi16(most, all)) != 0;
}
#endif
#ifndef RM_HAS_STORE_BETWEEN
RM_FN uint32_t vf64_store_differing_f32(float *p, vf64 a, vf64 b) {
  const vf64 low = vf64_round_f32(a);
  vf64_store_f32(p, low);
  return ~vm64_bits(vi64_eq(vf64_bits(low), vf64_bits(vf64_round_f32(b)))) & ((1u << RM_LANES) - 1);
}
RM_FN uint32_t vf64_store_between_f32(float *p, vf64 a, vf64 b) {
  const vf64 low = vf64_round_f32(a);
  const vm64 same = vi64_eq(vf64_bits(low), vf64_bits(vf64_round_f32(b))),
             finite = vf64_le(vf64_abs(low), vf64_set1(0x1.fffffep127));
  vf64_store_f32(p, low);
  return ~vm64_bits(vm64_and(same, finite)) & ((1u << RM_LANES) - 1);
}
#endif
#ifndef RM_HAS_VF32
#define RM_HAS_VF32 0
#endif
#if RM_HAS_VF32
#define RM_VF32_PAIRS(fmt, type)                                         \
  RM_FN void vf32_load2_##fmt(const type *p, vf32 *v) {                  \
    v[0] = vf32_load_##fmt(p), v[1] = vf32_load_##fmt(p + 2 * RM_LANES); \
  }                                                                      \
  RM_FN void vf32_store2_##fmt(type *p, const vf32 *v) {                 \
    vf32_store_##fmt(p, v[0]), vf32_store_##fmt(p + 2 * RM_LANES, v[1]); \
  }
RM_VF32_PAIRS(f32, float)
RM_VF32_PAIRS(f16, uint16_t)
#ifndef RM_HAS_BF16_PAIRS
RM_VF32_PAIRS(bf16, uint16_t)
#endif
#endif
#ifndef RM_HAS_FMA_TO_ODD
#define RM_HAS_FMA_TO_ODD 0
#endif
#ifndef RM_HAS_VU16
#define RM_HAS_VU16 0
#endif
#ifndef RM_B32
#define RM_B32 0
#endif
#ifndef RM_B32_FULL
#define RM_B32_FULL 0
#endif

/* a + b = s + e, exactly (Knuth's TwoSum), when nothing overflows. */
RM_FN vf64 vf64_two_sum(vf64 a, vf64 b, vf64 *e) {
  vf64 s = vf64_add(a, b), t = vf64_sub(s, a);
  *e = vf64_add(vf64_sub(a, vf64_sub(s, t)), vf64_sub(b, t));
  return s;
}

/* The same (Dekker's Fast2Sum) where |a| >= |b|, or where a is a multiple of the last place of b, as 0 is. */
RM_FN vf64 vf64_fast_two_sum(vf64 a, vf64 b, vf64 *e) {
  vf64 s = vf64_add(a, b);
  *e = vf64_sub(b, vf64_sub(s, a));
  return s;
}
/* a - b = d + e, exactly, under the same condition. */
RM_FN vf64 vf64_fast_two_difference(vf64 a, vf64 b, vf64 *e) {
  vf64 d = vf64_sub(a, b);
  *e = vf64_sub(vf64_sub(a, d), b);
  return d;
}
