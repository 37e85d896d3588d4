/* The fast phase of formulas: a vector of elements, with Ziv's rounding test. Undecided lanes go to the accurate phase. It is
 * also device code.
 *
 * Terms are products in two parts and sums of such, with the bounds LINEAR_ERR and LINEAR_REACH of optim/step.h, which hold
 * for coefficients of 0 or between 2^-200 and 2^200: a product of three is at most 2^800 and at least 2^-800, and its second
 * parts above 2^-960. The factors 1 - y and 1 + y of the two gradients are two-sums, exact in two parts, of which the second
 * is at most u times the first: 1 - y^2 is their product. (1 minus y^2 in two parts would lose accuracy: for y beside 1 the
 * two cancel, but the error of the square does not.) So their relative errors are those of one more product, and the size of
 * the one term is the result's. So is the factor 1 - z of a mix, whose number z is an argument: 0 or between 2^-300 and 2^300
 * as the others are, so that products of two are at least 2^-600.
 *
 * Quotients. A divisor that is a short decimal has quotients beside ties: 3/0.3 is 10 (1 + 2^-54). So those by the number a,
 * and all of binary64, get a second part as Adam's quotient does, which corrects the first by its residual: QUOTIENT_ERR_F64
 * of |x| + |q|; first part and result are within 2^-50 of these: QUOTIENT_REACH. Others, of formats below binary64: numerator
 * a y by 1u, the quotient by 2.2u (vf64_quotient), the sum with x by 1u of the result, the test by 2u: below 8u (|x| +
 * |q|). */
#pragma once

#include "../../../include/repmath/formulas.h"
#include "args.h"
#include "../optim/step.h"

#define RM_FORMULA_QUOTIENT_ERR RM_BOUND(0x1p-50)
#define RM_FORMULA_QUOTIENT_REACH RM_BOUND(0x1p-50)

/* The divisors that vf64_quotient does not know. */
RM_FN vm64 rm_formula_no_divisor(vf64 z) {
  const vf64 infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  return vm64_or(vf64_eq(z, vf64_set1(0.0)), vf64_eq(vf64_abs(z), infinity));
}

/* x + above/below; below is neither 0 nor infinite. */
RM_FN vm64 rm_formula_quotient(vf64 x, rm_vpair above, vf64 below, const int two_parts, const int fmt, vf64 *y) {
  vf64 r;
  const vf64 q = vf64_quotient(above.hi, below, &r);
  const vf64 size = vf64_add(vf64_abs(x), vf64_abs(q));
  if (!two_parts) {
    const vf64 err = vf64_mul(size, vf64_set1(RM_FORMULA_QUOTIENT_ERR));
    return rm_step_round(rm_vone(vf64_add(x, q)), err, err, fmt, y);
  }
  const vf64 product = vf64_mul(q, below);
  vf64 residual = vf64_sub(vf64_sub(above.hi, product), vf64_mul_err(q, below, product));
  residual = vf64_add(residual, above.lo);
  const rm_vpair result = rm_vplus(rm_vone(x), (rm_vpair){q, vf64_mul(residual, r)});
  const vf64 err = vf64_mul(size, vf64_set1(RM_QUOTIENT_ERR_F64)),
             reach = vf64_mul(size, vf64_set1(RM_FORMULA_QUOTIENT_REACH));
  return rm_step_round(result, err, reach, fmt, y);
}

/* 1 - y. */
RM_FN rm_vpair rm_formula_left(vf64 y) { return rm_vplus(rm_vone(vf64_set1(1.0)), rm_vminus(rm_vone(y))); }

RM_FN vf64 rm_formula_load(const char *at, const int fmt, const int choice, vm64 *undecided) {
  const vf64 v = rm_load_elements(at, fmt);
  if (fmt == RM_F64 && !choice) *undecided = vm64_or(*undecided, rm_step_outside(v));
  return v;
}

/* The choices; lanes whose result is NaN are undecided. */
RM_FN vm64 rm_formula_choose(const int formula, vf64 a, vf64 x, vf64 y, vf64 *r) {
  const vf64 zero = vf64_set1(0.0);
  if (formula == RM_FORMULA_GATE) {
    *r = vf64_select(vf64_le(y, a), zero, x);
    return vf64_unord(*r, *r);
  }
  if (!rm_formula_has_y(formula)) y = a;
  const int maximum = formula == RM_FORMULA_MAX_SCALAR || formula == RM_FORMULA_MAX;
  const vi64 bits = maximum ? vi64_and(vf64_bits(x), vf64_bits(y)) : vi64_or(vf64_bits(x), vf64_bits(y)); /* for equal ones */
  *r = vf64_select(maximum ? vf64_lt(x, y) : vf64_lt(y, x), y, x);
  *r = vf64_select(vf64_eq(x, y), vf64_from_bits(bits), *r);
  return vf64_unord(x, y);
}

/* Sets *result for one vector; returns the undecided lanes. */
RM_FN vm64 rm_formula_values(const rm_formula_problem *problem, const char *at_x, const char *at_y, const char *at_z,
                             const int fmt, const int formula, vf64 *result) {
  const vf64 zero = vf64_set1(0.0), a = vf64_set1(problem->a);
  const int choice = RM_FORMULA_IS_CHOICE(formula);
  vm64 undecided = vf64_lt(zero, zero);
  const vf64 x = rm_formula_load(at_x, fmt, choice, &undecided);
  const vf64 y = rm_formula_has_y(formula) ? rm_formula_load(at_y, fmt, choice, &undecided) : zero;
  const vf64 z = rm_formula_has_z(formula) ? rm_formula_load(at_z, fmt, choice, &undecided) : zero;
  vf64 r;
  rm_vpair term = rm_vone(a);
  if (choice) {
    undecided = rm_formula_choose(formula, a, x, y, &r);
  } else if (formula == RM_FORMULA_OVER) {
    undecided = vm64_or(undecided, rm_formula_quotient(zero, rm_vone(x), a, 1, fmt, &r));
    r = vf64_select(vf64_eq(x, zero), vf64_mul(x, a), r);
  } else if (formula == RM_FORMULA_UNDER) {
    undecided = vm64_or(undecided, vm64_or(rm_formula_no_divisor(x), rm_formula_quotient(zero, rm_vone(a), x, 1, fmt, &r)));
    r = vf64_select(vf64_eq(a, zero), vf64_mul(x, a), r);
  } else if (rm_formula_is_product(formula)) {
    if (formula == RM_FORMULA_SCALED) {
      term = rm_vtimes(term, 0, rm_vone(x), 0);
    } else if (formula == RM_FORMULA_TANH) {
      term = rm_vtimes(rm_formula_left(y), 1, rm_formula_left(vf64_neg(y)), 1);
      term = rm_vtimes(term, 1, rm_vone(x), 0);
    } else {
      term = rm_vtimes(rm_formula_left(y), 1, rm_vtimes(rm_vone(x), 0, rm_vone(y), 0), 1);
    }
    undecided = vm64_or(undecided, rm_step_round_linear(term, vf64_abs(term.hi), fmt, &r));
    r = vf64_select(vf64_eq(term.hi, zero), term.hi, r);
  } else if (formula == RM_FORMULA_QUOTIENT) {
    term = rm_vtimes(term, 0, rm_vone(y), 0);
    undecided =
        vm64_or(undecided, vm64_or(rm_formula_no_divisor(z), rm_formula_quotient(x, term, z, fmt == RM_F64, fmt, &r)));
  } else {
    rm_vpair first = rm_vone(x);
    if (formula == RM_FORMULA_BETWEEN) first = rm_vtimes(rm_vcoefficient(problem->keep), 1, first, 0);
    if (formula == RM_FORMULA_MIX) {
      first = rm_vtimes(rm_formula_left(z), 1, first, 0);
      term = rm_vone(z);
    }
    if (formula != RM_FORMULA_ADDED) term = rm_vtimes(term, 0, rm_vone(y), 0);
    if (formula == RM_FORMULA_PRODUCT) term = rm_vtimes(rm_vone(z), 0, term, 1);
    const vf64 size = vf64_add(vf64_abs(first.hi), vf64_abs(term.hi));
    undecided = vm64_or(undecided, rm_step_round_linear(rm_vplus(first, term), size, fmt, &r));
  }
  *result = r;
  return undecided;
}
