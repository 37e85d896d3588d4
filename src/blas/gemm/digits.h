/* Rows of numbers as digits, for exact products of small integers, and the error bound of such a product (after Ozaki,
 * Ogita, Oishi and Rump 2012).
 *
 * A row of an operand is scaled by a power of two: all elements are below 2^e in magnitude, and y = 2^(LEAD-e) x with LEAD
 * = 8 D - 2. The nearest integer n, |n| <= 2^LEAD, has D digits in base 256, from -128 to 127, the first of which is at
 * most 64 in magnitude: n = sum_i d_i 256^(D-1-i). With a_i the row of d_i 256^(D-1-i), and r_i all from digit i on, what
 * n lacks of y included, y = a_0 + ... + a_(i-1) + r_i. The product of two rows is
 *
 *   y y' = sum_(i+j <= G) a_i a'_j + sum_(i < D) a_i r'_(min(D, G+1-i)) + r_D y'
 *
 * The first sum is made of integers: for each s = i + j <= G the sum over k and i of d_i d'_(s-i), which tiles add up
 * exactly in 32 bits. It has at most RM_TILES_MAX_K terms of at most D pairs, each pair at most 2^14 in magnitude:
 * 2^12 3 2^14 < 2^31. The rest is bounded by Euclidean norms R_i = |r_i| (Cauchy-Schwarz). With F = G + 1 - D, those i <=
 * F, which meet the same r'_D, are taken together:
 *
 *   |rest| <= (R_0 + R_(F+1)) R'_D + sum_(F < i < D) (R_i + R_(i+1)) R'_(G+1-i) + R_D R'_0
 *
 * since |a_i| <= R_i + R_(i+1). That is RM_DIGIT_TERMS products of a number of the row and one of the column. Where all are
 * 0, the sum is exact.
 *
 * Norms are computed from integers below 2^24 (each exact in binary32) or from binary64, and grow by `slack`, 2^-10, for
 * at most K/16 + 8 roundings of relative size 2^-24 in a sum of squares, and the others. A remainder y - n is exact. Its
 * square may vanish: then, and where y itself may be inexact, R_D is made larger by FLOOR = 2^-52: a square vanishes where
 * |y - n| < 2^-74; y is a multiple of 2^(LEAD-e-149), exact in binary32 where e <= LEAD, and errs by 2^-150 else. */
#pragma once

#include "../../../crlibm/simd/amx.h"
#include "../../common/elements.h"
#include "tiles.h"

/* D, G + 1 and what follows from them: enough for the formats of 16 bits. */
enum {
  RM_DIGITS = 3,
  RM_DIGIT_GROUPS = 4,
  RM_DIGIT_TERMS = 2 * RM_DIGITS - RM_DIGIT_GROUPS + 1,
  RM_DIGITS_LEAD = 8 * RM_DIGITS - 2
};

/* What is known of a row besides its digits. */
typedef struct {
  double norm[RM_DIGITS + 1]; /* R_i, in units of the last digit's; R_1 is not taken by any bound */
  int exponent; /* e */
  int kind;
} rm_digit_facts;
enum {
  RM_DIGITS_ZERO,
  RM_DIGITS_FINITE,
  RM_DIGITS_NONE
}; /* all elements are 0; finite; some are not, and the digits are zeros */

RM_FN vf32 rm_load_16_lanes(const char *at, const int fmt) {
  const uint16_t *const p = (const void *)at;
  return fmt == RM_F16 ? vf32_load_f16(p) : vf32_load_bf16(p);
}

/* The exponent and the kind of a row of k neighbours. */
RM_FN void rm_digits_scale(rm_digit_facts *facts, const char *row, int64_t k, const int fmt) {
  const vi32 magnitude = vi32_set1(0x7fffffff);
  vi32 max = vi32_set1(0);
  int64_t q = 0;
  for (; q + 16 <= k; q += 16) max = vi32_max(max, vi32_and(vf32_bits(rm_load_16_lanes(row + 2 * q, fmt)), magnitude));
  if (q < k) {
    char last[32] = {0};
    __builtin_memcpy(last, row + 2 * q, (size_t)(2 * (k - q)));
    max = vi32_max(max, vi32_and(vf32_bits(rm_load_16_lanes(last, fmt)), magnitude));
  }
  const int32_t bits = vi32_max_lanes(max);
  facts->kind = bits == 0 ? RM_DIGITS_ZERO : bits < 0x7f800000 ? RM_DIGITS_FINITE : RM_DIGITS_NONE;
  facts->exponent = (bits >> 23) - 126;
}

/* Digits of 64 elements, three of each: y has numbers of at most 2^22 in magnitude. Digit i goes to at + i *
 * next, in an order of the elements that is the same for all rows: byte 4 l + v is element l of vector v. */
RM_FN void rm_digits_64(int8_t *at, ptrdiff_t next, const vf32 y[4], vf32 square[RM_DIGITS + 1], vi32 *any) {
  vi32 digits[4];
  RM_UNROLL for (int v = 0; v < 4; v++) {
    const vi32 n = vf32_to_i32(y[v]), carried = vi32_add(n, vi32_set1(0x808080));
    const vf32 rest = vf32_sub(y[v], vi32_to_f32(n)),
               last = vi32_to_f32(vi32_sub(vi32_and(carried, vi32_set1(0xff)), vi32_set1(0x80)));
    digits[v] = vi32_xor(carried, vi32_set1(0x808080));
    square[0] = vf32_fma(y[v], y[v], square[0]);
    square[2] = vf32_fma(last, last, square[2]);
    square[3] = vf32_fma(rest, rest, square[3]);
    *any = vi32_or(*any, vf32_bits(rest));
  }
  vi32 even[2], odd[2]; /* bytes 0 and 2 of two vectors, bytes 1 and 3 */
  RM_UNROLL for (int h = 0; h < 2; h++) {
    even[h] = vi32_select_bits(0x00ff00ff, digits[2 * h], vi32_sll(digits[2 * h + 1], 8));
    odd[h] = vi32_select_bits(0x00ff00ff, vi32_srl(digits[2 * h], 8), digits[2 * h + 1]);
  }
  vbytes_store(at + 2 * next, vi32_select_bits(0xffff, even[0], vi32_sll(even[1], 16)));
  vbytes_store(at + next, vi32_select_bits(0xffff, odd[0], vi32_sll(odd[1], 16)));
  vbytes_store(at, vi32_select_bits(0xffff, vi32_srl(even[0], 16), even[1]));
}

/* A row of k neighbours becomes rows of 64 digits: digit i of the q-th 64 elements is at to + q D next + i next; zeros
 * fill the last ones. Of the norms those are made that the bound takes. */
RM_FN void rm_digits_row(int8_t *to, ptrdiff_t next, const char *row, int64_t k, rm_digit_facts *facts, const int fmt) {
  const int digits = RM_DIGITS;
  const double slack = 1.0 + 0x1p-10, floor = 0x1p-52;
  rm_digits_scale(facts, row, k, fmt);
  const int64_t padded = (k + RM_TILE_K - 1) / RM_TILE_K * RM_TILE_K;
  if (facts->kind != RM_DIGITS_FINITE) {
    for (int64_t q = 0; q < padded; q += RM_TILE_K)
      for (int i = 0; i < digits; i++) vbytes_store(to + q / RM_TILE_K * digits * next + i * next, vbytes_zero());
    for (int i = 0; i <= digits; i++) facts->norm[i] = 0.0;
    return;
  }
  const vf32 scale = vf32_set1((float)(RM_DIGITS_LEAD - facts->exponent));
  vf32 square[RM_DIGITS + 1];
  RM_UNROLL for (int i = 0; i <= RM_DIGITS; i++) square[i] = vf32_set1(0.0f);
  vi32 any = vi32_set1(0);
  for (int64_t q = 0; q < padded; q += RM_TILE_K, to += digits * next) {
    char last[2 * RM_TILE_K];
    const char *from = row + 2 * q;
    if (RM_UNLIKELY(q + RM_TILE_K > k)) {
      __builtin_memset(last, 0, sizeof last);
      __builtin_memcpy(last, from, (size_t)(2 * (k - q)));
      from = last;
    }
    vf32 y[4];
    RM_UNROLL for (int v = 0; v < 4; v++) y[v] = vf32_scale(rm_load_16_lanes(from + 32 * v, fmt), scale);
    rm_digits_64(to, next, y, square, &any);
  }
  const int inexact = facts->exponent > RM_DIGITS_LEAD || vi32_max_lanes(vi32_and(any, vi32_set1(0x7fffffff))) != 0;
  const double rest = slack * __builtin_sqrt((double)vf32_sum_lanes(square[3])) + (inexact ? floor : 0.0);
  for (int i = 0; i < digits; i += 2) facts->norm[i] = slack * __builtin_sqrt((double)vf32_sum_lanes(square[i])) + rest;
  facts->norm[digits] = rest;
}
