/* Error bound of the sums of products of bf16 numbers that chains_b32.c makes. u = 2^-24, the unit roundoff of binary32.
 *
 * Terms a_k b_k are exact (16 bits). A chain adds L of them to +0 by L/2 instructions of two additions each
 * (crlibm/simd/bf16.h). In which order those are made does not matter: n terms and the +0 they begin from are the leaves of
 * a tree of additions, of which the one that +0 enters by is exact. A term of instruction i, counted from 0, passes the two
 * of its own and all later ones, L - 2 i roundings at most, and L - 1 where i = 0. The sums of G chains are joined in
 * binary32, the first one as it is: the sum of chain g passes G - max(g, 1) roundings. Groups of L G terms are added in
 * binary64, which errs by at most the number of groups, at most 32 for K <= 4096, times 2^-53. With
 *
 *   n_k = L - max(2 i, 1) + G - max(g, 1) >= 3
 *
 * and G the number of chains where there is one group that is not whole, the error without underflow is, by Cauchy-Schwarz,
 * at most
 *
 *   (1 + 2^-17) u sum_k n_k |a_k b_k| <= (1 + 2^-17) u |n a| |b|
 *
 * (n_k u < 2^-19 for the products of (1 + delta), 2^-48 for the groups). Zeros that fill up a chain are added exactly.
 *
 * Underflow: no input is subnormal, or the binary64 engine takes the block. An addition whose sum is below 2^-126 loses at
 * most that, and there are K in chains. Additions that join chains are IEEE's, subnormal sums exact. So F = (1 + 2^-17)
 * 2^-126 K comes to the error. Sums of squares are made by the same instruction: they err by at most (K + 64) u relatively,
 * less than 2^-11.9, and by 2^-116 K, as n_k^2 < 2^9. Instead of |n a|^2 and |b|^2 the bound takes these sums, each plus f
 * = 2^-100 K, unless all elements of the row are zeros: sqrt((A + f)(B + f)) >= sqrt(A B) + f by Cauchy-Schwarz, and u f =
 * 2^-124 K covers F. A row of zeros has the sum +0 without error, and the bound 0.
 *
 * Overflow: no sum overflows, as none is above |a| |b| by more than its error, unless a sum of squares is above 2^127; then
 * the binary64 engine takes the block.
 *
 * Ziv's rounding test (chains_b32.c) has c = RN32(sum), v = RN32(c + bias) and ends RN32(v -+ m): they err by u |c|, u |v|
 * and u (|v| + m). m >= e + 2 u |c| + 4 u |v|, computed with two roundings, covers them and those of m, as e has `slack`. */
#pragma once

#include "../../../crlibm/config.h"

/* L in pairs, and G. */
enum { RM_CHAIN_PAIRS = 8, RM_CHAINS = 8, RM_GROUP_PAIRS = RM_CHAIN_PAIRS * RM_CHAINS };

/* The number of chains of a group. */
RM_FN int rm_chains_b32(int64_t k) {
  return k < 2 * RM_GROUP_PAIRS ? (int)((k + 2 * RM_CHAIN_PAIRS - 1) / (2 * RM_CHAIN_PAIRS)) : RM_CHAINS;
}
/* n_k of pair i of a group. */
RM_FN int rm_roundings_b32(int chains, int i) {
  const int in_chain = i % RM_CHAIN_PAIRS, chain = i / RM_CHAIN_PAIRS;
  return 2 * RM_CHAIN_PAIRS - (in_chain ? 2 * in_chain : 1) + chains - (chain ? chain : 1);
}
/* u (1 + slack): what multiplies |n a| |b|. */
RM_FN double rm_bound_b32(void) { return RM_BOUND(0x1p-24 * (1.0 + 0x1p-7)); }
/* f. */
RM_FN float rm_floor_b32(int64_t k) { return 0x1p-100f * (float)k; }
