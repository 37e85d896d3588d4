/* The sums of a tile of products of bf16 matrices, in chains of binary32 (bound_b32.h), over a vocabulary that the file which
 * includes this has chosen (crlibm/simd/bf16.h, or proofs/depth/pairs.c, which counts the roundings). */
#pragma once

#include "bound_b32.h"

enum { RM_CHAIN_ROWS = 8, RM_CHAIN_WIDE = 3, RM_CHAIN_SIDE = RM_CHAIN_WIDE * 16, RM_CHAIN_WORDS = 4 * RM_CHAIN_SIDE };

/* The sums of a tile over some chains of a panel. */
static void rm_add_chains(const char *a, ptrdiff_t stride, const char *b, int chains, float *sums) {
  for (int g = 0; g < chains; g++) {
    vf32 sum[RM_CHAIN_ROWS][RM_CHAIN_WIDE];
    RM_UNROLL for (int i = 0; i < RM_CHAIN_ROWS; i++) RM_UNROLL for (int v = 0; v < RM_CHAIN_WIDE; v++) sum[i][v] =
        vf32_set1(0.0f);
    for (int q = 0; q < RM_CHAIN_PAIRS; q++, a += 4, b += RM_CHAIN_WORDS) {
      vbytes y[RM_CHAIN_WIDE];
      RM_UNROLL for (int v = 0; v < RM_CHAIN_WIDE; v++) y[v] = vbytes_load(b + 64 * v);
      RM_UNROLL for (int i = 0; i < RM_CHAIN_ROWS; i++) {
        const vbytes x = vbytes_pair(a + i * stride);
        RM_UNROLL for (int v = 0; v < RM_CHAIN_WIDE; v++) sum[i][v] = vf32_add_pairs(sum[i][v], x, y[v]);
      }
    }
    RM_UNROLL for (int i = 0; i < RM_CHAIN_ROWS; i++) RM_UNROLL for (int v = 0; v < RM_CHAIN_WIDE; v++) {
      float *const at = sums + (i * RM_CHAIN_WIDE + v) * 16;
      vf32_store_f32(at, g ? vf32_add(vf32_load_f32(at), sum[i][v]) : sum[i][v]);
    }
  }
}

/* The sums of RM_CHAIN_ROWS rows of a, `stride` bytes apart, and a packed panel over all pairs of k. totals: room for those
 * of the groups. */
static void rm_sums_of_chains(const char *a, ptrdiff_t stride, const char *b, int64_t pairs, float *sums, double *totals) {
  const int64_t groups = (pairs + RM_GROUP_PAIRS - 1) / RM_GROUP_PAIRS;
  for (int64_t n = 0, left = pairs; n < groups; n++, left -= RM_GROUP_PAIRS) {
    const int chains = (int)(left < RM_GROUP_PAIRS ? left : RM_GROUP_PAIRS) / RM_CHAIN_PAIRS;
    rm_add_chains(a + n * 4 * RM_GROUP_PAIRS, stride, b + n * RM_GROUP_PAIRS * RM_CHAIN_WORDS, chains, sums);
    if (groups == 1) return;
    for (int q = 0; q < RM_CHAIN_ROWS * RM_CHAIN_SIDE; q += RM_LANES) {
      const vf64 sum = vf64_load_f32(sums + q);
      vf64_store(totals + q, n ? vf64_add(vf64_load(totals + q), sum) : sum);
    }
  }
  for (int q = 0; q < RM_CHAIN_ROWS * RM_CHAIN_SIDE; q += 16) vf32_store_f32(sums + q, vf32_load_rounded(totals + q));
}
