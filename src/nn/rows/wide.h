/* Rows of binary64 in double-double, by vectors: what rows/loops.h is for the formats below. Compiled once per ISA.
 *
 * u = 2^-53. A number of a row of results is h + l within err. Products in two parts are exact where they are 0 or between
 * 2^-968 and 2^1020, of factors below 2^996 (simd.h); below that they lose at most 2^-1069 (Dekker's product), and above it
 * something is infinite or NaN, and so is the result. Nothing rests on FMA: vf64_mad may round once or twice. Squares of u
 * that are left out of a bound here are within its slack.
 *
 * d = x - c, c = c_hi + c_lo within c_err: the two-sum x - c_hi = dh + e is exact, dl = e - c_lo is rounded by u |dl|.
 * d a, a = a_hi + a_lo within rel of it, |a_lo| <= u a: p = RN(dh a_hi), low = dh a_lo + (dl a_hi + what p lost). Roundings
 * 4.1u^2 |p| + 3.1u |dl| a, and what is left out, dl a_lo, and dl's own rounding make 4.1u^2 |p| + 5.1u |dl| a;
 * c adds c_err a.
 * |low| <= 2u |p| + |dl| a. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "wide_kernels.h"
#include "wide_round.h"

typedef struct {
  vf64 hi, lo;
} rm_wide;

/* x - c. */
RM_FN rm_wide rm_wide_less(vf64 x, rm_wide_pair c) {
  rm_wide d;
  d.hi = vf64_two_sum(x, vf64_set1(-c.hi), &d.lo);
  d.lo = vf64_sub(d.lo, vf64_set1(c.lo));
  return d;
}
/* d a. */
RM_FN rm_wide rm_wide_times(rm_wide d, rm_wide_pair a) {
  const vf64 ah = vf64_set1(a.hi), p = vf64_mul(d.hi, ah);
  return (rm_wide){p, vf64_mad(d.hi, vf64_set1(a.lo), vf64_mad(d.lo, ah, vf64_mul_err(d.hi, ah, p)))};
}

/* ((x - c) a) w + b. With d a as above, its product with w, q = RN(p w), and low w + what q lost: 5.4u^2 |p w| + 2.2u |dl a
 * w| more, so that the low part is at most 3.1u |p w| + 1.1 |dl a w|. s + r = q + b exactly, |r| <= u |s|; the sum of the low
 * parts, and the test's, round by 2.1u (u |s| + the low part). Together, with factors of |w|,
 *   |p| (16.1u^2 + rel) + |dl| a (9.7u + rel) + c_err a, and 2.1u^2 |s|.
 * x - c = 0, c being exact, or w = 0 leaves b alone. If c is not exact, c_err above 0 may still underflow to 0 beside |w|,
 * and the result may be less than b's last place, or a zero with a sign: one below 2^-960 is undecided. Elsewhere q is
 * between 2^-960 and 2^1020 or nothing is known, so that what underflows is far below 17u^2 |q|, but in p, where it is below
 * RM_WIDE_TINY. */
static int64_t rm_wide_affine(const rm_wide_row *s) {
  const rm_wide_row r = *s;
  const vf64 zero = vf64_set1(0.0), rel = vf64_set1(r.rel), slope = vf64_set1(r.slope), fixed = vf64_set1(r.err);
  int64_t count = 0;
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 w = vf64_load(r.w + i);
    const rm_wide d = rm_wide_less(vf64_load(r.x + i), r.c), p = rm_wide_times(d, r.a);
    const vf64 q = vf64_mul(p.hi, w), low = vf64_mad(p.lo, w, vf64_mul_err(p.hi, w, q));
    vf64 rest, y;
    const vf64 h = vf64_two_sum(q, vf64_load(r.b + i), &rest);
    const vm64 none = vf64_eq(vf64_add(vf64_abs(d.hi), vf64_abs(d.lo)), zero), without = vf64_eq(w, zero);
    const vm64 known = vm64_or(none, without), exact = vm64_or(vm64_and(none, vf64_eq(fixed, zero)), without);
    const vf64 tiny = vf64_select(none, fixed, vf64_add(fixed, vf64_set1(RM_WIDE_TINY)));
    vf64 err = vf64_mad(vf64_abs(p.hi), rel, vf64_mad(vf64_abs(d.lo), slope, tiny));
    err = vf64_mad(vf64_abs(w), err, vf64_mul(vf64_abs(h), vf64_set1(0x1.2p-105)));
    err = vf64_bound_if_exact(q, known, err);
    const vm64 undecided = rm_wide_round(h, vf64_add(rest, low), err, exact, &y);
    count += rm_wide_put(y, undecided, i, r.n, r.out, r.undecided + count);
  }
  return count;
}

/* The sums for a gradient. A term h = hh + hl is exact; q = RN(hh dh), and ql: what q lost, hh dl and hl dh, which four
 * roundings, hl dl and dl's own rounding put off by 4.1u (2.1u |q| + |hh dl|) + 2u |hh dl|. A main sum of h additions errs by
 * h u' A in all, A that of its terms' magnitudes, and gives what it loses to a second sum, where each term passes at most 2 h
 * + 2 additions. With A1, A2, A3 the sums of |hh|, |q| and |hh dl|
 *   first    (2 h + 3) (h + 1) u^2 A1                                    < 2.3 (h + 2)^2 u^2 A1
 *   second   (2 h + 3) u ((h + 2.1) u A2 + A3) + 8.6u^2 A2 + 6.1u A3      < 2.3 (h + 3)^2 u^2 A2 + (2.1 h + 11) u A3
 * where 2.3 covers the rounding of A2. What c is off by is its caller's; underflow is 2^-1065 (1 + |dh|) for a term. */
static void rm_wide_gradient_sums(int64_t n, const rm_wide_row *s, rm_wide_sums *sums) {
  const rm_wide_row r = *s;
  vf64 h1 = vf64_set1(0.0), l1 = h1, h2 = h1, l2 = h1, a1 = h1, a2 = h1, a3 = h1;
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 g = vf64_load(r.g + i), w = vf64_load(r.w + i);
    const rm_wide d = rm_wide_less(vf64_load(r.x + i), r.c);
    const vf64 hh = vf64_mul(g, w), hl = vf64_mul_err(g, w, hh), q = vf64_mul(hh, d.hi), cross = vf64_mul(hh, d.lo);
    const vf64 ql = vf64_add(vf64_mad(hl, d.hi, cross), vf64_mul_err(hh, d.hi, q));
    vf64 e;
    h1 = vf64_two_sum(h1, hh, &e);
    l1 = vf64_add(l1, vf64_add(e, hl));
    h2 = vf64_two_sum(h2, q, &e);
    l2 = vf64_add(l2, vf64_add(e, ql));
    a1 = vf64_add(a1, vf64_abs(hh)), a2 = vf64_add(a2, vf64_abs(q)), a3 = vf64_add(a3, vf64_abs(cross));
  }
  double t[7][RM_LANES], e;
  vf64_store(t[0], h1), vf64_store(t[1], l1), vf64_store(t[2], h2), vf64_store(t[3], l2);
  vf64_store(t[4], a1), vf64_store(t[5], a2), vf64_store(t[6], a3);
  *sums = (rm_wide_sums){
      {t[0][0], t[1][0]}, {t[2][0], t[3][0]}, t[4][0], t[5][0], t[6][0], (double)((n + RM_LANES - 1) / RM_LANES + RM_LANES)};
  for (int k = 1; k < RM_LANES; k++) {
    sums->first.hi = rm_two_sum(sums->first.hi, t[0][k], &e);
    sums->first.lo += e + t[1][k];
    sums->second.hi = rm_two_sum(sums->second.hi, t[2][k], &e);
    sums->second.lo += e + t[3][k];
    sums->size += t[4][k], sums->size_hi += t[5][k], sums->size_lo += t[6][k];
  }
}

/* a ((h - c1) - (x - c) b0), h = g w. C1 = |c1|, b = |b0|.
 *   h - c1      kh + ke exactly, kl = ke + (hl - c1_lo): roundings u^2 (|kh| + 2 |hh| + 2 C1); |kl| <= u (|kh| + |hh| + C1)
 *   (x - c) b0  m and ml, as above: 4.1u^2 |m| + 5.1u |dl| b; |ml| <= 2u |m| + |dl| b
 *   their difference is zh + ze exactly, zl = ze + (kl - ml): roundings u^2 |zh| + 2.1u (|kl| + |ml|)
 *   times a     p and its low part: 4.1u^2 |p| + 3.1u |zl| a and, left out, u |zl| a; the test's 2.1u^2 |p| + 1.1u |zl| a
 * With |kh| <= |hh| + C1 and |zh| <= |kh| + |m|, all of this is below a (32u^2 (|hh| + |m| + C1) + 12.5u b |dl|). What c1,
 * b0, c and a are off by adds a (c1_err + b0_err |d| + c_err b) and rel |value|. A product that underflows loses at most
 * 2^-1069, which RM_WIDE_TINY a, in `tiny`, covers; nothing does where g or w is 0, x - c or b0 too, and c1. Then 0 is the
 * result within `fixed`, if nothing is a multiple of x - c: b0_err |d| may underflow, and a zero may have a sign. */
static int64_t rm_wide_centered(const rm_wide_row *s) {
  const rm_wide_row r = *s;
  const vf64 zero = vf64_set1(0.0), size = vf64_set1(r.rel), rel = vf64_set1(r.rel_a), fixed = vf64_set1(r.err);
  const vf64 slope = vf64_set1(r.slope), slope_hi = vf64_set1(r.slope_hi), tiny = vf64_set1(RM_WIDE_TINY * (1.0 + r.a.hi));
  const vm64 alone = vf64_eq(vf64_set1(r.b0.hi), zero), without_mean = vf64_eq(vf64_set1(r.c1.hi), zero);
  int64_t count = 0;
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 g = vf64_load(r.g + i), w = vf64_load(r.w + i);
    const rm_wide d = rm_wide_less(vf64_load(r.x + i), r.c), m = rm_wide_times(d, r.b0);
    const vf64 hh = vf64_mul(g, w), hl = vf64_mul_err(g, w, hh);
    vf64 ke, ze, y;
    const vf64 kh = vf64_two_sum(hh, vf64_set1(-r.c1.hi), &ke);
    const vf64 kl = vf64_add(ke, vf64_sub(hl, vf64_set1(r.c1.lo)));
    rm_wide z;
    z.hi = vf64_two_sum(kh, vf64_neg(m.hi), &ze);
    z.lo = vf64_add(ze, vf64_sub(kl, m.lo));
    const rm_wide p = rm_wide_times(z, r.a);
    const vm64 none = vf64_eq(vf64_add(vf64_abs(d.hi), vf64_abs(d.lo)), zero);
    const vm64 known = vm64_and(vm64_and(vm64_or(vf64_eq(g, zero), vf64_eq(w, zero)), vm64_or(none, alone)), without_mean);
    const vm64 exact = vm64_and(known, vm64_or(none, vf64_eq(slope_hi, zero)));
    vf64 err = vf64_select(known, fixed, vf64_add(fixed, tiny));
    err = vf64_mad(vf64_abs(d.lo), slope, vf64_mad(vf64_abs(d.hi), slope_hi, err));
    err = vf64_mad(vf64_add(vf64_abs(hh), vf64_abs(m.hi)), size, vf64_mad(vf64_abs(p.hi), rel, err));
    const vm64 undecided = rm_wide_round(p.hi, p.lo, err, exact, &y);
    count += rm_wide_put(y, undecided, i, r.n, r.out, r.undecided + count);
  }
  return count;
}

/* Adds t = g (x - c) a to sums of two parts, and a bound of t's error to the third. With d a as above, g times it rounds by
 * 5.4u^2 |g p| + 2.2u |g dl| a more, and the sums take what the caller counts into rel and slope: they are bounds for |g p|
 * and |g dl|. Underflow is below RM_WIDE_TINY |g| but where g x underflows, and then below 2^-1065. The bound is 0 only where
 * t is 0: `tiny` is there also where x - c is 0 and c is not exact, since c_err |g| may underflow. It is a normal number:
 * some CPUs take a hundred cycles for operations with others. */
static void rm_wide_columns(const rm_wide_row *s, double *hi, double *lo, double *bound) {
  const rm_wide_row r = *s;
  const vf64 rel = vf64_set1(r.rel), slope = vf64_set1(r.slope), fixed = vf64_set1(r.err + RM_WIDE_TINY);
  const vf64 zero = vf64_set1(0.0), tiny = vf64_set1(0x1p-1020);
  const vm64 known = vf64_eq(vf64_set1(r.err), zero);
  for (int64_t i = 0; i < r.n; i += RM_LANES) {
    const vf64 g = vf64_load(r.g + i);
    const rm_wide d = rm_wide_less(vf64_load(r.x + i), r.c), p = rm_wide_times(d, r.a);
    const vf64 q = vf64_mul(p.hi, g), low = vf64_mad(p.lo, g, vf64_mul_err(p.hi, g, q));
    const vm64 at_mean = vm64_and(known, vf64_eq(vf64_add(vf64_abs(d.hi), vf64_abs(d.lo)), zero));
    const vm64 none = vm64_or(vf64_eq(g, zero), at_mean);
    vf64 e;
    vf64_store(hi + i, vf64_two_sum(vf64_load(hi + i), q, &e));
    vf64_store(lo + i, vf64_add(vf64_load(lo + i), vf64_add(e, low)));
    const vf64 more = vf64_select(none, vf64_set1(r.err), fixed);
    const vf64 err = vf64_mad(vf64_abs(p.hi), rel, vf64_mad(vf64_abs(d.lo), slope, more));
    vf64_store(bound + i, vf64_add(vf64_load(bound + i), vf64_mad(vf64_abs(g), err, vf64_select(none, zero, tiny))));
  }
}
