/* The last step of the general matrix product is RN(alpha S + beta d), where S is an exact sum and d the old element of C. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "exact.h"
#include "vector_facts.h"
#include "pair.h"
#include "output_map.h"

/* Of vectors: c is within err of S. p = alpha c and q = beta d err by u |p| and u |q| (or 2^-1075 each), their sum v by u
 * |v|; twice that leaves room for the roundings of the bound. Where S and d are known to be 0 the result is +0. */
RM_FN vf64 rm_alpha_beta_vector(const rm_alpha_beta *s, vf64 c, vf64 d, vf64 *err) {
  const vf64 p = vf64_mul(vf64_set1(s->alpha), c), q = vf64_mul(vf64_set1(s->beta), d), v = vf64_add(p, q);
  const vf64 made = vf64_add(vf64_add(vf64_abs(p), vf64_abs(q)), vf64_abs(v));
  const vf64 zero = vf64_set1(0.0);
  const vm64 nothing = vf64_eq(vf64_add(vf64_add(vf64_abs(c), *err), vf64_abs(d)), zero); /* finite factors, or NaN follows */
  *err =
      vf64_mad(vf64_set1(__builtin_fabs(s->alpha)), *err, vf64_mad(made, vf64_set1(RM_BOUND(0x1p-52)), vf64_set1(0x1p-1000)));
  *err = vf64_select(nothing, zero, *err);
  return vf64_select(vm64_and(nothing, vf64_eq(v, zero)), zero, v);
}

/* The lanes in which an infinite old element decides, as the mask of an attention does: alpha S is finite, so that the result
 * is beta d, which is infinite (NaN where beta is). c is within err of S: where both are finite, so are all terms of S, since
 * err has their norms. */
RM_FN vm64 rm_alpha_beta_infinity(const rm_alpha_beta *s, vf64 c, vf64 d, vf64 err) {
  const vf64 finite = vf64_set1(rm_is_finite(s->alpha) ? 0x1.fffffffffffffp1023 : -1.0);
  const vm64 decides = vm64_and(vf64_is_infinite(d), vf64_is_infinite(vf64_mul(vf64_set1(s->beta), d)));
  return vm64_and(decides, vf64_le(vf64_add(vf64_abs(c), err), finite));
}

/* The same of one element: the terms of S are finite or not. */
RM_FN int rm_is_alpha_beta_infinity(const rm_alpha_beta *s, int finite, double d, int fmt, uint64_t *bits) {
  const double v = s->beta * d;
  *bits = rm_infinity_bits(fmt) | (v < 0.0 ? rm_sign_bit(fmt) : 0);
  return finite && rm_is_finite(s->alpha) && __builtin_isinf(d) && __builtin_isinf(v);
}

/* The old elements (i, j), ... of the block, `lanes` of them; 0 elsewhere, and when beta is 0, which leaves C unread. */
RM_FN vf64 rm_load_old(const rm_alpha_beta *s, const rm_output_map *w, int64_t i, int64_t j, int lanes, const int fmt) {
  if (s->beta == 0.0) return vf64_set1(0.0);
  if (w->whole[j / RM_LANES]) return rm_load_elements(rm_output_at(w, i, j), fmt);
  double e[RM_LANES] = {0};
  for (int l = 0; l < lanes; l++) e[l] = rm_read_element(rm_output_at(w, i, j + l), fmt);
  return vf64_load(e);
}

/* Writes the lanes of `out` that are decided. The others keep their old elements, which the resolver reads. */
RM_FN void rm_store_decided(const rm_output_map *w, int64_t i, int64_t j, int lanes, uint32_t undecided, const char *out,
                            int size) {
  if (RM_LIKELY(!undecided && w->whole[j / RM_LANES])) {
    __builtin_memcpy(rm_output_at(w, i, j), out, (size_t)(RM_LANES * size));
    return;
  }
  for (int l = 0; l < lanes; l++)
    if (!(undecided >> l & 1u)) __builtin_memcpy(rm_output_at(w, i, j + l), out + l * size, (size_t)size);
}

/* 0, or of a size that leaves products of two such numbers, and their errors, in the range. */
RM_FN int rm_is_moderate(double x, double limit) {
  const double a = __builtin_fabs(x);
  return a == 0.0 || (a >= 1.0 / limit && a <= limit);
}

/* alpha (hi + lo) + q, q a pair that is exact, for a sum within *err of hi + lo; *err becomes that of the result. Every
 * factor is of a size at which products overflow nowhere, and what underflow takes from them is below 2^-1010 in all.
 *
 * Products are kept with their errors, the leading ones joined by a two-sum. The rest is m in magnitude, up to its roundings,
 * and its additions err by at most 5 u m (1 + 4 u); the last two-sum is exact. */
RM_STATIC rm_pair rm_alpha_beta_join(double alpha, rm_pair sum, rm_pair q, double *err) {
  const double p = alpha * sum.hi, pe = rm_two_prod_error(alpha, sum.hi, p);
  const double r = alpha * sum.lo, re = rm_two_prod_error(alpha, sum.lo, r);
  const rm_pair top = rm_pair_two_sum(p, q.hi);
  const double low = ((top.lo + (pe + q.lo)) + r) + re;
  const double m =
      __builtin_fabs(top.lo) + __builtin_fabs(pe) + __builtin_fabs(q.lo) + __builtin_fabs(r) + __builtin_fabs(re);
  *err = 1.01 * __builtin_fabs(alpha) * *err + RM_BOUND(0x1p-50 * m) + 0x1p-1000;
  return rm_pair_two_sum(top.hi, low);
}

/* alpha (hi + lo) + beta d as a pair, likewise. 0 when something is out of range. */
RM_STATIC int rm_alpha_beta_pair(const rm_alpha_beta *s, rm_pair sum, double d, rm_pair *out, double *err) {
  if (!rm_is_moderate(s->alpha, 0x1p300) || !rm_is_moderate(s->beta, 0x1p300) || !rm_is_moderate(d, 0x1p300) ||
      !rm_is_moderate(sum.hi, 0x1p300) || !rm_is_moderate(sum.lo, 0x1p500) || !(*err < 0x1p300))
    return 0;
  const double q = s->beta * d;
  *out = rm_alpha_beta_join(s->alpha, sum, (rm_pair){q, rm_two_prod_error(s->beta, d, q)}, err);
  return 1;
}

/* RN of a pair within err, when that decides it; `granule`: every term is a multiple of it, and so is the pair, so that a
 * smaller error is none (resolve_b64.h). */
RM_STATIC int rm_decide_pair(rm_pair v, double err, double granule, int fmt, uint64_t *bits, uint32_t *flags) {
  const double limit = 0x1p-9 * __builtin_fabs(v.hi);
  int undecided = 1;
  if (v.hi != 0.0 && __builtin_fabs(v.lo) <= limit && err <= limit)
    *bits = rm_round_dd(v.hi, v.lo, err, 0, fmt, RM_NEAREST, flags, &undecided);
  if (undecided && err < granule) {
    undecided = 0;
    *bits = v.hi == 0.0 ? 0 : rm_round_dd(v.hi, v.lo, 0.0, 0, fmt, RM_NEAREST, flags, &undecided);
  }
  return !undecided;
}

/* The least of the exponents of the lowest bits of alpha S and beta d, S a multiple of 2^sum. */
RM_FN int rm_alpha_beta_lowest(const rm_alpha_beta *s, int sum, double d) {
  const int a = sum + rm_granule64(rm_bits64(s->alpha)), b = rm_granule64(rm_bits64(s->beta)) + rm_granule64(rm_bits64(d));
  return a < b ? a : b;
}
/* 2^that; 0 when it is too small. */
RM_FN double rm_alpha_beta_granule(const rm_alpha_beta *s, int sum, double d) {
  const int g = rm_alpha_beta_lowest(s, sum, d);
  return g < -1000 ? 0.0 : rm_pow2(g > 1000 ? 1000 : g);
}
