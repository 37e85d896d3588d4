/* Uniform numbers. u = m 2^-p, where m is the highest p bits of the element's word (f16, bf16, f32) or draw (f64), p the
 * precision of the format; the result is RN(low + u (high - low)), low and high any binary64 numbers. (spec.md, section 6) */
#pragma once

#include "../../crlibm/fp/exact.h"
#include "../../crlibm/simd/undecided.h"
#include "chunks.h"

/* The result by exact integers: (low (2^p - m) + high m) 2^-p. Both products have at most 106 bits. */
RM_COLD uint64_t rm_uniform_exactly(double low, double high, uint64_t m, int format) {
  const int p = rm_precision(format);
  const uint64_t rest = (UINT64_C(1) << p) - m; /* not 0 */
  uint32_t flags = 0; /* nothing overflows: the result is between low and high, which the format holds */
  int el = 0, eh = 0;
  const rm_u128 a = low == 0.0 ? 0 : (rm_u128)rm_decompose(low, &el) * rest;
  const rm_u128 b = high == 0.0 ? 0 : (rm_u128)rm_decompose(high, &eh) * m;
  if (a == 0 && b == 0) return 0;
  if (b == 0) return rm_round_exact(low < 0.0, a, el - p, format, RM_NEAREST, &flags);
  if (a == 0) return rm_round_exact(high < 0.0, b, eh - p, format, RM_NEAREST, &flags);
  return rm_round_sum(low < 0.0, a, el - p, high < 0.0, b, eh - p, format, RM_NEAREST, &flags);
}

/* u of words, exact. */
RM_FN void rm_unit_floats(const char *random, int n, int p, char *out) {
  const float unit = p == 24 ? 0x1p-24f : p == 11 ? 0x1p-11f : 0x1p-8f;
  for (int i = 0; i < n; i++) {
    const float u = (float)(int32_t)(rm_word_at(random, i) >> (32 - p)) * unit;
    __builtin_memcpy(out + 4 * i, &u, 4);
  }
}

/* u of draws, exact: with b the lowest of the 53 bits, 1 + (m >> 1) 2^-52 less 1 - b 2^-53, whose bits are those of 1 less
 * b. */
RM_FN vf64 rm_unit_doubles(vi64 d) {
  const vi64 one = vi64_set1(INT64_C(0x3ff) << 52);
  const vf64 above = vf64_from_bits(vi64_or(vi64_srl(d, 12), one));
  return vf64_sub(above, vf64_from_bits(vi64_sub(one, vi64_and(vi64_srl(d, 11), vi64_set1(1)))));
}

/* Computes the lanes of `undecided` by exact integers. */
RM_COLD void rm_uniform_redo(const rm_random_problem *problem, const char *random, uint32_t undecided, char *out,
                             const int fmt) {
  const int p = rm_precision(fmt), size = rm_size_of(fmt);
  for (int k = 0; undecided >> k; k++)
    if (undecided >> k & 1u) {
      const uint64_t m = fmt == RM_F64 ? rm_draw_at(random, k) >> 11 : rm_word_at(random, k) >> (32 - p);
      rm_write_bits(out + k * size, rm_uniform_exactly(problem->range.low, problem->range.high, m, fmt), fmt);
    }
}

/* low + u (high - low) in binary64 for the formats below. The width rounds by 2^-53 of itself, the product by as much and
 * the sum by 2^-53 of its size: with B = max(|low|, |high|) and a width of at most 2B the error is below 5 2^-53 B; the
 * test asks for 2 2^-53 more. err = 2^-50 B (random/args.c). In mode RM_RANGE_EXACT nothing rounds before the store. */
RM_FN uint32_t rm_range_b64(const rm_random_problem *problem, int n, const char *random, char *out, const int fmt) {
  const struct rm_range *r = &problem->range;
  const int size = rm_size_of(fmt);
  float u[RM_CHUNK_WORDS + RM_CHUNK_PAD];
  const vf64 low = vf64_set1(r->low), width = vf64_set1(r->width), err = vf64_set1(RM_BOUND(r->err));
  rm_unit_floats(random, n, rm_precision(fmt), (char *)u);
  for (int i = 0; i < RM_CHUNK_PAD; i++) u[n + i] = 0.0f;
  for (int i = 0; i < n; i += RM_LANES) {
    const int count = n - i < RM_LANES ? n - i : RM_LANES;
    const vf64 v = vf64_mad(vf64_load_f32(u + i), width, low);
    rm_store_first_elements(out + i * size, v, count, fmt);
    if (r->mode == RM_RANGE_EXACT) continue;
    const vm64 sign = vf64_le(vf64_abs(v), err); /* unknown: zero has one too */
    const uint32_t undecided = vm64_bits(vm64_or(vf64_undecided_within(v, err, fmt), sign)) & ((1u << count) - 1);
    if (RM_UNLIKELY(undecided)) rm_uniform_redo(problem, random + 4 * i, undecided, out + i * size, fmt);
  }
  return 0;
}

/* binary64. RM_RANGE_EXACT: u (high - low) is exact, or low is 0: one rounding. RM_RANGE_FUSED: high - low is a binary64
 * number, so that a fused operation rounds once. Otherwise in two parts, s + lo, high - low being width + width_error
 * exactly:
 *   u width = p + pe; s + e = low + p; t = u width_error + pe, |t| <= 2^-52 2B, two roundings: 2^-104 2B;
 *   lo = e + t, |lo| <= 2^-50 B, one rounding: 2^-103 B; the test rounds as much.
 * err = 2^-100 B (random/args.c). Where |s| < 2^-40 B, lo may be no small part of s: undecided. */
RM_FN uint32_t rm_range_f64(const rm_random_problem *problem, int n, const char *random, char *out) {
  const struct rm_range *r = &problem->range;
  const vf64 low = vf64_set1(r->low), width = vf64_set1(r->width), rest = vf64_set1(r->width_error);
  const vf64 err = vf64_set1(RM_BOUND(r->err)), min = vf64_set1(r->err * 0x1p60);
  const int direct = r->mode == RM_RANGE_EXACT || (RM_HAS_FMA && r->mode == RM_RANGE_FUSED);
  for (int i = 0; i < n; i += RM_LANES) {
    const int count = n - i < RM_LANES ? n - i : RM_LANES;
    const vf64 u = rm_unit_doubles(rm_load_draws(random, i));
    if (direct) {
      rm_store_first_elements(out + 8 * i, vf64_mad(u, width, low), count, RM_F64);
      continue;
    }
    vf64 e;
    const vf64 p = vf64_mul(u, width), s = vf64_two_sum(low, p, &e);
    const vf64 lo = vf64_add(e, vf64_mad(u, rest, vf64_mul_err(u, width, p)));
    vf64 y;
    const vm64 mask = vm64_or(vf64_undecided_f64(s, lo, err, &y), vf64_lt(vf64_abs(s), min));
    rm_store_first_elements(out + 8 * i, y, count, RM_F64);
    const uint32_t undecided = vm64_bits(mask) & ((1u << count) - 1);
    if (RM_UNLIKELY(undecided)) rm_uniform_redo(problem, random + 8 * i, undecided, out + 8 * i, RM_F64);
  }
  return 0;
}

RM_FN uint32_t rm_make_uniform(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                               const int fmt) {
  (void)from;
  const int mode = problem->range.mode;
  if (mode == RM_RANGE_ACCURATE) {
    const int size = rm_size_of(fmt);
    for (int i = 0; i < n; i++) rm_uniform_redo(problem, random + (fmt == RM_F64 ? 8 : 4) * i, 1, out + i * size, fmt);
    return 0;
  }
  if (fmt == RM_F32 && mode == RM_RANGE_UNIT) {
    rm_unit_floats(random, n, 24, out);
    return 0;
  }
  return fmt == RM_F64 ? rm_range_f64(problem, n, random, out) : rm_range_b64(problem, n, random, out, fmt);
}
