/* Error bounds of the binary64 engine, which serves f32 and the 16-bit formats. u = 2^-53, the unit roundoff of binary64.
 *
 * Let S = sum_k a_k b_k (+ bias) exactly, and c the engine's value. Each product is exact (micro_b64.h). A block of KC terms
 * is one accumulation chain of at most KC - 1 roundings (the first addition, to +0, is exact); the ceil(K/KC) block sums are
 * joined by ceil(K/KC) - 1 additions, the bias by one more. No addition underflows: everything is a multiple of 2^-298. With
 * t = min(K, KC) + ceil(K/KC) (Higham, Accuracy and Stability, section 4.2):
 *
 *   |c - S| <= t u / (1 - t u) (sum_k |a_k b_k| + |bias|) <= t u (1 + 2^-19) (|a| |b| + |bias|)
 *
 * with Euclidean norms (Cauchy-Schwarz). A term at position q of chain p, both counted from 0, passes at most min(K, KC) - q
 * roundings in its chain, ceil(K/KC) - max(p, 1) where chains are joined (a chain's sum goes into an addition itself, the
 * first one's is stored), with a bias one more: t - (q + max(p - 1, 0)) at most. So |a_k b_k| needs no more than the weight
 * w_k = 1 - (q + max(p - 1, 0))/t there, and a_k^2 and b_k^2 in the norms (Cauchy-Schwarz again). Larger weights, up to 1, do
 * no harm.
 *
 * Ziv's rounding test (epilogue_b64.h) makes one more rounding, u |c| <= u (1 + 2^-19) (sum |a_k b_k| + |bias|): one more for
 * each term. So t + 1 takes the place of t, and the bound leaves room for it. Since (t + 1) w_k >= 2 then, it is at least 2 u
 * sum |a_k b_k|.
 *
 * Partial sums (partials_b64.h). A term passes t - 1 roundings on the way to the sum of its part, and at most J more where
 * the sums of parts are joined, in any order: in a tree of W leaves J = W - 1. So all of this holds with T = t + J + 1 in
 * place of t + 1, where t is that of the part. A part w that gives x = T u (1 + slack) |a|, y = |b| has by its terms, and
 * all of them by Cauchy-Schwarz, no greater share in the error of the joined sum than
 *
 *   sum_w x_w y_w <= sqrt(sum_w x_w^2) sqrt(sum_w y_w^2)
 *
 * Squares, their sums of up to 2^20 parts, roots and the product err by (J + 8) u < 2^-32 relatively, for which slack has
 * room. Nothing overflows: a product is below 2^256. No square underflows: u |a| is 0 or above 2^-202.
 *
 * Without weights the order of additions within a block is free: n terms and the +0 they begin from
 * are the leaves of a binary tree of n additions, of which the one that +0 enters by is exact, so no term passes more than
 * n - 1 roundings. Hence the bound holds for kernels that add several terms per instruction, each addition rounded to
 * nearest or left unrounded, provided that a block ends after KC terms. Zeros that fill an instruction are added exactly.
 * Computed squares of norms err by at most (K + 5) u relatively (pack.h), roots and products by a few u; `slack` covers
 * them together with the roundings of the bound itself. */
#pragma once

#include "tile.h"
#include "bound_weights.h"

/* t + 1. */
RM_FN double rm_roundings_b64(int64_t k) { return (double)(k < RM_KC ? k : RM_KC) + (double)((k + RM_KC - 1) / RM_KC) + 1.0; }

/* (t + 1 + joins) u (1 + slack): what multiplies |a| |b| + |bias|. */
RM_FN double rm_bound_joined_b64(int64_t k, double joins) {
  double t = rm_roundings_b64(k) + joins;
  double slack = 0x1p-18 + (double)k * 0x1p-51;
  return RM_BOUND(t * 0x1p-53 * (1.0 + slack));
}

RM_FN double rm_bound_b64(int64_t k) { return rm_bound_joined_b64(k, 0.0); }

/* The weights of the chain that begins at k0. */
RM_FN rm_weights rm_weights_joined_b64(int64_t k, int64_t k0, double joins) {
  const double slope = k ? 1.0 / (rm_roundings_b64(k) + joins) : 0.0;
  const int64_t before = k0 / RM_KC;
  return (rm_weights){1.0 - (double)(before > 0 ? before - 1 : 0) * slope, slope};
}

RM_FN rm_weights rm_weights_b64(int64_t k, int64_t k0) { return rm_weights_joined_b64(k, k0, 0.0); }

/* The bound of the double-double sum of resolve_b64.h, 1.01 h^2 u^2 (sum |a_k b_k| + |bias|), over the bound above. */
RM_FN double rm_bound_dd_ratio(int64_t k) {
  double h = (double)k + 64.0;
  return 1.01 * h * h * 0x1p-53;
}
