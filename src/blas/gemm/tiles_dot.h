/* The dot product of two rows of 16-bit numbers that are neighbours in memory, in binary64 and vectors of eight lanes: for
 * elements that the sums of digits leave undecided (tiles.c).
 *
 * No term passes more additions than bound_b64.h allows before the bias, min(K, 128) + ceil(K/128) - 2: chains in 32 lanes,
 * of ceil(K/32) <= 128 steps, have ceil(K/32) - 1 of them, and 5 follow where the lanes are joined. That is ceil(K/32) + 4,
 * and K >= RM_TILES_MIN_K (proofs/depth). */
#pragma once

#include "../../common/elements.h"

enum { RM_TILES_DOT_JOINS = 3 };

/* Eight sums, each of every eighth product: four chains, joined by two additions. */
RM_FN vf64 rm_tiles_dot_lanes(const char *a, const char *b, int64_t k, const int fmt) {
  enum { SOME = 4 * RM_LANES };
  vf64 s[4] = {vf64_set1(0.0), vf64_set1(0.0), vf64_set1(0.0), vf64_set1(0.0)};
  for (int64_t q = 0; q < k; q += SOME) {
    char left[2][2 * SOME] = {{0}};
    const char *x = a + 2 * q, *y = b + 2 * q;
    if (RM_UNLIKELY(q + SOME > k)) {
      __builtin_memcpy(left[0], x, (size_t)(2 * (k - q)));
      __builtin_memcpy(left[1], y, (size_t)(2 * (k - q)));
      x = left[0], y = left[1];
    }
    RM_UNROLL for (int h = 0; h < 4; h++) s[h] =
        vf64_mad(rm_load_elements(x + 2 * RM_LANES * h, fmt), rm_load_elements(y + 2 * RM_LANES * h, fmt), s[h]);
  }
  return vf64_add(vf64_add(s[0], s[1]), vf64_add(s[2], s[3]));
}

#if RM_LANES == 8
/* Their sum: RM_TILES_DOT_JOINS more additions for each. */
RM_FN double rm_tiles_dot(const char *a, const char *b, int64_t k, const int fmt) {
  double l[RM_LANES];
  vf64_store(l, rm_tiles_dot_lanes(a, b, k, fmt));
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}
#endif
