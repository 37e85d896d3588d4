/* Vectors of 64 bytes, beside AVX-512: what lays out operands of 16 bits for tiles (amx.h) and for products of pairs
 * (bf16.h), and rounds their sums. */
#pragma once

#include <immintrin.h>

#include "simd.h"

/* 64 bytes. */
typedef __m512i vbytes;
RM_FN vbytes vbytes_zero(void) { return _mm512_setzero_si512(); }
RM_FN vbytes vbytes_load(const void *p) { return _mm512_loadu_si512(p); }
RM_FN void vbytes_store(void *p, vbytes v) { _mm512_storeu_si512(p, v); }
/* The first n numbers of 16 bits, n <= 32; zeros behind them, which are not read. */
RM_FN vbytes vbytes_load_16(const void *p, int n) { return _mm512_maskz_loadu_epi16((__mmask32)((UINT64_C(1) << n) - 1), p); }
/* Pairs of the first 16 numbers of 16 bits of a and b, and of the last ones. */
RM_FN void vbytes_pairs(vbytes a, vbytes b, vbytes *first, vbytes *last) {
  const vbytes low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
  const vbytes to_first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
               to_last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  *first = _mm512_permutex2var_epi64(low, to_first, high);
  *last = _mm512_permutex2var_epi64(low, to_last, high);
}
/* Transposes 16 x 16 words of four bytes, whose rows lie so many bytes apart. */
RM_FN void vbytes_transpose(char *to, ptrdiff_t to_apart, const char *from, ptrdiff_t from_apart) {
  vbytes a[16], b[16];
  RM_UNROLL for (int i = 0; i < 16; i++) a[i] = vbytes_load(from + from_apart * i);
  RM_UNROLL for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  RM_UNROLL for (int i = 0; i < 16; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  RM_UNROLL for (int i = 0; i < 4; i++) {
    const vbytes p = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88), q = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xdd),
                 r = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88), s = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xdd);
    vbytes_store(to + to_apart * i, _mm512_shuffle_i32x4(p, r, 0x88));
    vbytes_store(to + to_apart * (i + 4), _mm512_shuffle_i32x4(q, s, 0x88));
    vbytes_store(to + to_apart * (i + 8), _mm512_shuffle_i32x4(p, r, 0xdd));
    vbytes_store(to + to_apart * (i + 12), _mm512_shuffle_i32x4(q, s, 0xdd));
  }
}

RM_FN float vf32_sum_lanes(vf32 a) { return _mm512_reduce_add_ps(a); }
RM_FN vf32 vf32_of_halves(vf64 low, vf64 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}

/* Stores the lanes of low, rounded to bf16, and returns those in which high rounds to other bits; both are finite after
 * rounding. */
RM_FN uint32_t vf32_store_between_bf16(uint16_t *p, vf32 low, vf32 high) {
  const __m512i one = _mm512_set1_epi32(1), half = _mm512_set1_epi32(0x7fff);
  const __m512i l = _mm512_castps_si512(low), h = _mm512_castps_si512(high);
  const __m512i rl =
      _mm512_srli_epi32(_mm512_add_epi32(l, _mm512_add_epi32(half, _mm512_and_si512(_mm512_srli_epi32(l, 16), one))), 16);
  const __m512i rh =
      _mm512_srli_epi32(_mm512_add_epi32(h, _mm512_add_epi32(half, _mm512_and_si512(_mm512_srli_epi32(h, 16), one))), 16);
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(rl));
  return _mm512_cmpneq_epi32_mask(rl, rh);
}
