/* Products of pairs of bf16 numbers, added up in binary32 (AVX512-BF16), beside AVX-512.
 *
 * The instruction adds a_1 b_1 and a_0 b_0, products of 16 bits and exact, to a sum in binary32, by two additions. Each is
 * rounded to nearest; inputs that are subnormal count as zeros, and sums below 2^-126 become zeros. MXCSR has no influence,
 * and no flag is raised (Intel's manual of the instruction set, VDPBF16PS; tests/c/test_bf16.c looks at the CPU it runs
 * on). */
#pragma once

#include "bytes.h"

/* sum + a_1 b_1 + a_0 b_0 in each lane, whose words of four bytes are the pairs. */
RM_FN vf32 vf32_add_pairs(vf32 sum, vbytes a, vbytes b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
/* The pair at p in all lanes. */
RM_FN vbytes vbytes_pair(const char *p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, 4);
  return _mm512_set1_epi32(pair);
}

/* What classes of numbers are among bf16 numbers: their magnitudes' largest bits, and the least less 1, where 0 counts as the
 * largest. */
typedef struct {
  vbytes most, least;
} vbytes_range;
RM_FN vbytes_range vbytes_range_of_none(void) { return (vbytes_range){vbytes_zero(), _mm512_set1_epi16(-1)}; }
RM_FN void vbytes_range_add(vbytes_range *r, vbytes v) {
  const vbytes magnitude = _mm512_and_si512(v, _mm512_set1_epi16(0x7fff));
  r->most = _mm512_max_epu16(r->most, magnitude);
  r->least = _mm512_min_epu16(r->least, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));
}
/* The words of both whose numbers all were zeros. */
RM_FN uint32_t vbytes_zero_words(vbytes_range r) { return (uint32_t)_mm512_testn_epi32_mask(r.most, r.most); }
RM_FN int vbytes_are_zeros(vbytes_range r) { return _mm512_test_epi16_mask(r.most, r.most) == 0; }
/* Whether each number is 0 or normal. */
RM_FN int vbytes_are_normal(vbytes_range r) {
  return (_mm512_cmpge_epu16_mask(r.most, _mm512_set1_epi16(0x7f80)) |
          _mm512_cmplt_epu16_mask(r.least, _mm512_set1_epi16(0x7f))) == 0;
}

/* Numbers of binary64 in two vectors, rounded. */
RM_FN vf32 vf32_load_rounded(const double *p) { return vf32_of_halves(vf64_load(p), vf64_load(p + 8)); }
