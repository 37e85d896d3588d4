/* The microkernel of the double-double engine: sums of products to about 2^-100 of the largest possible sum.
 *
 * Operands are scaled so that every exact partial sum is below 1/2 in magnitude (exponent_scaling.h). S starts at the
 * constant 3, so S and t = RN(S + ab) stay in [2, 4) and are multiples of 2^-51; d = t - S is exact, and ab = d + r with |r|
 * <= 2^-52. The remainders are added up in a second accumulator. Four operations a product with FMA:
 *
 *   t = fma(a, b, S);  d = t - S;  low += fma(a, b, -d);  S = t
 *
 * Without FMA: p = RN(ab), e = ab - p, t = RN(S + p), d = t - S, low += (p - d) + e, where p - d is exact (fast two-sum).
 *
 * Errors of one chain of n terms: |r| <= 2^-52 (with FMA), |(p - d) + e| <= 2^-52 + 2^-53 (without); so with room a remainder
 * is below 2^-51, low below n 2^-51, the remainder's rounding errs by u 2^-51, that of the k-th addition by u k 2^-51:
 *   |S - 3 + low - sum| <= 2^-104 (n + n (n+1)/2) <= 2^-105 (n + 2)^2.
 * Underflow: a remainder or its parts may lose 2^-1075 a few times over; below 2^-1070 n in all, absorbed by the excess
 * n + 4 of (n + 2)^2 over 2n + n (n+1). */
#pragma once

#include "tile.h"

/* Adds the product of the panels a (kc x AW2, of which MR2 lines are used) and b (kc x nv RM_LANES) to the tile of pairs
 * (hi, lo), or sets it. */
RM_FN void rm_micro_dd_body(const int nv, int64_t kc, const double *RM_RESTRICT a, const double *RM_RESTRICT b,
                            double *RM_RESTRICT hi, double *RM_RESTRICT lo, int first) {
  vf64 sum[RM_MR2][RM_NV2], low[RM_MR2][RM_NV2];
  RM_UNROLL for (int i = 0; i < RM_MR2; i++) RM_UNROLL for (int v = 0; v < nv; v++) {
    sum[i][v] = vf64_set1(3.0);
    low[i][v] = vf64_set1(0.0);
  }
  for (int64_t k = 0; k < kc; k++, a += RM_AW2, b += nv * RM_LANES) {
    vf64 bk[RM_NV2];
    RM_UNROLL for (int v = 0; v < nv; v++) bk[v] = vf64_load(b + v * RM_LANES);
    RM_UNROLL for (int i = 0; i < RM_MR2; i++) {
      vf64 ai = vf64_set1(a[i]);
      RM_UNROLL for (int v = 0; v < nv; v++) {
#if RM_HAS_FMA
        vf64 t = vf64_mad(ai, bk[v], sum[i][v]), d = vf64_sub(t, sum[i][v]);
        low[i][v] = vf64_add(low[i][v], vf64_mul_err(ai, bk[v], d)); /* ab - d, rounded: d is no product here */
#else
        vf64 p = vf64_mul(ai, bk[v]), e = vf64_mul_err(ai, bk[v], p);
        vf64 t = vf64_add(sum[i][v], p), d = vf64_sub(t, sum[i][v]);
        low[i][v] = vf64_add(low[i][v], vf64_add(vf64_sub(p, d), e));
#endif
        sum[i][v] = t;
      }
    }
  }
  RM_UNROLL for (int i = 0; i < RM_MR2; i++) RM_UNROLL for (int v = 0; v < nv; v++) {
    int at = (i * nv + v) * RM_LANES;
    vf64 h = vf64_sub(sum[i][v], vf64_set1(3.0)), l = low[i][v]; /* exact */
    if (!first) { /* (hi, lo) += (h, l), by a two-sum of the high parts */
      vf64 err;
      h = vf64_two_sum(vf64_load(hi + at), h, &err);
      l = vf64_add(vf64_load(lo + at), vf64_add(err, l));
    }
    vf64_store(hi + at, h);
    vf64_store(lo + at, l);
  }
}

typedef void rm_micro_dd_fn(int64_t kc, const double *a, const double *b, double *hi, double *lo, int first);
static void rm_micro_dd_1(int64_t kc, const double *a, const double *b, double *hi, double *lo, int first) {
  rm_micro_dd_body(1, kc, a, b, hi, lo, first);
}
static void rm_micro_dd_2(int64_t kc, const double *a, const double *b, double *hi, double *lo, int first) {
  rm_micro_dd_body(2, kc, a, b, hi, lo, first);
}
static void rm_micro_dd_all(int64_t kc, const double *a, const double *b, double *hi, double *lo, int first) {
  rm_micro_dd_body(RM_NV2, kc, a, b, hi, lo, first);
}
static rm_micro_dd_fn *rm_micro_dd(int nv) {
  return nv == RM_NV2 ? rm_micro_dd_all : nv == 1 ? rm_micro_dd_1 : rm_micro_dd_2;
}
