/* Truncated normal numbers (truncated_exact.h): twice the tails of X below and above are sums of two positive terms each,
 * and the smaller of the two is 1 - |u| for the inverse of erf, as in crlibm/ndtri/normal_draw.h. */
#pragma once

#include "normal.h"
#include "truncated_exact.h"

/* Where 1 - |u| is below this, or |u| below that, the lane is undecided. */
#define RM_TRUNCATED_V 0x1p-160
#define RM_TRUNCATED_U 0x1p-40

/* 1 - U and U, the weights of the lower end and the upper one, in two parts, exact: the halves of the draw, the lower one
 * plus a half. */
RM_FN void rm_truncated_weights(vi64 d, vf64 h[2], vf64 l[2]) {
  const vi64 ones = vi64_set1(0xffffffff);
  const vi64 halves[2] = {vi64_srl(d, 32), vi64_and(d, ones)};
  for (int i = 0; i < 2; i++) { /* 1 - U has the complements */
    const vi64 flip = i ? vi64_set1(0) : ones;
    const vf64 big = vf64_mul(vi64_to_f64(vi64_xor(halves[0], flip)), vf64_set1(0x1p-32));
    const vf64 small = vf64_mul(vf64_add(vi64_to_f64(vi64_xor(halves[1], flip)), vf64_set1(0.5)), vf64_set1(0x1p-64));
    h[i] = vf64_fast_two_sum(big, small, l + i);
  }
}

/* Twice the tail below or above, in two parts: the products are exact in two parts, the low parts round by 2^-53 of 2^-51:
 * within 2^-100 relatively. The first part alone is within 2^-50. */
RM_FN void rm_truncated_tail(const double tails[2][2], const vf64 h[2], const vf64 l[2], vf64 *t, vf64 *tl) {
  vf64 p[2], e[2];
  for (int i = 0; i < 2; i++) {
    const vf64 s = vf64_set1(tails[i][0]);
    p[i] = vf64_mul(h[i], s);
    e[i] = vf64_mad(h[i], vf64_set1(tails[i][1]), vf64_mad(l[i], s, vf64_mul_err(h[i], s, p[i])));
  }
  vf64 lost;
  const vf64 sum = vf64_two_sum(p[0], p[1], &lost), rest = vf64_add(lost, vf64_add(e[0], e[1]));
  *t = vf64_fast_two_sum(sum, rest, tl);
}

/* For the formats below binary64. An error of 2^-50 of 1 - |u|, or as much of u, moves z by less than sqrt(pi/2) 2^-50 W <
 * 2^-49 (W = exp(y^2) erfc(y) <= 1); the rest as rm_scaled_step. */
RM_FN vm64 rm_truncated_step(const struct rm_truncation *a, vf64 u, vf64 v, vf64 sign, vf64 *x, const int fmt) {
  const vf64 z = vf64_mul(rm_erfinv_of(vf64_mul(u, vf64_set1(RM_ERFINV_SQRT2)), v), sign), p = vf64_mul(z, vf64_set1(a->std));
  *x = vf64_add(vf64_set1(a->mean), p);
  vf64 err = vf64_mad(vf64_abs(p), vf64_set1(RM_ERFINV_B64_ERR * (1.0 + 0x1p-10)), vf64_set1(RM_BOUND(0x1p-48) * a->std));
  err = vf64_mad(vf64_abs(*x), vf64_set1(RM_BOUND(0x1p-51)), err);
  const vm64 zero = vf64_le(vf64_abs(*x), err);
  return vm64_or(vm64_or(vf64_undecided_within(*x, err, fmt), zero), vf64_overflows(*x, fmt));
}

/* 1 - |u| within 2^-100 relatively moves z by 2^-99, u = 1 - v within 2^-102 absolutely by less. */
RM_FN vm64 rm_truncated_fast_f64(const struct rm_truncation *a, vf64 u, vf64 ul, vf64 v, vf64 vl, vf64 sign, vf64 *x) {
  vf64 hi, lo, err;
  rm_erfinv_step_dd(rm_erfinv_of(u, v), u, ul, v, vl, &hi, &lo, &err);
  rm_erfinv_times_sqrt2_dd(&hi, &lo, &err);
  err = vf64_add(err, vf64_set1(RM_BOUND(0x1p-97)));
  return rm_affine_f64(a->mean, a->std, vf64_mul(hi, sign), vf64_mul(lo, sign), err, x);
}

/* In mode RM_AFFINE_ACCURATE the vector step is that of mean 0 and std 1, and only a guess comes from it. */
RM_FN uint32_t rm_make_truncated(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                                 const int fmt) {
  struct rm_truncation a = problem->truncation;
  const int size = rm_size_of(fmt), accurate = a.mode == RM_AFFINE_ACCURATE;
  uint32_t flags = 0;
  (void)from;
  if (accurate) a.mean = 0.0, a.std = 1.0;
  for (int i = 0; i < n; i += RM_LANES) {
    const int count = n - i < RM_LANES ? n - i : RM_LANES;
    const vf64 one = vf64_set1(1.0);
    vf64 h[2], l[2], below, below_l, above, above_l, x;
    rm_truncated_weights(rm_load_draws(random, i), h, l);
    rm_truncated_tail(a.tails[0], h, l, &below, &below_l);
    rm_truncated_tail(a.tails[1], h, l, &above, &above_l);
    const vm64 negative = vf64_lt(below, above);
    const vf64 v = vf64_select(negative, below, above), vl = vf64_select(negative, below_l, above_l);
    vf64 rest, rough = vf64_fast_two_difference(one, v, &rest);
    vf64 ul, u = vf64_fast_two_sum(rough, vf64_sub(rest, vl), &ul);
    const vf64 sign = vf64_select(negative, vf64_set1(-1.0), one);
    vm64 mask = vf64_lt(v, vf64_set1(RM_TRUNCATED_V));
    if (fmt == RM_F64) mask = vm64_or(mask, vf64_lt(u, vf64_set1(RM_TRUNCATED_U)));
    mask = vm64_or(mask, fmt == RM_F64 ? rm_truncated_fast_f64(&a, u, ul, v, vl, sign, &x)
                                       : rm_truncated_step(&a, u, v, sign, &x, fmt));
    rm_store_first_elements(out + i * size, x, count, fmt);
    const uint32_t all = (1u << count) - 1, undecided = accurate ? all : vm64_bits(mask) & all;
    if (RM_LIKELY(!undecided)) continue;
    double guess[RM_LANES];
    vf64_store(guess, x);
    for (int k = 0; k < count; k++)
      if (undecided >> k & 1u) {
        const struct rm_truncation *t = &problem->truncation;
        const double near = accurate ? t->mean + t->std * guess[k] : guess[k];
        rm_write_bits(out + (i + k) * size, rm_truncated_exactly(rm_draw_at(random, i + k), t, near, fmt, &flags), fmt);
      }
  }
  return flags;
}
