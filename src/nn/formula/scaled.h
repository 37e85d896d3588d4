/* Formulas of binary64 whose operands or results are near the ends of the range, or whose values are ties: a vector with the
 * exponents of its numbers apart, so that nothing overflows or underflows before the rounding.
 *
 * A number is (h + l) 2^e, 1 <= |h| < 2 and l = 0 where it is an operand; 0 has h = 0 and an e below that of any product.
 * Products of three have |h| < 8, quotients 1/2 < |h| < 4. The terms of a formula are evaluated as in step.h, from numbers of
 * that size, so that its bounds hold: LINEAR_ERR and, of quotients, QUOTIENT_ERR_F64, of the sum of their magnitudes. Both
 * terms are brought to the larger exponent, where the one of it is 1/2 or more. One that is 2^-200 or less of it counts as
 * 2^-200 of what it would be without a shift: that is off by less than 2^-197, and step.h leaves more than half of 2^-98
 * unused. The factor 1 - z has the second part that two_sum gives, but for 2^-1022 where z is 2^1023 and more.
 *
 * lost is 0 where nothing was rounded: no product of a second part has an error, nor the sum of that and the error of the
 * first parts' product; no quotient has a rest; no term was brought nearer; and additions of second parts have no errors.
 * These errors are exact, since a second part is 0 or more than 2^-600 (else it counts as lost): a product with it is a
 * multiple of 2^-704, and of 2^-904 when shifted. Then the value is h + l, and a tie is one.
 *
 * rm_round_scaled_f64 asks for an error below 1/4, which it is not where terms cancel. So it gets 2^40 err^2 where that is
 * more: from err = 2^-17 on this is 64 or more, which leaves every value open, since the half place that it is compared with
 * is 16 at most. */
#pragma once

#include "../../common/round_scaled.h"
#include "step.h"

typedef struct {
  vf64 h, l, lost;
  vi64 e;
} rm_apart;

/* The e of 0 is less by 2^14, a multiple of 2^12: as that of an exponent field it is the same. */
RM_FN rm_apart rm_take_apart(vf64 x) {
  const vf64 zero = vf64_set1(0.0);
  const vm64 small = vi64_ltu(vf64_bits(vf64_abs(x)), vi64_set1(INT64_C(1) << 52)), none = vf64_eq(x, zero);
  const vi64 v = vf64_bits(vf64_select(small, rm_enlarge(x), x)), field = vi64_and(v, vi64_set1(RM_INF_FIELD));
  const vf64 less = vf64_select(small, vf64_from_bits(vi64_set1(1023 + 1022)), vf64_from_bits(vi64_set1(1023)));
  const vf64 h = vf64_from_bits(vi64_or(vi64_sub(v, field), vi64_set1(RM_ONE_FIELD)));
  const vi64 e = vi64_sub(vi64_srl(field, 52), vf64_bits(vf64_select(none, vf64_from_bits(vi64_set1(1 << 14)), less)));
  return (rm_apart){vf64_select(none, zero, h), zero, zero, e};
}

/* a b, for an operand b. */
RM_FN rm_apart rm_apart_times(rm_apart a, rm_apart b) {
  vf64 left;
  const vf64 h = vf64_mul(a.h, b.h), p = vf64_mul(a.l, b.h), l = vf64_two_sum(vf64_mul_err(a.h, b.h, h), p, &left);
  const vf64 lost = vf64_add(vf64_abs(left), vf64_abs(vf64_mul_err(a.l, b.h, p)));
  return (rm_apart){h, l, vf64_add(a.lost, lost), vi64_add(a.e, b.e)};
}

/* a/b, for an operand b. */
RM_FN rm_apart rm_apart_over(rm_apart a, rm_apart b) {
  vf64 r;
  const vf64 q = vf64_quotient(a.h, b.h, &r), product = vf64_mul(q, b.h);
  const vf64 rest = vf64_add(vf64_sub(vf64_sub(a.h, product), vf64_mul_err(q, b.h, product)), a.l);
  return (rm_apart){q, vf64_mul(rest, r), vf64_add(vf64_abs(rest), vf64_abs(a.l)), vi64_sub(a.e, b.e)};
}

/* v with the exponent e, which is not less than its own. */
RM_FN rm_apart rm_apart_at(rm_apart v, vi64 e) {
  const vi64 less = vi64_sub(e, v.e);
  const vm64 near = vi64_ltu(less, vi64_set1(201));
  const vf64 by =
      vf64_select(near, vf64_from_bits(vi64_sub(vi64_set1(RM_ONE_FIELD), vi64_sll(less, 52))), vf64_set1(0x1p-200));
  const vf64 lost = vf64_select(near, v.lost, vf64_add(v.lost, vf64_abs(v.h)));
  return (rm_apart){vf64_mul(v.h, by), vf64_mul(v.l, by), lost, e};
}

/* The lanes, among `lanes`, of binary64 whose sum of terms is decided. Puts them into *r, raises their exceptions, and
 * returns them. The operands of the lanes are finite, and their divisors not 0: rm_formula_by_rule has the others. */
RM_COLD uint32_t rm_formula_by_scaling(const rm_formula_problem *problem, const char *at_x, const char *at_y,
                                       const char *at_z, uint32_t lanes, vf64 *r, uint32_t *flags) {
  static const int64_t bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  const int formula = problem->formula;
  const int quotient = formula == RM_FORMULA_OVER || formula == RM_FORMULA_UNDER || formula == RM_FORMULA_QUOTIENT;
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), a = vf64_set1(problem->a);
  vf64 x = vf64_load((const double *)(const void *)at_x), y = one, z = one, factor = a;
  rm_vpair keep = rm_vone(one);
  if (at_y) y = vf64_load((const double *)(const void *)at_y);
  if (at_z) z = vf64_load((const double *)(const void *)at_z);
  switch (formula) {
    case RM_FORMULA_SCALED: y = x, x = zero; break;
    case RM_FORMULA_OVER: factor = x, z = a, x = zero; break;
    case RM_FORMULA_UNDER: z = x, x = zero; break;
    case RM_FORMULA_BETWEEN: keep = rm_vcoefficient(problem->keep); break;
    case RM_FORMULA_MIX: keep = rm_formula_left(z), factor = z, z = one; break;
    case RM_FORMULA_ADDED:
    case RM_FORMULA_PLUS:
    case RM_FORMULA_PRODUCT:
    case RM_FORMULA_QUOTIENT: break;
    default: return 0; /* choices, and products of other factors */
  }
  rm_apart kept = rm_take_apart(keep.hi), term = rm_apart_times(rm_take_apart(factor), rm_take_apart(y));
  kept.l = vf64_mul(keep.lo, vf64_from_bits(vi64_sll(vi64_sub(vi64_set1(1023), kept.e), 52)));
  kept.lost = vf64_select(vf64_lt(vf64_abs(kept.l), vf64_set1(0x1p-600)), vf64_abs(keep.lo), zero);
  term = quotient ? rm_apart_over(term, rm_take_apart(z)) : rm_apart_times(term, rm_take_apart(z));
  rm_apart first = rm_apart_times(kept, rm_take_apart(x));
  const vi64 far = vi64_set1(1 << 20);
  const vm64 lower = vi64_ltu(vi64_add(first.e, far), vi64_add(term.e, far));
  const vi64 e = vf64_bits(vf64_select(lower, vf64_from_bits(term.e), vf64_from_bits(first.e)));
  first = rm_apart_at(first, e), term = rm_apart_at(term, e);
  vf64 low, l, rest, left;
  vf64 h = vf64_two_sum(first.h, term.h, &low);
  low = vf64_two_sum(low, vf64_two_sum(first.l, term.l, &rest), &left);
  h = vf64_two_sum(h, low, &l);
  const vf64 lost = vf64_add(vf64_add(first.lost, term.lost), vf64_add(vf64_abs(rest), vf64_abs(left)));
  const vm64 exact = vf64_eq(lost, zero), none = vf64_eq(h, zero);
  const vi64 field = vi64_and(vf64_bits(h), vi64_set1(RM_INF_FIELD));
  const vf64 back = vf64_from_bits(vi64_sub(vi64_set1(2 * RM_ONE_FIELD), field));
  vf64 err =
      vf64_mul(vf64_add(vf64_abs(first.h), vf64_abs(term.h)), vf64_set1(quotient ? RM_QUOTIENT_ERR_F64 : RM_LINEAR_ERR));
  err = vf64_select(exact, zero, vf64_mul(err, back));
  vf64 value;
  h = vf64_from_bits(vi64_or(vi64_sub(vf64_bits(h), field), vi64_set1(RM_ONE_FIELD)));
  const vi64 whole = vi64_add(e, vi64_sub(vi64_srl(field, 52), vi64_set1(1023)));
  err = vf64_max(err, vf64_mul(vf64_mul(err, err), vf64_set1(0x1p40)));
  vm64 open = rm_round_scaled_f64(h, vf64_mul(l, back), whole, err, &value);
  value = vf64_select(none, zero, value);
  open = vm64_or(vm64_andnot(open, none), vm64_andnot(none, exact));
  open = vm64_or(open, vi64_disjoint(vi64_load(bit), vi64_set1(lanes)));
  const uint32_t done = lanes & ~vm64_bits(open);
  if (vm64_bits(vf64_is_infinite(value)) & done) *flags |= RM_FLAG_OVERFLOW;
  *r = vf64_select(open, *r, value);
  return done;
}
