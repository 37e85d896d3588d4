/* Backend of four lanes: AVX2 with FMA and F16C. */
#ifndef RM_SIMD_AVX2_H /* a name, so that proofs can put another backend in its place */
#define RM_SIMD_AVX2_H

#include <immintrin.h>

#define RM_LANES 4
typedef __m256d vf64;
typedef __m256i vi64;
typedef __m256d vm64;

RM_FN vf64 vf64_load(const double *p) { return _mm256_loadu_pd(p); }
RM_FN void vf64_store(double *p, vf64 v) { _mm256_storeu_pd(p, v); }
RM_FN vf64 vf64_set1(double x) { return _mm256_set1_pd(x); }
RM_FN vf64 vf64_load_f32(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
RM_FN vf64 vf64_load_f16(const uint16_t *p) { return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)p))); }
RM_FN vf64 vf64_load_bf16(const uint16_t *p) {
  __m128i w = _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)p));
  return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(w, 16)));
}
RM_FN void vf64_store_f32(float *p, vf64 v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
RM_FN void vf64_load2_f32(const float *p, vf64 v[2]) {
  const __m256 a = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));
  v[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(a)), v[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
}
RM_FN void vf64_store2_f32(float *p, const vf64 v[2]) {
  const __m128 a = _mm256_cvtpd_ps(v[0]), b = _mm256_cvtpd_ps(v[1]);
  _mm_storeu_ps(p, _mm_unpacklo_ps(a, b));
  _mm_storeu_ps(p + 4, _mm_unpackhi_ps(a, b));
}
RM_FN void vf64_store_halves(double *low, double *high, vf64 v) {
  _mm_storeu_pd(low, _mm256_castpd256_pd128(v));
  _mm_storeu_pd(high, _mm256_extractf128_pd(v, 1));
}
RM_FN vf64 vf64_round_f32(vf64 v) { return _mm256_cvtps_pd(_mm256_cvtpd_ps(v)); }
RM_FN void vf64_store_f16(uint16_t *p, vf64 v) {
  _mm_storel_epi64((__m128i *)p, _mm_cvtps_ph(_mm256_cvtpd_ps(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
RM_FN void vf64_store_bf16(uint16_t *p, vf64 v) { /* add half of the 16 dropped bits, to even */
  __m128i b = _mm_castps_si128(_mm256_cvtpd_ps(v));
  __m128i odd = _mm_and_si128(_mm_srli_epi32(b, 16), _mm_set1_epi32(1));
  b = _mm_srli_epi32(_mm_add_epi32(b, _mm_add_epi32(odd, _mm_set1_epi32(0x7fff))), 16);
  _mm_storel_epi64((__m128i *)p, _mm_packus_epi32(b, b));
}

RM_FN vf64 vf64_add(vf64 a, vf64 b) { return _mm256_add_pd(a, b); }
RM_FN vf64 vf64_sub(vf64 a, vf64 b) { return _mm256_sub_pd(a, b); }
RM_FN vf64 vf64_mul(vf64 a, vf64 b) { return _mm256_mul_pd(a, b); }
RM_FN vf64 vf64_div(vf64 a, vf64 b) { return _mm256_div_pd(a, b); }
RM_FN vf64 vf64_sqrt(vf64 a) { return _mm256_sqrt_pd(a); }
RM_FN vf64 vf64_toward_zero(vf64 a) { return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
RM_FN vf64 vf64_min(vf64 a, vf64 b) { return _mm256_min_pd(a, b); }
RM_FN vf64 vf64_max(vf64 a, vf64 b) { return _mm256_max_pd(a, b); }
RM_FN vf64 vf64_abs(vf64 a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
RM_FN vf64 vf64_neg(vf64 a) { return _mm256_xor_pd(a, _mm256_set1_pd(-0.0)); }
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return _mm256_fmadd_pd(a, b, c); }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return _mm256_fnmadd_pd(a, b, c); }
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) { return _mm256_fmsub_pd(a, b, p); }
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) { /* two roundings: 2^-52 */
  *r = _mm256_div_pd(_mm256_set1_pd(1.0), b);
  return _mm256_mul_pd(a, *r);
}
RM_FN vf64 vf64_reciprocal(vf64 b) { return vf64_div(_mm256_set1_pd(1.0), b); }
RM_FN vf64 vf64_root(vf64 a, vf64 *r) {
  vf64 s = _mm256_sqrt_pd(a);
  *r = _mm256_div_pd(_mm256_set1_pd(1.0), _mm256_max_pd(s, _mm256_set1_pd(0x1p-500)));
  return s;
}
RM_FN vf64 vf64_rsqrt(vf64 a) { return _mm256_div_pd(_mm256_set1_pd(1.0), _mm256_sqrt_pd(a)); }

RM_FN vi64 vi64_load(const int64_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
RM_FN void vi64_store(int64_t *p, vi64 v) { _mm256_storeu_si256((__m256i *)p, v); }
RM_FN vi64 vi64_set1(int64_t x) { return _mm256_set1_epi64x(x); }
RM_FN vi64 vi64_mul_low(vi64 a, vi64 b) { return _mm256_mul_epu32(a, b); }
RM_FN vi64 vi64_load_u32(const void *p) { return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)p)); }
RM_FN vi64 vi64_pair_numbers(void) { return _mm256_set_epi64x(3, 1, 2, 0); }
RM_FN void vi64_store_pairs(int64_t *p, vi64 a, vi64 b) { /* within each 128 bits: lanes 0 2, then 1 3 */
  vi64_store(p, _mm256_unpacklo_epi64(a, b));
  vi64_store(p + RM_LANES, _mm256_unpackhi_epi64(a, b));
}
RM_FN vi64 vf64_bits(vf64 a) { return _mm256_castpd_si256(a); }
RM_FN vf64 vf64_from_bits(vi64 a) { return _mm256_castsi256_pd(a); }
RM_FN vi64 vi64_add(vi64 a, vi64 b) { return _mm256_add_epi64(a, b); }
RM_FN vi64 vi64_sub(vi64 a, vi64 b) { return _mm256_sub_epi64(a, b); }
RM_FN vi64 vi64_and(vi64 a, vi64 b) { return _mm256_and_si256(a, b); }
RM_FN vi64 vi64_or(vi64 a, vi64 b) { return _mm256_or_si256(a, b); }
RM_FN vi64 vi64_xor(vi64 a, vi64 b) { return _mm256_xor_si256(a, b); }
#define vi64_sll(a, n) _mm256_slli_epi64(a, n)
#define vi64_srl(a, n) _mm256_srli_epi64(a, n)
/* No 64-bit arithmetic shift before AVX-512: shift logically with the sign bit flipped, then take its weight back. */
RM_FN vi64 vi64_sra_(vi64 a, int n) {
  vi64 t = _mm256_srli_epi64(_mm256_xor_si256(a, _mm256_set1_epi64x(INT64_MIN)), n);
  return _mm256_sub_epi64(t, _mm256_set1_epi64x((int64_t)(UINT64_C(1) << (63 - n))));
}
#define vi64_sra(a, n) vi64_sra_(a, n)
/* 2^52 + 2^51 + v has v in its low bits for |v| < 2^51. */
RM_FN vf64 vi64_to_f64(vi64 a) {
  const __m256d magic = _mm256_set1_pd(0x1.8p52);
  return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_add_epi64(a, _mm256_castpd_si256(magic))), magic);
}
/* With a = h 2^32 + l, 0 <= l < 2^32: 2^84 + (h + 2^31) 2^32 has h + 2^31 in its low bits, less 2^84 + 2^63 + 2^52 it is h
 * 2^32
 * - 2^52 exactly, and the sum with 2^52 + l rounds once. */
RM_FN vf64 vi64_round_f64(vi64 a) {
  const __m256i high = _mm256_set1_epi64x(INT64_C(0x4530000080000000));
  const __m256i low = _mm256_set1_epi64x(INT64_C(0x4330000000000000));
  __m256d h = _mm256_castsi256_pd(_mm256_xor_si256(_mm256_srli_epi64(a, 32), high));
  __m256d l = _mm256_castsi256_pd(_mm256_blend_epi32(a, low, 0xaa));
  return _mm256_add_pd(_mm256_sub_pd(h, _mm256_set1_pd(0x1.00000801p84)), l);
}
RM_FN vf64 vf64_copysign(vf64 m, vf64 s) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  return _mm256_or_pd(_mm256_andnot_pd(sign, m), _mm256_and_pd(sign, s));
}

RM_FN vm64 vf64_lt(vf64 a, vf64 b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
RM_FN vm64 vf64_le(vf64 a, vf64 b) { return _mm256_cmp_pd(a, b, _CMP_LE_OQ); }
RM_FN vm64 vf64_eq(vf64 a, vf64 b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
RM_FN vm64 vf64_ne(vf64 a, vf64 b) { return _mm256_cmp_pd(a, b, _CMP_NEQ_UQ); }
RM_FN vm64 vf64_unord(vf64 a, vf64 b) { return _mm256_cmp_pd(a, b, _CMP_UNORD_Q); }
RM_FN vm64 vi64_disjoint(vi64 a, vi64 b) {
  return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(a, b), _mm256_setzero_si256()));
}
RM_FN vm64 vi64_eq(vi64 a, vi64 b) { return _mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)); }
RM_FN vm64 vi64_ltu(vi64 a, vi64 b) { /* signed comparison with both sign bits flipped */
  const __m256i s = _mm256_set1_epi64x(INT64_MIN);
  return _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_xor_si256(b, s), _mm256_xor_si256(a, s)));
}
RM_FN vm64 vm64_and(vm64 a, vm64 b) { return _mm256_and_pd(a, b); }
RM_FN vm64 vm64_or(vm64 a, vm64 b) { return _mm256_or_pd(a, b); }
RM_FN vm64 vm64_andnot(vm64 a, vm64 b) { return _mm256_andnot_pd(b, a); }
RM_FN vm64 vm64_not(vm64 a) { return _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1))); }
RM_FN int vm64_none(vm64 a) { return _mm256_testz_pd(a, a); }
RM_FN uint32_t vm64_bits(vm64 a) { return (uint32_t)_mm256_movemask_pd(a); }
RM_FN vf64 vf64_select(vm64 m, vf64 a, vf64 b) { return _mm256_blendv_pd(b, a, m); }
RM_FN vf64 vf64_lookup16(const double *t, vi64 i) {
  return _mm256_i64gather_pd(t, _mm256_and_si256(i, _mm256_set1_epi64x(15)), 8);
}
RM_FN vi64 vi64_lookup16(const int64_t *t, vi64 i) {
  return _mm256_i64gather_epi64((const long long *)t, _mm256_and_si256(i, _mm256_set1_epi64x(15)), 8);
}
RM_FN void vf64_transpose(vf64 t[RM_LANES]) {
  vf64 a = _mm256_unpacklo_pd(t[0], t[1]), b = _mm256_unpackhi_pd(t[0], t[1]);
  vf64 c = _mm256_unpacklo_pd(t[2], t[3]), d = _mm256_unpackhi_pd(t[2], t[3]);
  t[0] = _mm256_permute2f128_pd(a, c, 0x20);
  t[1] = _mm256_permute2f128_pd(b, d, 0x20);
  t[2] = _mm256_permute2f128_pd(a, c, 0x31);
  t[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

#define RM_HAS_STORE_BETWEEN 1
RM_FN uint32_t vf64_store_differing_f32(float *p, vf64 a, vf64 b) {
  const __m128 low = _mm256_cvtpd_ps(a);
  _mm_storeu_ps(p, low);
  return 0xfu ^ (uint32_t)_mm_movemask_ps(
                    _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_castps_si128(low), _mm_castps_si128(_mm256_cvtpd_ps(b)))));
}
RM_FN uint32_t vf64_store_between_f32(float *p, vf64 a, vf64 b) {
  const __m128 low = _mm256_cvtpd_ps(a),
               finite = _mm_cmplt_ps(_mm_andnot_ps(_mm_set1_ps(-0.0f), low), _mm_set1_ps(__builtin_inff()));
  const __m128i same = _mm_cmpeq_epi32(_mm_castps_si128(low), _mm_castps_si128(_mm256_cvtpd_ps(b)));
  _mm_storeu_ps(p, low);
  return 0xfu ^ (uint32_t)_mm_movemask_ps(_mm_and_ps(finite, _mm_castsi128_ps(same)));
}

#define RM_HAS_VF32 1
typedef __m256 vf32;

RM_FN vf32 vf32_load_f32(const float *p) { return _mm256_loadu_ps(p); }
RM_FN vf32 vf32_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
RM_FN vf32 vf32_load_bf16(const uint16_t *p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
RM_FN void vf32_store_f32(float *p, vf32 v) { _mm256_storeu_ps(p, v); }
RM_FN void vf32_store_f16(uint16_t *p, vf32 v) {
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
RM_FN void vf32_store_bf16(uint16_t *p, vf32 v) {
  __m256i b = _mm256_castps_si256(v);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1));
  b = _mm256_srli_epi32(_mm256_add_epi32(b, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  b = _mm256_permute4x64_epi64(_mm256_packus_epi32(b, b), 0x08); /* packed within each half */
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(b));
}
#define RM_HAS_BF16_PAIRS 1
RM_FN void vf32_load2_bf16(const uint16_t *p, vf32 *v) { /* the numbers at even places, and at odd ones */
  const __m256i u = _mm256_loadu_si256((const __m256i *)p);
  v[0] = _mm256_castsi256_ps(_mm256_slli_epi32(u, 16));
  v[1] = _mm256_castsi256_ps(_mm256_and_si256(u, _mm256_set1_epi32((int)0xffff0000u)));
}
RM_FN void vf32_store2_bf16(uint16_t *p, const vf32 *v) {
  __m256i r[2];
  RM_UNROLL for (int j = 0; j < 2; j++) {
    const __m256i b = _mm256_castps_si256(v[j]), odd = _mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1));
    r[j] = _mm256_add_epi32(b, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  }
  _mm256_storeu_si256((__m256i *)p, _mm256_blend_epi16(_mm256_srli_epi32(r[0], 16), r[1], 0xaa));
}
RM_FN vf32 vf32_add(vf32 a, vf32 b) { return _mm256_add_ps(a, b); }
RM_FN vf32 vf32_sub(vf32 a, vf32 b) { return _mm256_sub_ps(a, b); }
RM_FN vf32 vf32_mul(vf32 a, vf32 b) { return _mm256_mul_ps(a, b); }
RM_FN vf32 vf32_div(vf32 a, vf32 b) { return _mm256_div_ps(a, b); }
RM_FN vf32 vf32_sqrt(vf32 a) { return _mm256_sqrt_ps(a); }
RM_FN vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return _mm256_fmadd_ps(a, b, c); }

#define RM_B32 1
#define RM_B32_LANES 8
typedef __m256i vi32;
typedef __m256 vm32; /* a lane is all ones or all zeros */

RM_FN vf32 vf32_set1(float x) { return _mm256_set1_ps(x); }
RM_FN vf32 vf32_fms(vf32 a, vf32 b, vf32 c) { return _mm256_fmsub_ps(a, b, c); }
RM_FN vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return _mm256_fnmadd_ps(a, b, c); }
RM_FN vf32 vf32_toward_zero(vf32 a) { return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
RM_FN vf32 vf32_min(vf32 a, vf32 b) { return _mm256_min_ps(a, b); }
RM_FN vf32 vf32_max(vf32 a, vf32 b) { return _mm256_max_ps(a, b); }
RM_FN vf32 vf32_abs(vf32 a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
RM_FN vf32 vf32_reciprocal(vf32 b) { return _mm256_div_ps(_mm256_set1_ps(1.0f), b); }
/* As in avx512.h, with |d| <= 1.5 2^-12: 3/2 d^2 < 2^-22.2; with the roundings, as there, below 2^-21.7. */
RM_FN vf32 vf32_rsqrt(vf32 a) {
  const __m256 r = _mm256_rsqrt_ps(a), e = _mm256_fnmadd_ps(_mm256_mul_ps(a, r), r, _mm256_set1_ps(1.0f));
  return _mm256_fmadd_ps(_mm256_mul_ps(r, e), _mm256_set1_ps(0.5f), r);
}
RM_FN vi32 vf32_bits(vf32 a) { return _mm256_castps_si256(a); }
RM_FN vf32 vf32_from_bits(vi32 a) { return _mm256_castsi256_ps(a); }
RM_FN vi32 vi32_set1(int32_t x) { return _mm256_set1_epi32(x); }
RM_FN vi32 vi32_add(vi32 a, vi32 b) { return _mm256_add_epi32(a, b); }
RM_FN vi32 vi32_sub(vi32 a, vi32 b) { return _mm256_sub_epi32(a, b); }
RM_FN vi32 vi32_and(vi32 a, vi32 b) { return _mm256_and_si256(a, b); }
RM_FN vi32 vi32_xor(vi32 a, vi32 b) { return _mm256_xor_si256(a, b); }
#define vi32_sll(a, n) _mm256_slli_epi32(a, n)
#define vi32_srl(a, n) _mm256_srli_epi32(a, n)
#define vi32_sra(a, n) _mm256_srai_epi32(a, n)
RM_FN vf32 vi32_to_f32(vi32 a) { return _mm256_cvtepi32_ps(a); }
RM_FN vf32 vf32_mantissa(vf32 a) { /* less the exponent of a/0.75 */
  const vi32 above = vi32_sub(vf32_bits(a), vi32_set1(0x3f400000));
  return vf32_from_bits(vi32_sub(vf32_bits(a), vi32_and(above, vi32_set1((int32_t)0xff800000))));
}
/* By two normal factors, of which the second product alone can round. */
RM_FN vf32 vf32_scale(vf32 a, vf32 k) {
  const vf32 beyond = _mm256_cmp_ps(vf32_abs(k), vf32_set1(252.0f), _CMP_NLE_UQ);
  const vi32 n = _mm256_cvtps_epi32(_mm256_floor_ps(k)), half = vi32_sra(n, 1), one = vi32_set1(127);
  const vi32 first = _mm256_slli_epi32(vi32_add(half, one), 23),
             second = _mm256_slli_epi32(vi32_add(vi32_sub(n, half), one), 23);
  return _mm256_or_ps(beyond, vf32_mul(vf32_mul(a, vf32_from_bits(first)), vf32_from_bits(second)));
}
RM_FN vf32 vf32_copysign(vf32 m, vf32 s) {
  const vf32 sign = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_and_ps(sign, s), _mm256_andnot_ps(sign, m));
}
/* Permutations take the low three bits of i, blends the sign bit. */
RM_FN vf32 vf32_lookup32(const float *t, vi32 i) {
  const vf32 bit3 = vf32_from_bits(_mm256_slli_epi32(i, 28)), bit4 = vf32_from_bits(_mm256_slli_epi32(i, 27));
  const vf32 a = _mm256_permutevar8x32_ps(_mm256_load_ps(t), i), b = _mm256_permutevar8x32_ps(_mm256_load_ps(t + 8), i);
  const vf32 c = _mm256_permutevar8x32_ps(_mm256_load_ps(t + 16), i), d = _mm256_permutevar8x32_ps(_mm256_load_ps(t + 24), i);
  return _mm256_blendv_ps(_mm256_blendv_ps(a, b, bit3), _mm256_blendv_ps(c, d, bit3), bit4);
}
RM_FN vm32 vf32_ne(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
RM_FN vm32 vf32_lt(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
RM_FN vm32 vf32_nle(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_NLE_UQ); }
RM_FN vm32 vi32_geu(vi32 a, vi32 b) { return vf32_from_bits(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a)); }
RM_FN vm32 vi32_ltu(vi32 a, vi32 b) {
  const vi32 sign = vi32_set1(INT32_MIN);
  return vf32_from_bits(_mm256_cmpgt_epi32(_mm256_xor_si256(b, sign), _mm256_xor_si256(a, sign)));
}
RM_FN vm32 vf32_not_normal(vf32 a) {
  return vi32_geu(vi32_sub(vf32_bits(vf32_abs(a)), vi32_set1(0x00800000)), vi32_set1(0x7f000000));
}
RM_FN vm32 vm32_or(vm32 a, vm32 b) { return _mm256_or_ps(a, b); }
RM_FN int vm32_none(vm32 a) { return _mm256_testz_ps(a, a); }
RM_FN uint32_t vm32_bits(vm32 a) { return (uint32_t)_mm256_movemask_ps(a); }
RM_FN vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return _mm256_blendv_ps(b, a, m); }

/* As in avx512.h, with the rounding downwards of the control register, and up(v) = -down(-v). Between begin and end, loads
 * and stores keep the operations where they are: they depend on them. */
#define RM_HAS_FMA_TO_ODD 1
RM_FN uint32_t vf32_to_odd_begin(void) {
  const uint32_t before = _mm_getcsr();
  _mm_setcsr((before & ~(uint32_t)_MM_ROUND_MASK) | _MM_ROUND_DOWN);
  RM_KEEP_ORDER;
  return before;
}
RM_FN void vf32_to_odd_end(uint32_t before) {
  RM_KEEP_ORDER;
  _mm_setcsr(before);
}
RM_FN vf32 vf32_fma_to_odd(vf32 x, vf32 y, vf32 z) {
  const __m256 down = _mm256_fmadd_ps(x, y, z), up = _mm256_xor_ps(_mm256_set1_ps(-0.0f), _mm256_fnmsub_ps(x, y, z));
  return _mm256_blendv_ps(up, down, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(down), 31)));
}
RM_FN int vf32_all_below(vf32 a, vf32 b, float limit) {
  const __m256i size = _mm256_set1_epi32(INT32_MAX), end = _mm256_castps_si256(_mm256_set1_ps(limit));
  const __m256i most =
      _mm256_max_epi32(_mm256_and_si256(_mm256_castps_si256(a), size), _mm256_and_si256(_mm256_castps_si256(b), size));
  return _mm256_movemask_epi8(_mm256_cmpgt_epi32(end, most)) == -1; /* NaN is above the infinities */
}

#define RM_LOOKUP_LANES 16
RM_FN void vu16_lookup(const uint16_t *t, const uint16_t *x, uint16_t *y) {
  const __m256i low = _mm256_set1_epi32(0xffff);
  __m256i a = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x));
  __m256i b = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(x + 8)));
  a = _mm256_and_si256(_mm256_i32gather_epi32((const int *)(const void *)t, a, 2), low);
  b = _mm256_and_si256(_mm256_i32gather_epi32((const int *)(const void *)t, b, 2), low);
  /* packed within each half */
  _mm256_storeu_si256((__m256i *)y, _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8));
}

#define RM_HAS_VU16 1
typedef __m128i vu16;
RM_FN void vu16_store(uint16_t *p, vu16 v) { _mm_storeu_si128((__m128i *)p, v); }
RM_FN vf32 vf32_gather(const float *t, const uint16_t *x) {
  return _mm256_i32gather_ps(t, _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x)), 4);
}
RM_FN vf32 vf32_loads(const float *t, const uint16_t *x) {
  const rm_loose16 *i = x;
  return _mm256_setr_ps(t[i[0]], t[i[1]], t[i[2]], t[i[3]], t[i[4]], t[i[5]], t[i[6]], t[i[7]]);
}
RM_FN uint32_t vf32_round_f16(vf32 v, float rel, vu16 *y) {
  const __m128i infinity = _mm_set1_epi16(0x7c00);
  const __m128i a =
      _mm256_cvtps_ph(_mm256_mul_ps(v, _mm256_set1_ps(1.0f - rel)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m128i b =
      _mm256_cvtps_ph(_mm256_mul_ps(v, _mm256_set1_ps(1.0f + rel)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m128i finite = _mm_cmpgt_epi16(infinity, _mm_and_si128(a, infinity)), same = _mm_cmpeq_epi16(a, b);
  *y = a;
  return 0xffu ^ (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_and_si128(finite, same), _mm_setzero_si128()));
}
RM_FN vu16 vf32_to_f16(vf32 v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
RM_FN uint32_t vu16_outside(const uint16_t *x, const struct rm_inputs16 in) {
  __m256i u = _mm256_loadu_si256((const __m256i *)x);
  if (in.either_sign) u = _mm256_and_si256(u, _mm256_set1_epi16(0x7fff));
  const __m256i span = _mm256_set1_epi16((short)(in.last - in.first)),
                from_first = _mm256_sub_epi16(u, _mm256_set1_epi16((short)in.first));
  __m256i inside = _mm256_cmpeq_epi16(_mm256_max_epu16(from_first, span), span);
  for (int k = 0; k < 3; k++)
    if (in.but[k]) inside = _mm256_andnot_si256(_mm256_cmpeq_epi16(u, _mm256_set1_epi16((short)in.but[k])), inside);
  if (RM_LIKELY(_mm256_movemask_epi8(inside) == -1)) return 0;
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(inside), _mm256_extracti128_si256(inside, 1));
  return 0xffffu ^ (uint32_t)_mm_movemask_epi8(bytes);
}
RM_FN uint32_t vf32_round_bf16(vf32 v, float rel, vu16 *y) {
  const int32_t b = (int32_t)(rel * 0x1p24f), kept = 0xffff & ~(b ? 2 * b - 1 : 0);
  const __m256i w = _mm256_add_epi32(_mm256_castps_si256(v), _mm256_set1_epi32(0x8000 + b));
  const __m256i r = _mm256_srli_epi32(w, 16), infinity = _mm256_set1_epi32(0x7f800000); /* as in avx512.h */
  const __m256i near = _mm256_cmpeq_epi32(_mm256_and_si256(w, _mm256_set1_epi32(kept)), _mm256_setzero_si256());
  const __m256i undecided = _mm256_or_si256(near, _mm256_cmpeq_epi32(_mm256_and_si256(w, infinity), infinity));
  *y = _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(r, r), 0x08)); /* packed within each half */
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(undecided));
}

#endif
