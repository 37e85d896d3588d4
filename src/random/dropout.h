/* Dropout: +0 where the element's Bernoulli trial succeeds, elsewhere RN(x/(1-p)), p any binary64 number of [0, 1). */
#pragma once

#include "../../crlibm/fp/exact.h"
#include "../../crlibm/simd/undecided.h"
#include "chunks.h"

/* RN(x/(1-p)), complete, by long division. p 2^k is an integer for k = 117 when p >= 2^-64, and so is N = (1-p) 2^k. Below,
 * 1/(1-p) exceeds 1 by less than 2^-63: the result is that of a number beside x. */
RM_COLD uint64_t rm_kept_exactly(uint64_t bits, double p, int format, uint32_t *flags) {
  const double x = rm_to_double(bits, format);
  if (rm_is_signalling(bits, format)) *flags |= RM_FLAG_INVALID;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (rm_is_infinite(x) || x == 0.0 || p == 0.0) return bits;
  if (p < 0x1p-64) return rm_round_beside(x, 1, format, RM_NEAREST, flags);
  int ep, ex;
  const uint64_t mp = rm_decompose(p, &ep); /* -116 <= ep <= -53 */
  rm_u128 n = ((rm_u128)1 << -ep) - mp, rest = (rm_u128)rm_decompose(x, &ex) << 64, q = 0;
  const int t = rm_clz128(n) - 10; /* n < 2^117; moved to [2^117, 2^118), while 2^116 <= rest < 2^117 */
  n <<= t;
  enum { DIGITS = 62 };
  for (int i = 0; i < DIGITS; i++) {
    rest <<= 1, q <<= 1;
    if (rest >= n) rest -= n, q |= 1;
  }
  q = q << 1 | (rest != 0); /* at least 2^60, with a sticky bit */
  return rm_round_exact(rm_is_negative(x), q, (int64_t)ex - ep + t - 64 - DIGITS - 1, format, RM_NEAREST, flags);
}

/* Kept elements, and those that the evaluation leaves undecided. The relative error of x hi is at most 3 2^-53, since 1 - p,
 * the quotient and the product round by 2^-53 each; the test rounds once more. For 1 - rel and 1 + rel to be numbers of
 * binary64, rel = 3 2^-52. For f64 there is a second part: x hi = y + e exactly, x lo rounds by 2^-53 2^-52, lo + e by 2^-53
 * 2^-51; hi + lo is within 2^-100. All within 2^-98 |y|. A product with a power of two is exact, or rounds once where it is
 * stored. Infinite and NaN results are undecided: they may raise flags. */
RM_FN vm64 rm_kept_step(const struct rm_drop *drop, vf64 x, vf64 *y, const int fmt) {
  const vf64 hi = vf64_mul(x, vf64_set1(drop->hi));
  *y = hi;
  if (fmt != RM_F64) {
    const vm64 wide = vf64_overflows(hi, fmt);
    return drop->exact ? wide : vm64_or(wide, vf64_undecided_any(hi, RM_BOUND(0x1.8p-51), fmt));
  }
  if (drop->exact) return vm64_not(vf64_le(vf64_abs(hi), vf64_set1(0x1.fffffffffffffp1023)));
  const vf64 lo = vf64_mad(x, vf64_set1(drop->lo), vf64_mul_err(x, vf64_set1(drop->hi), hi));
  const vf64 err = vf64_mul(vf64_abs(hi), vf64_set1(RM_BOUND(0x1p-98)));
  const vm64 zero = vf64_eq(x, vf64_set1(0.0));
  const vm64 undecided = vf64_undecided_f64(hi, lo, vf64_bound_if_exact(hi, zero, err), y);
  *y = vf64_select(zero, hi, *y); /* with its sign */
  return undecided;
}

RM_FN uint32_t rm_make_dropout(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                               const int fmt) {
  const struct rm_drop *drop = &problem->drop;
  const int size = rm_size_of(fmt);
  const vi64 limit = vi64_set1((int64_t)drop->limit);
  const vf64 zero = vf64_set1(0.0);
  char gathered[8 * (RM_CHUNK_DRAWS + RM_LANES)] __attribute__((aligned(64)));
  const char *x = problem->x + from * problem->stride_x;
  uint32_t flags = 0;
  if (problem->stride_x != size) {
    for (int i = 0; i < n; i++) __builtin_memcpy(gathered + i * size, x + i * problem->stride_x, (size_t)size);
    x = gathered;
  }
  for (int i = 0; i < n; i += RM_LANES) {
    const int count = n - i < RM_LANES ? n - i : RM_LANES;
    char in[8 * RM_LANES] = {0}; /* a copy of what is redone: out may be x */
    const char *at = x + i * size;
    if (count < RM_LANES) __builtin_memcpy(in, at, (size_t)(count * size)), at = in;
    const vf64 v = rm_load_elements(at, fmt);
    const vm64 dropped = vi64_ltu(vi64_srl(rm_load_draws(random, i), 11), limit);
    vf64 y;
    const vm64 mask = vm64_andnot(rm_kept_step(drop, v, &y, fmt), dropped);
    const uint32_t undecided = vm64_bits(mask) & ((1u << count) - 1);
    if (RM_UNLIKELY(undecided)) __builtin_memcpy(in, at, (size_t)(count * size));
    rm_store_first_elements(out + i * size, vf64_select(dropped, zero, y), count, fmt);
    if (RM_UNLIKELY(undecided))
      for (int k = 0; k < count; k++)
        if (undecided >> k & 1u)
          rm_write_bits(out + (i + k) * size, rm_kept_exactly(rm_read_bits(in + k * size, fmt), drop->p, fmt, &flags), fmt);
  }
  return flags;
}
