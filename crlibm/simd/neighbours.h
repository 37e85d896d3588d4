/* Values of binary64 rounded down, v[0], and up, v[1]: of a + b, a b and a b + c. One of two neighbours is odd, so that
 * vf32_from_both rounds two vectors of values once to binary32 (bits of NaN aside), and vf32_odd_from_both rounds them to
 * odd. vf32_from_two rounds numbers to nearest. Where RM_HAS_NEIGHBOURS is 1. */
#pragma once

#include "machine.h"

#ifndef RM_HAS_NEIGHBOURS
#define RM_HAS_NEIGHBOURS 0
#endif

#if RM_HAS_NEIGHBOURS
#define RM_DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define RM_UP (_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
RM_FN vf64 vf64_load_f32_plus_0(const float *p) { /* -0 becomes +0 */
  return _mm512_cvtps_pd(_mm256_add_ps(_mm256_loadu_ps(p), _mm256_setzero_ps()));
}
RM_FN void vf64_add_both(vf64 a, vf64 b, vf64 v[2]) {
  v[0] = _mm512_add_round_pd(a, b, RM_DOWN), v[1] = _mm512_add_round_pd(a, b, RM_UP);
}
RM_FN void vf64_mul_both(vf64 a, vf64 b, vf64 v[2]) {
  v[0] = _mm512_mul_round_pd(a, b, RM_DOWN), v[1] = _mm512_mul_round_pd(a, b, RM_UP);
}
RM_FN void vf64_fma_both(vf64 a, vf64 b, vf64 c, vf64 v[2]) {
  v[0] = _mm512_fmadd_round_pd(a, b, c, RM_DOWN), v[1] = _mm512_fmadd_round_pd(a, b, c, RM_UP);
}
RM_FN vf32 rm_join_halves(__m256 a, __m256 b) { return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1); }
RM_FN vf32 vf32_from_two(vf64 a, vf64 b) { return rm_join_halves(_mm512_cvtpd_ps(a), _mm512_cvtpd_ps(b)); }
RM_FN __m256 vf64_both_to_f32(const vf64 v[2]) {
  const __mmask8 odd = _mm512_test_epi64_mask(_mm512_castpd_si512(v[0]), _mm512_set1_epi64(1));
  return _mm512_cvtpd_ps(_mm512_mask_blend_pd(odd, v[1], v[0]));
}
RM_FN vf32 vf32_from_both(const vf64 v[2], const vf64 w[2]) {
  return rm_join_halves(vf64_both_to_f32(v), vf64_both_to_f32(w));
}
RM_FN vf32 vf32_odd_from_both(const vf64 v[2], const vf64 w[2]) {
  const vf32 down = rm_join_halves(_mm512_cvt_roundpd_ps(v[0], RM_DOWN), _mm512_cvt_roundpd_ps(w[0], RM_DOWN));
  const vf32 up = rm_join_halves(_mm512_cvt_roundpd_ps(v[1], RM_UP), _mm512_cvt_roundpd_ps(w[1], RM_UP));
  return _mm512_mask_blend_ps(_mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1)), up, down);
}
#endif
