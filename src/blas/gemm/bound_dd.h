/* Error bound of the double-double engine, in scaled units (exponent_scaling.h), where every partial sum is below 1/2 in
 * magnitude.
 *
 * A block of n = min(K, KC2) terms errs by 2^-105 (n+2)^2 (micro_dd.h). Joining b = ceil(K/KC2) blocks: the two-sum of the
 * high parts is exact and its error at most 2^-54, each low part at most (n+1) 2^-51, so the joined low part after j blocks
 * at most j (n+2) 2^-51, and the two additions of the j-th join err by u (1 + j) (n+2) 2^-51, in all
 * 2^-104 (n+2) (b + b (b+1)/2) <= 2^-105 (n+2) (b+2)^2. The epilogue's additions lo - E and lo + E add 2^-104 (n+2) b. With
 * room:  E = 2^-105 b (n+2)^2 + 2^-103 (n+2) (b+2)^2.
 *
 * A bias enters by a two-sum, hi' = RN(hi + bias), whose error, at most u |hi'|, is added to lo: two roundings of at most
 * u^2 |hi'| more (that addition and the epilogue's): E grows by 2^-104 |hi'|. */
#pragma once

#include "tile.h"

RM_FN double rm_bound_dd(int64_t k) {
  double n = (double)(k < RM_KC2 ? k : RM_KC2) + 2.0, b = (double)((k + RM_KC2 - 1) / RM_KC2);
  return RM_BOUND(0x1p-105 * b * n * n + 0x1p-103 * n * (b + 2.0) * (b + 2.0));
}
#define RM_BOUND_DD_BIAS RM_BOUND(0x1p-104)

/* The bound of Dot2 (Ogita, Rump and Oishi 2005), hi + lo kept apart: of K products and a bias, A being the computed sum of
 * the rounded |a_k b_k| and |bias|. Let no term pass more than h = K + 64 additions on the way to hi, and no error of a
 * product or of such an addition more than 2h on the way to lo (proofs/depth counts both; a file that asks for this bound
 * says what its terms pass). The errors of products and main sums add up to at most (1 + h) u' A, u' = u/(1 - 2h u), their
 * additions err by 2h u' of that: |hi + lo - S| <= 2.1 (h+1)^2 u^2 A while h u < 2^-9; A itself is computed with a relative
 * error below 2^-8. Underflow adds at most K 2^-1070. */
RM_FN double rm_bound_dot2(int64_t k, double size) {
  const double h = (double)k + 65.0;
  return RM_BOUND(2.2 * h * h * 0x1p-106 * size) + (double)k * 0x1p-1070;
}
