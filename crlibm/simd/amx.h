/* Tiles: registers of 16 rows of 64 bytes, and the exact product of two matrices of small integers (Intel's AMX-TILE and
 * AMX-INT8), beside AVX-512.
 *
 * c += a b, where a is 16 rows of 64 signed bytes and c 16 x 16 integers of 32 bits. Row r of b has four bytes for each
 * column of c, those of k = 4 r to 4 r + 3. With 16 columns of 64 bytes as rows, b is their transpose as a matrix of words
 * of four bytes. */
#pragma once

#include <immintrin.h>

#include "bytes.h"

enum { RM_TILE_SIDE = 16, RM_TILE_K = 64, RM_TILE_BYTES = 1024 };

/* All eight tiles are whole. Between the two calls the thread has tiles; after the second one there are none that a switch
 * of threads would save. */
RM_FN void rm_tiles_begin(void) {
  uint8_t config[64] __attribute__((aligned(64))) = {1};
  for (int t = 0; t < 8; t++) config[16 + 2 * t] = RM_TILE_K, config[48 + t] = RM_TILE_SIDE;
  RM_KEEP_ORDER;
  _tile_loadconfig(config);
  RM_KEEP_ORDER;
}
RM_FN void rm_tiles_end(void) { _tile_release(); }

/* The number of a tile is a constant. Rows lie side by side. */
#define RM_TILE_LOAD(t, at) _tile_loadd(t, at, 64)
#define RM_TILE_STORE(t, at) _tile_stored(t, at, 64)
#define RM_TILE_ZERO(t) _tile_zero(t)
#define RM_TILE_MULTIPLY(c, a, b) _tile_dpbssd(c, a, b)

/* The bits of a where the mask has ones, those of b elsewhere. */
RM_FN vi32 vi32_select_bits(int32_t mask, vi32 a, vi32 b) {
  return _mm512_ternarylogic_epi32(_mm512_set1_epi32(mask), a, b, 0xca);
}
RM_FN vi32 vi32_max(vi32 a, vi32 b) { return _mm512_max_epi32(a, b); }
RM_FN vi32 vi32_or(vi32 a, vi32 b) { return _mm512_or_si512(a, b); }
RM_FN int32_t vi32_max_lanes(vi32 a) { return _mm512_reduce_max_epi32(a); }
/* To nearest even; exact from integers below 2^53. */
RM_FN vi32 vf32_to_i32(vf32 a) { return _mm512_cvtps_epi32(a); }
RM_FN vf64 vf64_load_i32(const int32_t *p) { return _mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)p)); }
/* The same of f16. */
RM_FN uint32_t vf32_store_between_f16(uint16_t *p, vf32 low, vf32 high) {
  const __m256i l = _mm512_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                h = _mm512_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_storeu_si256((__m256i *)p, l);
  return _mm256_cmpneq_epi16_mask(l, h);
}
