/* Vectors of formulas without Ziv's rounding test: sums that are exact in three numbers of binary64 are rounded to odd, and
 * what an operand that is not finite decides follows IEEE 754's rules.
 *
 * A formula below binary64 is often a number, or a tie: the half of a sum of two numbers is one for each fourth pair. The
 * test cannot decide a tie, whatever its bound. Rounded to odd in binary64 (odd.h), any value rounds to the format as it
 * should.
 *
 * Sums of three. t + l is a + (b + c).hi, exactly, and w the sum of l and low = (b + c).lo, so that the value is t + w. v is
 * w rounded to odd, and the result t + v rounded to odd. Where l = 0, w is low, and v = w. Else t is rounded, so that a and
 * -(b + c).hi are not within a factor of 2 of each other (Sterbenz), and |t| > 0.49 |(b + c).hi|: low is at most 2^-53 of
 * that and l 2^-53 of |t|, so that |w| and |v| are below 2^-51 |t|. Let B be a boundary of rounding, a number of at most 25
 * bits, and d = B - t. If |d| >= 2^-50 |t|, neither w nor v reaches d, and the value lies on the side of B on which t + v
 * does. Else |B| >= |t|/2, and d, a multiple of half the last place of t, as B is, has at most 5 bits: it is a number of
 * binary64 whose last bit is 0. w < d, w = d and w > d then hold as they do for v, which is w, or the odd one of its two
 * neighbours, between which d is not. So t + v lies on the side of B on which the value does, and is B only where that is.
 *
 * Operands have at most 24 bits, so that the products of two are exact. They are 0 or between 2^-149 and 2^128, and a, 1 - a
 * and 1 - z are 0 or between 2^-200 and 2^200 (formula/step.h): products of three, as their errors, neither overflow nor
 * underflow. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "step.h"

/* A number rounded to odd as one that rm_store_elements rounds once. */
RM_FN vf64 rm_formula_put_odd(vf64 y, const int fmt) { return fmt == RM_F32 ? y : vf64_to_odd16(y); }

/* *r = a + b; returns the lanes in which this is not finite. An exact zero is +0. */
RM_FN vm64 rm_odd_sum_of_two(vf64 a, vf64 b, const int fmt, vf64 *r) {
  vf64 e;
  const vf64 s = vf64_two_sum(a, b, &e);
  *r = rm_formula_put_odd(vf64_add(vf64_to_odd(s, e), vf64_set1(0.0)), fmt);
  return vf64_not_finite(s, fmt);
}
RM_FN vm64 rm_odd_sum_of_three(vf64 a, vf64 b, vf64 c, const int fmt, vf64 *r) {
  vf64 low, l, rest;
  const vf64 t = vf64_two_sum(a, vf64_two_sum(b, c, &low), &l), w = vf64_two_sum(l, low, &rest), v = vf64_to_odd(w, rest);
  return rm_odd_sum_of_two(t, v, fmt, r);
}

/* The terms of a formula: x or its product p with a factor, the other product q, and the errors f and e of the two. */
typedef struct {
  vf64 p, q, e, f;
} rm_formula_terms;

/* Sets *t; returns the lanes in which the value is not the sum of the terms. */
RM_FN vm64 rm_formula_split(const rm_formula_problem *problem, vf64 x, vf64 y, vf64 z, const int formula,
                            rm_formula_terms *t) {
  const vf64 zero = vf64_set1(0.0);
  vf64 factor = vf64_set1(problem->a), by = y;
  rm_vpair keep = rm_vone(zero);
  t->p = x, t->f = zero;
  if (formula == RM_FORMULA_SCALED) t->p = zero, by = x;
  if (formula == RM_FORMULA_PRODUCT) by = vf64_mul(y, z);
  if (formula == RM_FORMULA_MIX) keep = rm_formula_left(z), factor = z;
  if (formula == RM_FORMULA_BETWEEN) keep = rm_vcoefficient(problem->keep);
  if (formula == RM_FORMULA_BETWEEN || formula == RM_FORMULA_MIX) {
    t->p = vf64_mul(keep.hi, x);
    t->f = vf64_mul_err(keep.hi, x, t->p);
  }
  if (formula == RM_FORMULA_ADDED) {
    t->q = factor, t->e = zero;
  } else {
    t->q = vf64_mul(factor, by);
    t->e = vf64_mul_err(factor, by, t->q);
  }
  return vf64_ne(keep.lo, zero);
}

/* The formulas that are such sums. */
RM_FN int rm_formula_is_sum(const int formula, const int fmt) {
  return fmt != RM_F64 && (formula == RM_FORMULA_SCALED || formula == RM_FORMULA_ADDED || formula == RM_FORMULA_PLUS ||
                           formula == RM_FORMULA_BETWEEN || formula == RM_FORMULA_PRODUCT || formula == RM_FORMULA_MIX);
}

/* Sets *r where no product of the vector has an error; returns whether that is so. *other: the lanes that are not finite. */
RM_FN int rm_formula_short(const rm_formula_problem *problem, vf64 x, vf64 y, vf64 z, const int fmt, const int formula,
                           vf64 *r, vm64 *other) {
  const vf64 zero = vf64_set1(0.0);
  rm_formula_terms t;
  const vm64 longer = rm_formula_split(problem, x, y, z, formula, &t);
  if (formula == RM_FORMULA_SCALED) {
    *r = rm_formula_put_odd(vf64_to_odd(t.q, t.e), fmt);
    *other = vf64_not_finite(t.q, fmt);
    return 1;
  }
  const vf64 errors = vf64_add(vf64_abs(t.e), vf64_abs(t.f));
  if (!vm64_none(vm64_or(longer, vf64_ne(errors, zero)))) return 0;
  *other = rm_odd_sum_of_two(t.p, t.q, fmt, r);
  return 1;
}

/* The lanes, among `lanes`, of a quotient a y/z without a rest, as of y/y: a number, whose sum with x has two terms. binary64
 * rounds that by itself. Below it a y is 0 or between 2^-349 and 2^328, and with z inside of its bounds (formula/step.h)
 * between 2^-500 and 2^500 in binary64, so that errors and residual are exact: p - q z is 0 only where both of its parts are,
 * of which the second one is at most half a last place of the first. */
RM_COLD uint32_t rm_formula_by_quotient(const rm_formula_problem *problem, const char *at_x, const char *at_y,
                                        const char *at_z, uint32_t lanes, vf64 *r) {
  const int fmt = problem->format;
  const vf64 zero = vf64_set1(0.0), a = vf64_set1(problem->a), x = rm_load_elements(at_x, fmt);
  const vf64 y = rm_load_elements(at_y, fmt), z = rm_load_elements(at_z, fmt);
  const vf64 p = vf64_mul(a, y), q = vf64_div(p, z), s = vf64_mul(q, z);
  const vf64 rest = vf64_sub(vf64_sub(p, s), vf64_mul_err(q, z, s));
  const vf64 left = vf64_add(vf64_abs(vf64_mul_err(a, y, p)), vf64_abs(rest));
  vm64 other = vf64_ne(left, zero);
  vf64 sum = vf64_add(vf64_add(x, q), zero);
  if (fmt == RM_F64) {
    other = vm64_or(other, vm64_or(rm_step_outside(y), rm_step_outside(z)));
    other = vm64_or(other, vf64_not_finite(sum, RM_F64));
  } else {
    other = vm64_or(other, rm_odd_sum_of_two(x, q, fmt, &sum));
  }
  *r = vf64_select(other, *r, sum);
  return lanes & ~vm64_bits(other);
}

/* The lanes, among `lanes`, whose values are the sums of three numbers: one of the two products of a mix, and of the others
 * the one product, has no error. Puts them into *r, and returns them. */
RM_COLD uint32_t rm_formula_by_sum(const rm_formula_problem *problem, const char *at_x, const char *at_y, const char *at_z,
                                   uint32_t lanes, vf64 *r) {
  const int fmt = problem->format, formula = problem->formula;
  if (formula == RM_FORMULA_QUOTIENT) return rm_formula_by_quotient(problem, at_x, at_y, at_z, lanes, r);
  if (fmt == RM_F64 || (formula != RM_FORMULA_PLUS && formula != RM_FORMULA_PRODUCT && formula != RM_FORMULA_MIX)) return 0;
  const vf64 zero = vf64_set1(0.0), x = rm_load_elements(at_x, fmt);
  const vf64 y = at_y ? rm_load_elements(at_y, fmt) : zero, z = at_z ? rm_load_elements(at_z, fmt) : zero;
  rm_formula_terms t;
  vf64 sum;
  vm64 other = rm_formula_split(problem, x, y, z, formula, &t);
  other = vm64_or(other, rm_odd_sum_of_three(t.p, t.q, formula == RM_FORMULA_MIX ? t.f : t.e, fmt, &sum));
  *r = vf64_select(other, *r, sum);
  return lanes & ~vm64_bits(other);
}

/* A number as its sign: no operation on these rounds or overflows. */
RM_FN vf64 rm_formula_bounds(vf64 x) {
  const vm64 as_it_is = vm64_or(vf64_not_finite(x, RM_F64), vf64_eq(x, vf64_set1(0.0)));
  return vf64_select(as_it_is, x, vf64_copysign(vf64_set1(1.0), x));
}
RM_FN vm64 rm_formula_is_nan(vf64 x) { return vm64_andnot(vf64_not_finite(x, RM_F64), vf64_is_infinite(x)); }

/* The lanes, among `lanes`, whose result IEEE 754's rules alone decide, by the arithmetic of rm_formula_element: NaN and
 * infinities, and zeros of products. Puts them into *r, raises their exceptions, and returns them. */
RM_COLD uint32_t rm_formula_by_rule(const rm_formula_problem *problem, const char *at_x, const char *at_y, const char *at_z,
                                    uint32_t lanes, vf64 *r, uint32_t *flags) {
  const int fmt = problem->format, formula = problem->formula;
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), a = vf64_set1(problem->a), x = rm_load_elements(at_x, fmt);
  const vf64 y = at_y ? rm_load_elements(at_y, fmt) : zero, z = at_z ? rm_load_elements(at_z, fmt) : zero;
  const vm64 far = vm64_or(vf64_not_finite(x, RM_F64), vm64_or(vf64_not_finite(y, RM_F64), vf64_not_finite(z, RM_F64)));
  /* Sums of bounded products are finite, unless a is not. */
  if (formula >= RM_FORMULA_ADDED && formula != RM_FORMULA_QUOTIENT && vm64_none(far) && problem->by_vectors) return 0;
  const vf64 bx = rm_formula_bounds(x), by = rm_formula_bounds(y), bz = rm_formula_bounds(z), ba = rm_formula_bounds(a);
  const vf64 product = vf64_mul(ba, by);
  vf64 v, below = one;
  switch (formula) {
    case RM_FORMULA_SCALED: v = vf64_mul(ba, bx); break;
    case RM_FORMULA_OVER: v = vf64_div(bx, ba), below = a; break;
    case RM_FORMULA_UNDER: v = vf64_div(ba, bx), below = x; break;
    case RM_FORMULA_ADDED: v = vf64_add(bx, ba); break;
    case RM_FORMULA_PLUS: v = vf64_add(bx, product); break;
    case RM_FORMULA_BETWEEN: v = vf64_add(vf64_mul(rm_formula_bounds(vf64_sub(one, a)), bx), product); break;
    case RM_FORMULA_MIX: v = vf64_add(vf64_mul(rm_formula_bounds(vf64_sub(one, z)), bx), vf64_mul(bz, by)); break;
    case RM_FORMULA_PRODUCT: v = vf64_add(bx, vf64_mul(product, bz)); break;
    case RM_FORMULA_QUOTIENT: v = vf64_add(bx, vf64_div(product, bz)), below = z; break;
    case RM_FORMULA_TANH:
      v = vf64_mul(bx, rm_formula_bounds(vf64_sub(one, vf64_abs(y))));
      break; /* -infinity of infinite y */
    case RM_FORMULA_SIGMOID: v = vf64_mul(vf64_mul(bx, by), rm_formula_bounds(vf64_sub(one, y))); break;
    default: return 0; /* those of other forms, and choices, have few such lanes */
  }
  const vm64 nan = rm_formula_is_nan(v), infinite = vf64_is_infinite(v);
  const vm64 ends = vf64_is_infinite(below); /* the quotient is 0 */
  vm64 known = vm64_or(nan, infinite);
  *r = vf64_select(known, vf64_select(nan, vf64_nan(), v), *r);
  if (rm_formula_is_product(formula)) {
    const vm64 none = vf64_eq(v, zero);
    *r = vf64_select(none, v, *r);
    known = vm64_or(known, none);
  } else if (formula == RM_FORMULA_QUOTIENT) {
    const vm64 alone = vm64_andnot(ends, known);
    *r = vf64_select(alone, vf64_add(x, zero), *r);
    known = vm64_or(known, alone);
  }
  const vm64 given =
      vm64_or(vm64_or(rm_formula_is_nan(x), rm_formula_is_nan(y)), vm64_or(rm_formula_is_nan(z), rm_formula_is_nan(a)));
  if (vm64_bits(vm64_andnot(nan, given)) & lanes) *flags |= RM_FLAG_INVALID;
  if (vm64_bits(vm64_and(infinite, vf64_eq(below, zero))) & lanes) *flags |= RM_FLAG_DIVBYZERO;
  if (vm64_bits(given) & lanes)
    for (int i = 0; i < RM_LANES; i++) {
      const int at = i * rm_size_of(fmt);
      if (vm64_bits(given) >> i & 1 & lanes >> i && (rm_is_signalling(rm_read_bits(at_x + at, fmt), fmt) ||
                                                     (at_y && rm_is_signalling(rm_read_bits(at_y + at, fmt), fmt)) ||
                                                     (at_z && rm_is_signalling(rm_read_bits(at_z + at, fmt), fmt))))
        *flags |= RM_FLAG_INVALID;
    }
  return vm64_bits(known) & lanes;
}
