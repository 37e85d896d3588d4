/* Exponentials in rows of binary64, in double-double by vectors: softmax, log_softmax and their gradients. Compiled once per
 * ISA. u = 2^-53; what rows/wide.h says of products, of FMA and of Ziv's rounding test holds here.
 *
 * x - m = dh + dl exactly (two-sum). Terms with dh >= RM_WIDE_EXP_MIN are e^(dh + dl) = eh + el within RM_EXP_WIDE_ERR, |el|
 * <= 3.3u |eh| (exp_wide.h; |dl| <= 2^-44). Below RM_WIDE_EXP_ZERO e^d is less than 2^-1075, and 0 stands for it; between the
 * two 2^-970 does, which is no term, and less than any: results of it are undecided, whatever a is.
 *
 * Sums: blocks of b vectors with main sums h and sums l of what is lost and of the low parts. Terms are positive: two-sums
 * lose at most u times the block's sum A each, and |l| <= (b + 3.4) u A, which its 2b additions round by u of that; blocks
 * and lanes, B in all, are added likewise: |l| <= (B + b + 3.4) u S, 2B additions. Together, b = RM_WIDE_EXP_BLOCK = 64,
 *   (2 b (b + 3.4) + 2 B (B + b + 3.4)) 1.01 u^2 S < (8800 + 2.1 B (B + 68)) u^2 S. */
#pragma once

#include "../../../crlibm/exp/exp_wide.h"
#include "wide.h"

enum { RM_WIDE_EXP_BLOCK = 64 };

/* Their sum, and the terms where there is room for them. */
static void rm_wide_exponentials(int64_t n, const double *x, double m, double *e, double *el, rm_wide_total *sum) {
  const vf64 zero = vf64_set1(0.0), min = vf64_set1(RM_WIDE_EXP_MIN);
  double blocks = 0.0;
  vf64 h = zero, l = zero, lost;
  for (int64_t i = 0; i < n; blocks += 1.0) {
    vf64 block = zero, low = zero;
    const int64_t end = n - i < RM_WIDE_EXP_BLOCK * RM_LANES ? n : i + RM_WIDE_EXP_BLOCK * RM_LANES;
    for (; i < end; i += RM_LANES) {
      vf64 dl, hi, lo;
      const vf64 d = vf64_two_sum(vf64_load(x + i), vf64_set1(-m), &dl);
      const vm64 in = vf64_le(min, d);
      rm_exp_wide(vf64_select(in, d, zero), vf64_select(in, dl, zero), &hi, &lo);
      const vf64 least = vf64_select(vf64_lt(d, vf64_set1(RM_WIDE_EXP_ZERO)), zero, vf64_set1(0x1p-970));
      hi = vf64_select(in, hi, least), lo = vf64_select(in, lo, zero);
      if (e) vf64_store(e + i, hi), vf64_store(el + i, lo);
      block = vf64_two_sum(block, hi, &lost);
      low = vf64_add(low, vf64_add(lost, lo));
    }
    h = vf64_two_sum(h, block, &lost);
    l = vf64_add(l, vf64_add(lost, low));
  }
  double th[RM_LANES], tl[RM_LANES], rest;
  vf64_store(th, h), vf64_store(tl, l);
  sum->hi = th[0], sum->lo = tl[0];
  for (int k = 1; k < RM_LANES; k++) {
    sum->hi = rm_two_sum(sum->hi, th[k], &rest);
    sum->lo += rest + tl[k];
  }
  blocks += RM_LANES;
  sum->err = sum->hi * (1.01 * RM_EXP_WIDE_ERR + (8800.0 + 2.1 * blocks * (blocks + 68.0)) * 0x1p-106) + (double)n * 0x1p-952;
}

/* (x + w) a, |w| <= 3.3u x: p and what it lost exactly, the cross products round by 2 (4.3 + 5.3) u^2 p, x's low part times
 * a's is 3.3u^2 p, and the test rounds by 2 * 5.3u^2 p. All of this is below 2^-100 p, which is in rel. An exact 0 is 0. */
static int64_t rm_wide_scaled(const rm_wide_row *s) {
  const rm_wide_row r = *s;
  const vf64 ah = vf64_set1(r.a.hi), al = vf64_set1(r.a.lo), rel = vf64_set1(r.rel);
  int64_t count = 0;
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 x = vf64_load(r.x + i);
    vf64 low, y;
    const vf64 p = rm_exp_wide_product(x, vf64_load(r.w + i), ah, al, &low);
    const vm64 nothing = vf64_eq(x, vf64_set1(0.0)), no_term = vm64_andnot(vf64_lt(x, vf64_set1(0x1p-960)), nothing);
    const vm64 undecided = rm_wide_round(p, low, vf64_mul(vf64_abs(p), rel), nothing, &y);
    count += rm_wide_put(y, vm64_or(undecided, no_term), i, r.n, r.out, r.undecided + count);
  }
  return count;
}

/* (x - c.hi) - a, a >= 0 where x <= c.hi, so that nothing cancels: both differences are exact in two parts, and the low ones
 * round by u^2 (2 |x - c| + 2 a + 2 |y|), the test by 2u^2 |y|, below 2^-103 |y| together. err: that of a. Of an x that is
 * -infinity nothing is left. */
static int64_t rm_wide_shifted(const rm_wide_row *s) {
  const rm_wide_row r = *s;
  const vf64 ah = vf64_set1(-r.a.hi), al = vf64_set1(r.a.lo), fixed = vf64_set1(r.err);
  int64_t count = 0;
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 x = vf64_load(r.x + i);
    vf64 rest, y;
    const rm_wide d = rm_wide_less(x, r.c);
    const vf64 h = vf64_two_sum(d.hi, ah, &rest), low = vf64_add(rest, vf64_sub(d.lo, al));
    const vf64 err = vf64_mad(vf64_abs(h), vf64_set1(0x1p-103), fixed);
    const vm64 nothing = vf64_lt(x, vf64_set1(-0x1.fffffffffffffp1023));
    const vm64 undecided = vm64_andnot(rm_wide_round(h, low, err, nothing, &y), nothing);
    count += rm_wide_put(vf64_select(nothing, x, y), undecided, i, r.n, r.out, r.undecided + count);
  }
  return count;
}

/* g - e^x a. p = e^x a as in rm_wide_scaled; g - p is exact in two parts, and the sum of the low ones and the test round by
 * u^2 (3.2 |g - p| + 17 |p|). Below RM_WIDE_EXP_MIN 0 stands for e^x, and e^x a is less than slope; err is that of a,
 * slope_hi what underflows in p, 0 where a is. Of an x that is -infinity, and of a = 0, nothing is left but g. */
static int64_t rm_wide_less_exp(const rm_wide_row *s) {
  const rm_wide_row r = *s;
  const vf64 zero = vf64_set1(0.0), ah = vf64_set1(r.a.hi), al = vf64_set1(r.a.lo), rel = vf64_set1(r.rel);
  int64_t count = 0;
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 x = vf64_load(r.x + i);
    const vm64 below = vf64_lt(x, vf64_set1(RM_WIDE_EXP_MIN)), nothing = vf64_lt(x, vf64_set1(-0x1.fffffffffffffp1023));
    const vm64 in = vm64_andnot(vf64_le(x, vf64_set1(-RM_WIDE_EXP_MIN)), below);
    vf64 hi, lo, low, rest, y;
    rm_exp_wide(vf64_select(in, x, zero), zero, &hi, &lo);
    hi = vf64_select(below, zero, hi), lo = vf64_select(below, zero, lo);
    const vf64 p = rm_exp_wide_product(hi, lo, ah, al, &low);
    const vf64 h = vf64_two_sum(vf64_load(r.g + i), vf64_neg(p), &rest);
    vf64 err = vf64_select(below, vf64_set1(r.slope), vf64_mad(hi, vf64_set1(r.err), vf64_set1(r.slope_hi)));
    err = vf64_select(nothing, zero, vf64_mad(vf64_abs(p), rel, err));
    const vm64 known = vf64_eq(err, zero);
    err = vf64_mad(vf64_abs(h), vf64_set1(0x1p-104), err);
    const vm64 undecided = rm_wide_round(h, vf64_sub(rest, low), err, known, &y);
    count += rm_wide_put(y, vm64_or(undecided, vm64_not(vm64_or(in, below))), i, r.n, r.out, r.undecided + count);
  }
  return count;
}

/* (a g + b0) w, a known as it is; nothing cancels. With v = a g + b0, roundings are 3.1u^2 for a g in two parts, of which the
 * low one is at most 2.1u of it, 3.1u^2 v for the sum, whose low part is at most 3.1u v, and 7.2u^2 for the product with w:
 * below 13.5u^2 of it. The low part is at most 4.1u of the high one. Products that underflow lose 2^-1067 (1 + |w|). */
static void rm_wide_weights(const rm_wide_row *s, double *hi, double *lo) {
  const rm_wide_row r = *s;
  const vf64 b = vf64_set1(r.b0.hi), zero = vf64_set1(0.0);
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 w = vf64_load(r.w + i);
    const rm_wide p = rm_wide_times((rm_wide){vf64_load(r.g + i), zero}, r.a);
    vf64 e;
    const vf64 v = vf64_two_sum(p.hi, b, &e), low = vf64_add(e, p.lo), q = vf64_mul(v, w);
    vf64_store(hi + i, q);
    vf64_store(lo + i, vf64_mad(low, w, vf64_mul_err(v, w, q)));
  }
}

/* (x + w) a - (g + b) b0. The first product p is that of rm_wide_scaled, its low part at most 5.4u |p|; the second one q, of
 * a low part of 4.1u, rounds by 20.5u^2 |q|, its own low part is at most 6.2u |q|, and its factor is off by 13.5u^2. p - q
 * is exact in two parts, h and the rest. The sum of the low parts and the test round by 3u^2 |h| + 16.3u^2 |p| + 25.2u^2 |q|.
 * All of this is below 64u^2 (|p| + |q|) + 4u^2 |h|, the first of which is in rel and rel_a. err: what is off by no factor of
 * p or q. */
static int64_t rm_wide_difference(const rm_wide_row *s) {
  const rm_wide_row r = *s;
  const vf64 ah = vf64_set1(r.a.hi), al = vf64_set1(r.a.lo), bh = vf64_set1(r.b0.hi), bl = vf64_set1(r.b0.lo);
  const vm64 none = vf64_lt(vf64_set1(1.0), vf64_set1(0.0));
  int64_t count = 0;
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    vf64 pl, ql, rest, y;
    const vf64 p = rm_exp_wide_product(vf64_load(r.x + i), vf64_load(r.w + i), ah, al, &pl);
    const vf64 q = rm_exp_wide_product(vf64_load(r.g + i), vf64_load(r.b + i), bh, bl, &ql);
    const vf64 h = vf64_two_sum(p, vf64_neg(q), &rest);
    vf64 err = vf64_mad(vf64_abs(p), vf64_set1(r.rel), vf64_mad(vf64_abs(q), vf64_set1(r.rel_a), vf64_set1(r.err)));
    err = vf64_mad(vf64_abs(h), vf64_set1(0x1p-104), err);
    const vm64 undecided = rm_wide_round(h, vf64_add(rest, vf64_sub(pl, ql)), err, none, &y);
    count += rm_wide_put(y, undecided, i, r.n, r.out, r.undecided + count);
  }
  return count;
}
