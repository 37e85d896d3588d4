/* The fast phase of optimiser steps: a vector of elements, with Ziv's rounding test for each of their new numbers. It is also
 * device code.
 *
 * Moments and SGD's parameter are sums of products of numbers of the format and coefficients. These are mostly short
 * decimals: 9/10 of a number is 5/10 of a unit beside the next one in a tenth of all cases, and the rounding of the
 * coefficient itself is all that tells such a result from a tie. So these sums are evaluated in two parts, u = 2^-53:
 *   products      exact in two parts: coefficients are 0 or between 2^-200 and 2^200, arguments 0 or between 2^-300 and
 *                 2^300 (formats below binary64 have no others); with factors in two parts the cross products round, and
 *                 low times low is left out
 *   sums          of the first parts by two-sums, exact; of the second parts rounded
 *   coefficients  within 2^-100 of themselves
 * With S the sum of the magnitudes of all terms, every second part is below 8u S, and at most a dozen are rounded or left
 * out: 12 u 8u S, with the coefficients below 2^-98 S: LINEAR_ERR. Second parts and this are below 2^-49 S: LINEAR_REACH.
 *
 * Adam's quotient depends on all digits, and binary64 will do for formats below it: rate m' rounds by 2.1u; root + eps,
 * terms >= 0, by 2.2u (vf64_root) + 1u or 1.02u + 1u, 3.2u; the quotient by 2.2u: 7.6u|q|; a p by 2.1u |a p|; the difference
 * and Ziv's rounding test by 2u (|a p| + |q|): QUOTIENT_ERR = 12u (|a p| + |q|). For binary64 root and quotient get a second
 * part: their residuals are exact up to 2^-102, and the factors that turn them into corrections, of 2^-50.9 at most, are
 * within 2^-27 (simd.h): 2^-77 each, other roundings far less, rate and eps 2^-85: QUOTIENT_ERR_F64 = 2^-72 (|a p| + |q|).
 * proofs/formula checks the bounds in this file and in formula/step.h (docs/evidence.md). */
#pragma once

#include "../../common/elements.h"
#include "../../common/rounding_vector.h"
#include "../../reduce/vector_pair.h"
#include "args.h"

#define RM_LINEAR_ERR RM_BOUND(0x1p-98)
#define RM_LINEAR_REACH RM_BOUND(0x1p-49)
#define RM_QUOTIENT_ERR RM_BOUND(0x1.8p-50)
#define RM_QUOTIENT_ERR_F64 RM_BOUND(0x1p-72)

typedef struct {
  char *p, *m, *v, *w;
  const char *g;
} rm_step_arrays;

RM_FN vf64 rm_round_elements(vf64 y, const int fmt) {
  char buffer[8 * RM_LANES];
  if (fmt == RM_F32) return vf64_round_f32(y);
  rm_store_elements(buffer, y, fmt);
  return rm_load_elements(buffer, fmt);
}

/* r = y.hi + y.lo rounded to the format, the true value within err; returns the lanes in which that is undecided or not
 * finite. An exact zero is +0, and undecided unless err is 0.
 *
 * binary64: both ends of the interval round alike. Below: the value is also within `reach` of y.hi, and where both ends of
 * that round alike, the 16-bit formats through binary32, which moves an end by at most 2^-24 of it or 2^-150, that is the
 * result. Else let low and high be the two results. When 4 reach <= high - low, they are neighbours, (low + high)/2 is the
 * boundary between them, exactly, y.hi minus it too, and the side is known when the distance is above err. */
RM_FN vm64 rm_step_round(rm_vpair y, vf64 err, vf64 reach, const int fmt, vf64 *r) {
  const vf64 zero = vf64_set1(0.0), infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vf64 t = vf64_add(y.hi, zero);
  if (fmt == RM_F64) {
    const vf64 low = vf64_add(t, vf64_sub(y.lo, err));
    *r = vf64_add(t, vf64_add(y.lo, err));
    return vm64_not(vm64_and(vi64_eq(vf64_bits(low), vf64_bits(*r)), vf64_lt(vf64_abs(*r), infinity)));
  }
  if (fmt != RM_F32) reach = vf64_mad(vf64_abs(t), vf64_set1(0x1p-23), reach);
  if (fmt == RM_BF16) reach = vf64_add(reach, vf64_min(vf64_abs(t), vf64_set1(0x1p-149)));
  const vf64 low = rm_round_elements(vf64_sub(t, reach), fmt), high = rm_round_elements(vf64_add(t, reach), fmt);
  const vf64 side = vf64_add(vf64_sub(t, vf64_mul(vf64_set1(0.5), vf64_add(low, high))), y.lo);
  *r = vf64_select(vf64_lt(side, zero), low, high);
  const vm64 alike = vi64_eq(vf64_bits(low), vf64_bits(high));
  const vm64 decided = vm64_and(vf64_lt(err, vf64_abs(side)), vf64_le(vf64_mul(vf64_set1(4.0), reach), vf64_sub(high, low)));
  const vm64 finite = vf64_lt(vf64_max(vf64_abs(low), vf64_abs(high)), infinity);
  return vm64_not(vm64_and(vm64_or(alike, decided), finite));
}

/* The new numbers of a vector of elements, those that there are. */
typedef struct {
  vf64 p, m, v, w;
} rm_step_vectors;

/* c x; the second parts of c and x count where they are said to be there. */
RM_FN rm_vpair rm_vtimes(rm_vpair c, const int long_c, rm_vpair x, const int long_x) {
  const vf64 h = vf64_mul(c.hi, x.hi);
  vf64 l = vf64_mul_err(c.hi, x.hi, h);
  if (long_x) l = vf64_mad(c.hi, x.lo, l);
  if (long_c) l = vf64_mad(c.lo, x.hi, l);
  return (rm_vpair){h, l};
}
RM_FN rm_vpair rm_vplus(rm_vpair a, rm_vpair b) {
  const rm_vpair t = rm_vpair_two_sum(a.hi, b.hi);
  return (rm_vpair){t.hi, vf64_add(t.lo, vf64_add(a.lo, b.lo))};
}
RM_FN rm_vpair rm_vone(vf64 x) { return (rm_vpair){x, vf64_set1(0.0)}; }
RM_FN rm_vpair rm_vminus(rm_vpair x) { return (rm_vpair){vf64_neg(x.hi), vf64_neg(x.lo)}; }
RM_FN rm_vpair rm_vcoefficient(const double *c) { return (rm_vpair){vf64_set1(c[0]), vf64_set1(c[1])}; }

/* d and the magnitudes of its terms. */
RM_FN rm_vpair rm_step_direction(const rm_optimizer *o, vf64 p, vf64 g, const int coupled, vf64 *size) {
  if (o->negate) g = vf64_neg(g);
  *size = vf64_abs(g);
  if (!coupled) return rm_vone(g);
  const rm_vpair term = rm_vtimes(rm_vone(vf64_set1(o->decay)), 0, rm_vone(p), 0);
  *size = vf64_add(*size, vf64_abs(term.hi));
  return rm_vplus(rm_vone(g), term);
}

RM_FN vm64 rm_step_round_linear(rm_vpair y, vf64 size, const int fmt, vf64 *r) {
  return rm_step_round(y, vf64_mul(size, vf64_set1(RM_LINEAR_ERR)), vf64_mul(size, vf64_set1(RM_LINEAR_REACH)), fmt, r);
}

/* A ball that is rounded at random: one function for all quantities. */
RM_STATIC vm64 rm_step_ball(vf64 value, vf64 reach, vi64 add, int fmt, vf64 *r) {
  const vf64 c = vf64_add(value, vf64_set1(0.0));
  if (fmt == RM_F32) return rm_round_ball_vector(c, reach, add, RM_F32, r);
  return fmt == RM_F16 ? rm_round_ball_vector(c, reach, add, RM_F16, r) : rm_round_ball_vector(c, reach, add, RM_BF16, r);
}

/* The same rounded at random, where `add` has what the quantity's words add (common/rounding_vector.h): of the value only
 * y.hi and its reach count. Formats below binary64 have this. */
RM_FN vm64 rm_step_round_sum(rm_vpair y, vf64 size, const vi64 *add, const int fmt, vf64 *r) {
  if (!add) return rm_step_round_linear(y, size, fmt, r);
  return rm_step_ball(y.hi, vf64_mul(size, vf64_set1(RM_LINEAR_REACH)), *add, fmt, r);
}

/* beta x + keep y, y of the terms `size`. */
RM_FN vm64 rm_step_average(double beta, vf64 x, const double *keep, rm_vpair y, const int long_y, vf64 size, const vi64 *add,
                           const int fmt, vf64 *r) {
  const rm_vpair old = rm_vtimes(rm_vone(vf64_set1(beta)), 0, rm_vone(x), 0),
                 fresh = rm_vtimes(rm_vcoefficient(keep), 1, y, long_y);
  const vf64 whole = vf64_mad(size, vf64_set1(__builtin_fabs(keep[0])), vf64_abs(old.hi));
  return rm_step_round_sum(rm_vplus(fresh, old), whole, add, fmt, r);
}

/* The lanes of binary64 arguments that are not 0 or between 2^-300 and 2^300. */
RM_FN vm64 rm_step_outside(vf64 x) {
  const vf64 size = vf64_abs(x);
  const vm64 inside = vm64_and(vf64_le(vf64_set1(0x1p-300), size), vf64_le(size, vf64_set1(0x1p300)));
  return vm64_not(vm64_or(inside, vf64_eq(x, vf64_set1(0.0))));
}

enum { RM_PLAIN, RM_MOMENTUM, RM_NESTEROV };

/* The new numbers of a vector; returns the undecided lanes. `add`: what the words of each quantity add, by FIRST_MOMENT ...;
 * NULL rounds to nearest. */
RM_FN vm64 rm_sgd_values(const rm_optimizer *o, const rm_step_arrays *a, const int fmt, const int coupled, const int mode,
                         const vi64 *add, rm_step_vectors *y) {
  const vi64 *const of_buffer = add ? add + FIRST_MOMENT : 0, *const of_parameter = add ? add + PARAMETER : 0;
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  vf64 size;
  rm_vpair x = rm_step_direction(o, p, g, coupled, &size);
  vm64 undecided = vf64_lt(p, p);
  if (fmt == RM_F64) undecided = vm64_or(rm_step_outside(p), rm_step_outside(g));
  y->m = y->v = y->w = p;
  if (mode != RM_PLAIN) {
    if (o->first) {
      undecided = vm64_or(undecided, rm_step_round_sum(x, size, of_buffer, fmt, &y->m));
    } else {
      const vf64 b = rm_load_elements(a->m, fmt);
      if (fmt == RM_F64) undecided = vm64_or(undecided, rm_step_outside(b));
      undecided =
          vm64_or(undecided, rm_step_average(o->beta1, b, o->constants.keep1, x, coupled, size, of_buffer, fmt, &y->m));
    }
    if (fmt == RM_F64) undecided = vm64_or(undecided, rm_step_outside(y->m));
    if (mode == RM_NESTEROV) {
      const rm_vpair term = rm_vtimes(rm_vone(vf64_set1(o->beta1)), 0, rm_vone(y->m), 0);
      x = rm_vplus(x, term);
      size = vf64_add(size, vf64_abs(term.hi));
    } else {
      x = rm_vone(y->m);
      size = vf64_abs(y->m);
    }
  }
  const vf64 rate = vf64_set1(o->lr);
  const rm_vpair step = rm_vtimes(rm_vone(rate), 0, x, mode == RM_NESTEROV || (mode == RM_PLAIN && coupled));
  const vf64 whole = vf64_mad(size, rate, vf64_abs(p));
  return vm64_or(undecided, rm_step_round_sum(rm_vplus(rm_vone(p), rm_vminus(step)), whole, of_parameter, fmt, &y->p));
}

/* a p - rate m / (sqrt(s) + eps) */
RM_FN vm64 rm_step_quotient(const rm_optimizer_constants *c, vf64 p, vf64 m, vf64 s, const vi64 *add, const int fmt,
                            vf64 *y) {
  vf64 r, t;
  const vf64 root = vf64_root(s, &t);
  if (fmt != RM_F64) {
    const vf64 q = vf64_quotient(vf64_mul(m, vf64_set1(c->rate[0])), vf64_add(root, vf64_set1(c->eps[0])), &r);
    const vf64 kept = vf64_mul(p, vf64_set1(c->a[0]));
    const vf64 err = vf64_mul(vf64_add(vf64_abs(kept), vf64_abs(q)), vf64_set1(RM_QUOTIENT_ERR));
    if (add) return rm_step_ball(vf64_sub(kept, q), err, *add, fmt, y);
    return rm_step_round(rm_vone(vf64_sub(kept, q)), err, err, fmt, y);
  }
  const vf64 square = vf64_mul(root, root), rest = vf64_sub(vf64_sub(s, square), vf64_mul_err(root, root, square));
  const rm_vpair below = rm_vplus((rm_vpair){root, vf64_mul(vf64_mul(rest, t), vf64_set1(0.5))}, rm_vcoefficient(c->eps));
  const rm_vpair above = rm_vtimes(rm_vcoefficient(c->rate), 1, rm_vone(m), 0);
  const vf64 q = vf64_quotient(above.hi, below.hi, &r), product = vf64_mul(q, below.hi);
  vf64 residual = vf64_sub(vf64_sub(above.hi, product), vf64_mul_err(q, below.hi, product));
  residual = vf64_add(residual, vf64_nmad(q, below.lo, above.lo));
  const rm_vpair kept = rm_vtimes(rm_vcoefficient(c->a), 1, rm_vone(p), 0);
  const rm_vpair result = rm_vplus(kept, (rm_vpair){vf64_neg(q), vf64_neg(vf64_mul(residual, r))});
  const vf64 err = vf64_mul(vf64_add(vf64_abs(kept.hi), vf64_abs(q)), vf64_set1(RM_QUOTIENT_ERR_F64));
  return rm_step_round(result, err, err, fmt, y);
}

RM_FN vm64 rm_adam_values(const rm_optimizer *o, const rm_step_arrays *a, const int fmt, const int coupled, const int largest,
                          const vi64 *add, rm_step_vectors *y) {
  const rm_optimizer_constants *c = &o->constants;
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  const vf64 m = rm_load_elements(a->m, fmt), v = rm_load_elements(a->v, fmt);
  vf64 size;
  const rm_vpair d = rm_step_direction(o, p, g, coupled, &size);
  vm64 undecided = rm_step_average(o->beta1, m, c->keep1, d, coupled, size, add ? add + FIRST_MOMENT : 0, fmt, &y->m);
  const int long_square = coupled || fmt == RM_F64; /* 48 bits of a binary32 number's square fit */
  rm_vpair square = rm_vone(vf64_mul(d.hi, d.hi));
  if (long_square) square = rm_vtimes(d, coupled, d, coupled);
  undecided = vm64_or(undecided, rm_step_average(o->beta2, v, c->keep2, square, long_square, vf64_mul(size, size),
                                                 add ? add + SECOND_MOMENT : 0, fmt, &y->v));
  y->w = y->v;
  if (largest) {
    const vf64 w = rm_load_elements(a->w, fmt);
    undecided = vm64_or(undecided, vf64_unord(w, w));
    y->w = vf64_max(w, y->v);
  }
  const vf64 s = largest ? y->w : y->v;
  undecided = vm64_or(undecided, vf64_lt(s, vf64_set1(0.0)));
  if (fmt == RM_F64) {
    undecided = vm64_or(
        undecided, vm64_or(vm64_or(rm_step_outside(p), rm_step_outside(g)), vm64_or(rm_step_outside(m), rm_step_outside(v))));
    undecided = vm64_or(undecided, vm64_or(rm_step_outside(y->m), rm_step_outside(s)));
  }
  undecided = vm64_or(undecided, rm_step_quotient(c, p, y->m, s, add ? add + PARAMETER : 0, fmt, &y->p));
  return undecided;
}
