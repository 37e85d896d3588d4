/* A factor times the sigmoid or a related function (sigmoid_shapes.h), in double-double.
 *
 * With w = e^-a, a = |t|, and D = 1 + w of sigmoid_dd.h, w within e <= 1.375 2^-69 relatively:
 *   value    N/D, N = g or g w                                  e; the other operations as there
 *   slope    N/D^2, N = g w                                     e (1-w)/(1+w)
 *   swish    N/D^2, N = g (D + p w) for x > 0, g w (D - p) for x < 0. The logarithmic derivative in w is w (1+p)/(D + p w) -
 *            2w/D for x > 0, the difference of two numbers of (0,1); for x < 0 the derivative by log w is (1-w)/(1+w) times
 *            the result, + g w^2/D^2. So e times the result + g w^2/D^2. The TwoSum of D and p or p w is exact. Where D - p
 *            cancels, w > 1/4, the low parts below 2^-52 g w round, and times the reciprocal's error are off, by 2^-78 g w^2
 *            at the most
 * The argument of gelu_tanh, b (c + c e b^2), has a relative error below 2^-100: 2^-90 absolutely, for a <= 670. Its low
 * part, at most 2^-44, is part of exp's reduction. Everything else is below 2^-75 of the result: RM_SIGMOID_DD_ERR covers e
 * and it.
 *
 * The products are exact in two parts for 2^-960 <= |N|; lanes with a result outside [2^-960, 2^1020] get a NaN as bound,
 * unless g = 0. */
#pragma once

#include "sigmoid_dd.h"
#include "sigmoid_shapes.h"

/* th + tl = |t(x)| and ph + pl = |x t'(x)| of the cubic argument, |x| cut to 40, |t| < 4700. */
RM_FN void rm_sigmoid_cubic_dd(vf64 x, vf64 *th, vf64 *tl, vf64 *ph, vf64 *pl) {
  const vf64 zero = vf64_set1(0.0);
  vf64 b = vf64_min(vf64_set1(40.0), vf64_abs(x)), h, l, qh, ql, sh, sl;
  h = vf64_mul(b, b), l = vf64_mul_err(b, b, h);
  rm_sigmoid_times_dd(h, l, vf64_set1(RM_SIGMOID_CUBIC_CE), vf64_set1(RM_SIGMOID_CUBIC_CE_LO), &qh, &ql);
  sh = vf64_two_sum(vf64_set1(RM_SIGMOID_CUBIC_C), qh, &sl);
  sl = vf64_add(sl, vf64_add(ql, vf64_set1(RM_SIGMOID_CUBIC_C_LO)));
  rm_sigmoid_times_dd(sh, sl, b, zero, &h, &l);
  rm_sigmoid_normalise(h, l, th, tl);
  h = vf64_two_sum(sh, vf64_add(qh, qh), &l);
  rm_sigmoid_times_dd(h, vf64_add(l, vf64_add(sl, vf64_add(ql, ql))), b, zero, ph, pl);
}

/* hi + lo = g f(x) within err, f of the given argument and shape (constants, in the loops): for |t| <= 670, and for all x > 0
 * when the shape is not RM_SIGMOID_SLOPE. hi has the sign of the product, also when that is a zero. */
RM_FN void rm_sigmoid_product_dd(vf64 g, vf64 x, int argument, int shape, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0);
  const vm64 negative = vf64_lt(x, zero);
  vf64 wh, wl, dh, dl, ph = vf64_abs(x), pl = zero, nh, nl, reciprocal;
  if (argument == RM_SIGMOID_CUBIC) {
    vf64 th, tl;
    rm_sigmoid_cubic_dd(x, &th, &tl, &ph, &pl);
    rm_sigmoid_terms_dd(rm_sigmoid_size(th), tl, &wh, &wl, &dh, &dl);
  } else {
    rm_sigmoid_terms_dd(rm_sigmoid_size(argument == RM_SIGMOID_2X ? vf64_add(x, x) : x), zero, &wh, &wl, &dh, &dl);
  }
  if (shape == RM_SIGMOID_SLOPE) nh = wh, nl = wl;
  else /* the factor of x < 0 */ nh = vf64_select(negative, wh, one), nl = vf64_select(negative, wl, zero);
  if (shape == RM_SIGMOID_SWISH) {
    /* m = D - p or D + p w */
    vf64 ah, al, mh, ml;
    ph = vf64_min(vf64_set1(0x1p14), ph); /* where x > 0 and w = e^-670 */
    rm_sigmoid_times_dd(ph, pl, vf64_select(negative, vf64_set1(-1.0), wh), vf64_select(negative, zero, wl), &ah, &al);
    mh = vf64_two_sum(dh, ah, &ml);
    ml = vf64_add(ml, vf64_add(dl, al));
    rm_sigmoid_times_dd(mh, ml, nh, nl, &nh, &nl);
  }
  rm_sigmoid_times_dd(nh, nl, g, zero, &nh, &nl);
  if (shape != RM_SIGMOID_VALUE) rm_sigmoid_times_dd(dh, dl, dh, dl, &dh, &dl);
  rm_sigmoid_quotient_dd(nh, nl, dh, dl, hi, lo, &reciprocal);
  const vf64 size = vf64_abs(*hi);
  *err = size;
  if (shape == RM_SIGMOID_SWISH) *err = vf64_mad(vf64_abs(vf64_mul(g, wh)), vf64_mul(wh, reciprocal), size);
  *err = vf64_mul(*err, vf64_set1(RM_SIGMOID_DD_ERR));
  const vm64 inside =
      vm64_or(vm64_and(vf64_le(vf64_set1(0x1p-960), size), vf64_le(size, vf64_set1(0x1p1020))), vf64_eq(g, zero));
  *err = vf64_select(inside, *err, vf64_from_bits(vi64_set1(INT64_C(0x7ff8) << 48)));
}
