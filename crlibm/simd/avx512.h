/* Backend of eight lanes: AVX-512 F, DQ, VL, BW with FMA and F16C. */
#ifndef RM_SIMD_AVX512_H /* a name, so that proofs can put another backend in its place */
#define RM_SIMD_AVX512_H

#include <immintrin.h>

#define RM_LANES 8
typedef __m512d vf64;
typedef __m512i vi64;
typedef __mmask8 vm64;

RM_FN vf64 vf64_load(const double *p) { return _mm512_loadu_pd(p); }
RM_FN void vf64_store(double *p, vf64 v) { _mm512_storeu_pd(p, v); }
RM_FN vf64 vf64_set1(double x) { return _mm512_set1_pd(x); }
RM_FN vf64 vf64_load_f32(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
RM_FN vf64 vf64_load_f16(const uint16_t *p) { return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p))); }
RM_FN vf64 vf64_load_bf16(const uint16_t *p) {
  __m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
  return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(w, 16)));
}
RM_FN void vf64_store_f32(float *p, vf64 v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
RM_FN void vf64_load2_f32(const float *p, vf64 v[2]) {
  const __m512i places = _mm512_set_epi32(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512 a = _mm512_permutexvar_ps(places, _mm512_loadu_ps(p));
  v[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(a)), v[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
}
RM_FN void vf64_store2_f32(float *p, const vf64 v[2]) {
  const __m512i places = _mm512_set_epi32(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
  const __m512 a = _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(v[0])), _mm512_cvtpd_ps(v[1]), 1);
  _mm512_storeu_ps(p, _mm512_permutexvar_ps(places, a));
}
RM_FN void vf64_store_halves(double *low, double *high, vf64 v) {
  _mm256_storeu_pd(low, _mm512_castpd512_pd256(v));
  _mm256_storeu_pd(high, _mm512_extractf64x4_pd(v, 1));
}
RM_FN vf64 vf64_round_f32(vf64 v) { return _mm512_cvtps_pd(_mm512_cvtpd_ps(v)); }
RM_FN void vf64_store_f16(uint16_t *p, vf64 v) {
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(_mm512_cvtpd_ps(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
RM_FN void vf64_store_bf16(uint16_t *p, vf64 v) { /* add half of the 16 dropped bits, to even */
  __m256i b = _mm256_castps_si256(_mm512_cvtpd_ps(v));
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1));
  b = _mm256_srli_epi32(_mm256_add_epi32(b, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  _mm_storeu_si128((__m128i *)p, _mm256_cvtepi32_epi16(b));
}

RM_FN vf64 vf64_add(vf64 a, vf64 b) { return _mm512_add_pd(a, b); }
RM_FN vf64 vf64_sub(vf64 a, vf64 b) { return _mm512_sub_pd(a, b); }
RM_FN vf64 vf64_mul(vf64 a, vf64 b) { return _mm512_mul_pd(a, b); }
RM_FN vf64 vf64_div(vf64 a, vf64 b) { return _mm512_div_pd(a, b); }
RM_FN vf64 vf64_sqrt(vf64 a) { return _mm512_sqrt_pd(a); }
RM_FN vf64 vf64_toward_zero(vf64 a) { return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
RM_FN vf64 vf64_min(vf64 a, vf64 b) { return _mm512_min_pd(a, b); }
RM_FN vf64 vf64_max(vf64 a, vf64 b) { return _mm512_max_pd(a, b); }
RM_FN vf64 vf64_abs(vf64 a) { return _mm512_abs_pd(a); }
RM_FN vf64 vf64_neg(vf64 a) { return _mm512_xor_pd(a, _mm512_set1_pd(-0.0)); }
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return _mm512_fmadd_pd(a, b, c); }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return _mm512_fnmadd_pd(a, b, c); }
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) { return _mm512_fmsub_pd(a, b, p); }

/* rsqrt14 is within 2^-14: h = a r0, e = 1 - h r0 has |e| <= 2^-12.99, and sqrt a = h (1 - e)^(-1/2). The series to e^3
 * leaves 35/128 e^4 < 2^-53.8; the roundings of h (half of it comes back through e) and of the result: 1.5 2^-53. Sum below
 * 2^-51.9. r = r0 (1 + e/2) leaves 3/8 e^2 < 2^-27.3. */
RM_FN vf64 vf64_root(vf64 a, vf64 *r) {
  __m512d r0 = _mm512_rsqrt14_pd(_mm512_max_pd(a, _mm512_set1_pd(0x1p-1000))), h = _mm512_mul_pd(a, r0);
  __m512d e = _mm512_fnmadd_pd(h, r0, _mm512_set1_pd(1.0)), half = _mm512_set1_pd(0.5);
  __m512d c = _mm512_fmadd_pd(e, _mm512_fmadd_pd(e, _mm512_set1_pd(0.3125), _mm512_set1_pd(0.375)), half);
  *r = _mm512_fmadd_pd(_mm512_mul_pd(r0, e), half, r0);
  return _mm512_fmadd_pd(_mm512_mul_pd(h, e), c, h);
}

/* rcp14 is within 2^-14; a Newton step squares that and rounds: |r b - 1| < 2^-27.9. q0 = RN(a r) is off by 2^-27.8, its
 * residual a - b q0 exact but for one rounding (2^-107 |a| if subnormal), and r times it leaves 2^-27.8-27.9; the sum rounds:
 * below 2^-52.6. */
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) {
  __m512d r0 = _mm512_rcp14_pd(b);
  *r = _mm512_fmadd_pd(r0, _mm512_fnmadd_pd(b, r0, _mm512_set1_pd(1.0)), r0);
  __m512d q0 = _mm512_mul_pd(a, *r);
  return _mm512_fmadd_pd(*r, _mm512_fnmadd_pd(b, q0, a), q0);
}
/* r is within 2^-14, so e = 1 - a r^2 is below 2^-13 (1 + 2^-15); 1/sqrt(a) = r (1-e)^(-1/2) = r (1 + e/2 + 3/8 e^2 + ...).
 * What is left out is below 5/16 e^3 (1 + 2^-12) < 2^-40.6, the roundings below 2^-51. a r and (a r) r neither over- nor
 * underflow. */
RM_FN vf64 vf64_rsqrt(vf64 a) {
  __m512d r = _mm512_rsqrt14_pd(a);
  __m512d e = _mm512_fnmadd_pd(_mm512_mul_pd(a, r), r, _mm512_set1_pd(1.0));
  return _mm512_fmadd_pd(_mm512_mul_pd(r, e), _mm512_fmadd_pd(e, _mm512_set1_pd(0.375), _mm512_set1_pd(0.5)), r);
}

/* r0 = (1 + d)/b, |d| < 2^-14; with e = 1 - b r0 = -d, r0 (1 + e + e^2) = (1 + d^3)/b: 2^-42, and roundings of 2^-52. */
RM_FN vf64 vf64_reciprocal(vf64 b) {
  __m512d r0 = _mm512_rcp14_pd(b), e = _mm512_fnmadd_pd(b, r0, _mm512_set1_pd(1.0));
  return _mm512_fmadd_pd(r0, _mm512_fmadd_pd(e, e, e), r0);
}

RM_FN vi64 vi64_load(const int64_t *p) { return _mm512_loadu_si512(p); }
RM_FN void vi64_store(int64_t *p, vi64 v) { _mm512_storeu_si512(p, v); }
RM_FN vi64 vi64_set1(int64_t x) { return _mm512_set1_epi64(x); }
RM_FN vi64 vi64_mul_low(vi64 a, vi64 b) { return _mm512_mul_epu32(a, b); }
RM_FN vi64 vi64_load_u32(const void *p) { return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)p)); }
RM_FN vi64 vi64_load_u32_halves(const void *low, const void *high) {
  const __m256i a = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low));
  return _mm512_cvtepu32_epi64(_mm256_inserti128_si256(a, _mm_loadu_si128((const __m128i *)high), 1));
}
RM_FN vi64 vi64_pair_numbers(void) { return _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0); }
RM_FN void vi64_store_pairs(int64_t *p, vi64 a, vi64 b) { /* within each 128 bits: lanes 0 2 4 6, then 1 3 5 7 */
  vi64_store(p, _mm512_unpacklo_epi64(a, b));
  vi64_store(p + RM_LANES, _mm512_unpackhi_epi64(a, b));
}
RM_FN vi64 vf64_bits(vf64 a) { return _mm512_castpd_si512(a); }
RM_FN vf64 vf64_from_bits(vi64 a) { return _mm512_castsi512_pd(a); }
RM_FN vi64 vi64_add(vi64 a, vi64 b) { return _mm512_add_epi64(a, b); }
RM_FN vi64 vi64_sub(vi64 a, vi64 b) { return _mm512_sub_epi64(a, b); }
RM_FN vi64 vi64_and(vi64 a, vi64 b) { return _mm512_and_si512(a, b); }
RM_FN vi64 vi64_or(vi64 a, vi64 b) { return _mm512_or_si512(a, b); }
RM_FN vi64 vi64_xor(vi64 a, vi64 b) { return _mm512_xor_si512(a, b); }
#define vi64_sll(a, n) _mm512_slli_epi64(a, n)
#define vi64_srl(a, n) _mm512_srli_epi64(a, n)
#define vi64_sra(a, n) _mm512_srai_epi64(a, n)
RM_FN vf64 vi64_to_f64(vi64 a) { return _mm512_cvtepi64_pd(a); }
RM_FN vf64 vi64_round_f64(vi64 a) { return _mm512_cvtepi64_pd(a); }
RM_FN vf64 vf64_copysign(vf64 m, vf64 s) { /* bit by bit: sign mask ? s : m */
  return _mm512_castsi512_pd(
      _mm512_ternarylogic_epi64(_mm512_set1_epi64(INT64_MIN), _mm512_castpd_si512(s), _mm512_castpd_si512(m), 0xca));
}

RM_FN vm64 vf64_lt(vf64 a, vf64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
RM_FN vm64 vf64_le(vf64 a, vf64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
RM_FN vm64 vf64_eq(vf64 a, vf64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
RM_FN vm64 vf64_ne(vf64 a, vf64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
RM_FN vm64 vf64_unord(vf64 a, vf64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
RM_FN vm64 vi64_disjoint(vi64 a, vi64 b) { return _mm512_testn_epi64_mask(a, b); }
RM_FN vm64 vi64_eq(vi64 a, vi64 b) { return _mm512_cmpeq_epi64_mask(a, b); }
RM_FN vm64 vi64_ltu(vi64 a, vi64 b) { return _mm512_cmplt_epu64_mask(a, b); }
RM_FN vm64 vm64_and(vm64 a, vm64 b) { return (vm64)(a & b); }
RM_FN vm64 vm64_or(vm64 a, vm64 b) { return (vm64)(a | b); }
RM_FN vm64 vm64_andnot(vm64 a, vm64 b) { return (vm64)(a & ~b); }
RM_FN vm64 vm64_not(vm64 a) { return (vm64)~a; }
RM_FN int vm64_none(vm64 a) { return a == 0; }
RM_FN uint32_t vm64_bits(vm64 a) { return a; }
RM_FN vf64 vf64_select(vm64 m, vf64 a, vf64 b) { return _mm512_mask_blend_pd(m, b, a); }
RM_FN vf64 vf64_lookup16(const double *t, vi64 i) {
  return _mm512_permutex2var_pd(_mm512_load_pd(t), i, _mm512_load_pd(t + 8));
}
RM_FN vi64 vi64_lookup16(const int64_t *t, vi64 i) {
  return _mm512_permutex2var_epi64(_mm512_load_si512(t), i, _mm512_load_si512(t + 8));
}
RM_FN void vf64_transpose(vf64 t[RM_LANES]) {
  vf64 a[8], b[8];
  RM_UNROLL for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_pd(t[i], t[i + 1]);
    a[i + 1] = _mm512_unpackhi_pd(t[i], t[i + 1]);
  }
  RM_UNROLL for (int i = 0; i < 8; i += 4) RM_UNROLL for (int j = 0; j < 2; j++) { /* pairs (i,i+1) with (i+2,i+3) */
    b[i + j] = _mm512_shuffle_f64x2(a[i + j], a[i + j + 2], 0x88);
    b[i + j + 2] = _mm512_shuffle_f64x2(a[i + j], a[i + j + 2], 0xdd);
  }
  RM_UNROLL for (int j = 0; j < 4; j++) {
    t[j] = _mm512_shuffle_f64x2(b[j], b[j + 4], 0x88);
    t[j + 4] = _mm512_shuffle_f64x2(b[j], b[j + 4], 0xdd);
  }
}

#define RM_HAS_STORE_BETWEEN 1
RM_FN uint32_t vf64_store_differing_f32(float *p, vf64 a, vf64 b) {
  const __m256 low = _mm512_cvtpd_ps(a);
  _mm256_storeu_ps(p, low);
  return _mm256_cmpneq_epi32_mask(_mm256_castps_si256(low), _mm256_castps_si256(_mm512_cvtpd_ps(b)));
}
RM_FN uint32_t vf64_store_between_f32(float *p, vf64 a, vf64 b) {
  const uint32_t other = vf64_store_differing_f32(p, a, b);
  return other | _mm256_fpclass_ps_mask(_mm512_cvtpd_ps(a), 0x99); /* NaN, infinities */
}

/* binary32, 16 lanes. */
#define RM_HAS_VF32 1
#define RM_B32 1
#define RM_B32_FULL 1
#define RM_B32_LANES 16
#define RM_HAS_NEIGHBOURS 1 /* neighbours.h */
typedef __m512 vf32;
typedef __m512i vi32;
typedef __mmask16 vm32;

RM_FN vf32 vf32_load_f32(const float *p) { return _mm512_loadu_ps(p); }
RM_FN vf32 vf32_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
RM_FN vf32 vf32_load_bf16(const uint16_t *p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}
RM_FN void vf32_store_f32(float *p, vf32 v) { _mm512_storeu_ps(p, v); }
RM_FN void vf32_store_f16(uint16_t *p, vf32 v) {
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
RM_FN void vf32_store_bf16(uint16_t *p, vf32 v) {
  __m512i b = _mm512_castps_si512(v);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(b, 16), _mm512_set1_epi32(1));
  b = _mm512_srli_epi32(_mm512_add_epi32(b, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(b));
}
#define RM_HAS_BF16_PAIRS 1
RM_FN void vf32_load2_bf16(const uint16_t *p, vf32 *v) { /* the numbers at even places, and at odd ones */
  const __m512i u = _mm512_loadu_si512(p);
  v[0] = _mm512_castsi512_ps(_mm512_slli_epi32(u, 16));
  v[1] = _mm512_castsi512_ps(_mm512_and_si512(u, _mm512_set1_epi32((int)0xffff0000u)));
}
RM_FN void vf32_store2_bf16(uint16_t *p, const vf32 *v) {
  __m512i r[2];
  RM_UNROLL for (int j = 0; j < 2; j++) {
    const __m512i b = _mm512_castps_si512(v[j]), odd = _mm512_and_si512(_mm512_srli_epi32(b, 16), _mm512_set1_epi32(1));
    r[j] = _mm512_add_epi32(b, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  }
  _mm512_storeu_si512(p, _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(r[0], 16), r[1]));
}
RM_FN vf32 vf32_set1(float x) { return _mm512_set1_ps(x); }
RM_FN vf32 vf32_add(vf32 a, vf32 b) { return _mm512_add_ps(a, b); }
RM_FN vf32 vf32_sub(vf32 a, vf32 b) { return _mm512_sub_ps(a, b); }
RM_FN vf32 vf32_mul(vf32 a, vf32 b) { return _mm512_mul_ps(a, b); }
RM_FN vf32 vf32_div(vf32 a, vf32 b) { return _mm512_div_ps(a, b); }
RM_FN vf32 vf32_sqrt(vf32 a) { return _mm512_sqrt_ps(a); }
RM_FN vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return _mm512_fmadd_ps(a, b, c); }
RM_FN vf32 vf32_fms(vf32 a, vf32 b, vf32 c) { return _mm512_fmsub_ps(a, b, c); }
RM_FN vf32 vf32_fnma(vf32 a, vf32 b, vf32 c) { return _mm512_fnmadd_ps(a, b, c); }
RM_FN vf32 vf32_toward_zero(vf32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
RM_FN vf32 vf32_min(vf32 a, vf32 b) { return _mm512_min_ps(a, b); }
RM_FN vf32 vf32_max(vf32 a, vf32 b) { return _mm512_max_ps(a, b); }
RM_FN vf32 vf32_abs(vf32 a) { return _mm512_abs_ps(a); }
/* rcp14 is within 2^-14; a Newton step squares that and rounds: 2^-28 + 2^-24. */
RM_FN vf32 vf32_reciprocal(vf32 b) {
  __m512 r = _mm512_rcp14_ps(b);
  return _mm512_fmadd_ps(r, _mm512_fnmadd_ps(b, r, _mm512_set1_ps(1.0f)), r);
}
/* r0 = (1 + d)/sqrt(a), |d| < 2^-14; e = 1 - a r0^2 = -2d - d^2, within 2^-24 for the rounding of a r0; r0 (1 + e/2) leaves
 * 3/2 d^2 < 2^-27.4, half of that rounding, and its own. */
RM_FN vf32 vf32_rsqrt(vf32 a) {
  const __m512 r = _mm512_rsqrt14_ps(a), e = _mm512_fnmadd_ps(_mm512_mul_ps(a, r), r, _mm512_set1_ps(1.0f));
  return _mm512_fmadd_ps(_mm512_mul_ps(r, e), _mm512_set1_ps(0.5f), r);
}
RM_FN vf32 vf32_mantissa(vf32 a) { return _mm512_getmant_ps(a, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src); }
RM_FN vf32 vf32_exponent(vf32 a) { return _mm512_getexp_ps(a); }
RM_FN vf32 vf32_mantissa1(vf32 a) { return _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero); }
RM_FN vf32 vf32_mantissa_or_nan(vf32 a) { return _mm512_getmant_ps(a, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan); }
RM_FN vf32 vf32_integer(vf32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
RM_FN vf32 vf32_scale(vf32 a, vf32 k) { return _mm512_scalef_ps(a, k); }
RM_FN vf32 vf32_copysign(vf32 m, vf32 s) { /* bit by bit: sign mask ? s : m */
  return _mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(s), _mm512_castps_si512(m), 0xca));
}
RM_FN vi32 vf32_bits(vf32 a) { return _mm512_castps_si512(a); }
RM_FN vf32 vf32_from_bits(vi32 a) { return _mm512_castsi512_ps(a); }
RM_FN vi32 vi32_set1(int32_t x) { return _mm512_set1_epi32(x); }
RM_FN vi32 vi32_add(vi32 a, vi32 b) { return _mm512_add_epi32(a, b); }
RM_FN vi32 vi32_sub(vi32 a, vi32 b) { return _mm512_sub_epi32(a, b); }
RM_FN vi32 vi32_and(vi32 a, vi32 b) { return _mm512_and_si512(a, b); }
RM_FN vi32 vi32_xor(vi32 a, vi32 b) { return _mm512_xor_si512(a, b); }
#define vi32_sll(a, n) _mm512_slli_epi32(a, n)
#define vi32_srl(a, n) _mm512_srli_epi32(a, n)
#define vi32_sra(a, n) _mm512_srai_epi32(a, n)
RM_FN vf32 vi32_to_f32(vi32 a) { return _mm512_cvtepi32_ps(a); }
RM_FN vf32 vf32_lookup32(const float *t, vi32 i) {
  return _mm512_permutex2var_ps(_mm512_load_ps(t), i, _mm512_load_ps(t + 16));
}
RM_FN vm32 vf32_ne(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
RM_FN vm32 vf32_lt(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
RM_FN vm32 vf32_nle(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ); }
RM_FN vm32 vf32_not_normal(vf32 a) { return _mm512_fpclass_ps_mask(a, 0xbf); } /* all classes but negative */
RM_FN vm32 vi32_ltu(vi32 a, vi32 b) { return _mm512_cmplt_epu32_mask(a, b); }
RM_FN vm32 vi32_geu(vi32 a, vi32 b) { return _mm512_cmpge_epu32_mask(a, b); }
RM_FN vm32 vm32_or(vm32 a, vm32 b) { return (vm32)(a | b); }
RM_FN int vm32_none(vm32 a) { return a == 0; }
RM_FN uint32_t vm32_bits(vm32 a) { return a; }
RM_FN vf32 vf32_select(vm32 m, vf32 a, vf32 b) { return _mm512_mask_blend_ps(m, b, a); }
/* Rounded down and up, x y + z gives two neighbours, one of them odd, or itself twice: rounded to odd it is the odd one. */
#define RM_HAS_FMA_TO_ODD 1
RM_FN uint32_t vf32_to_odd_begin(void) { return 0; }
RM_FN void vf32_to_odd_end(uint32_t before) { (void)before; }
RM_FN vf32 vf32_fma_to_odd(vf32 x, vf32 y, vf32 z) {
  const __m512 down = _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512 up = _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  return _mm512_mask_blend_ps(_mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1)), up, down);
}
RM_FN int vf32_all_below(vf32 a, vf32 b, float limit) {
  const __m512i size = _mm512_max_epu32(_mm512_castps_si512(_mm512_abs_ps(a)), _mm512_castps_si512(_mm512_abs_ps(b)));
  return _mm512_cmpge_epu32_mask(size, _mm512_castps_si512(_mm512_set1_ps(limit))) == 0; /* NaN is above the infinities */
}

#define RM_LOOKUP_LANES 16
RM_FN void vu16_lookup(const uint16_t *t, const uint16_t *x, uint16_t *y) {
  const __m512i i = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x));
  _mm256_storeu_si256((__m256i *)y, _mm512_cvtepi32_epi16(_mm512_i32gather_epi32(i, t, 2)));
}

#define RM_HAS_VU16 1
typedef __m256i vu16;
RM_FN void vu16_store(uint16_t *p, vu16 v) { _mm256_storeu_si256((__m256i *)p, v); }
RM_FN vf32 vf32_gather(const float *t, const uint16_t *x) {
  return _mm512_i32gather_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x)), t, 4);
}
RM_FN vf32 vf32_loads(const float *t, const uint16_t *x) {
  const rm_loose16 *i = x;
  __m128 v[4];
  RM_UNROLL for (int k = 0; k < 4; k++) {
    v[k] = _mm_setr_ps(t[i[4 * k]], t[i[4 * k + 1]], t[i[4 * k + 2]], t[i[4 * k + 3]]);
    RM_KEEP_ORDER; /* GCC loads all indices first, and keeps them in vectors: a sixth of the time */
  }
  const __m512 low = _mm512_castps256_ps512(_mm256_setr_m128(v[0], v[1]));
  return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(low), _mm256_castps_pd(_mm256_setr_m128(v[2], v[3])), 1));
}
RM_FN uint32_t vf32_round_f16(vf32 v, float rel, vu16 *y) {
  const __m256i infinity = _mm256_set1_epi16(0x7c00);
  const __m256i a =
      _mm512_cvtps_ph(_mm512_mul_ps(v, _mm512_set1_ps(1.0f - rel)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256i b =
      _mm512_cvtps_ph(_mm512_mul_ps(v, _mm512_set1_ps(1.0f + rel)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  *y = a;
  return (uint32_t)(_mm256_cmpneq_epi16_mask(a, b) | _mm256_cmpeq_epi16_mask(_mm256_and_si256(a, infinity), infinity));
}
RM_FN vu16 vf32_to_f16(vf32 v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
RM_FN uint32_t vu16_outside(const uint16_t *x, const struct rm_inputs16 in) {
  __m512i u = _mm512_loadu_si512(x);
  if (in.either_sign) u = _mm512_and_si512(u, _mm512_set1_epi16(0x7fff));
  const __m512i from_first = _mm512_sub_epi16(u, _mm512_set1_epi16((short)in.first));
  __mmask32 outside = _mm512_cmpgt_epu16_mask(from_first, _mm512_set1_epi16((short)(in.last - in.first)));
  for (int k = 0; k < 3; k++)
    if (in.but[k]) outside |= _mm512_cmpeq_epi16_mask(u, _mm512_set1_epi16((short)in.but[k]));
  return outside;
}
RM_FN uint32_t vf32_round_bf16(vf32 v, float rel, vu16 *y) {
  const int32_t b = (int32_t)(rel * 0x1p24f), kept = 0xffff & ~(b ? 2 * b - 1 : 0);
  const __m512i w = _mm512_add_epi32(_mm512_castps_si512(v), _mm512_set1_epi32(0x8000 + b));
  const __m512i infinity = _mm512_set1_epi32(0x7f800000);
  *y = _mm512_cvtepi32_epi16(_mm512_srli_epi32(w, 16)); /* b more than half of the 16 bits: the same carry, unless near */
  return (uint32_t)(_mm512_testn_epi32_mask(w, _mm512_set1_epi32(kept)) |
                    _mm512_cmpeq_epi32_mask(_mm512_and_si512(w, infinity), infinity));
}

#endif
