/* Quick loops of formulas, before those of loop.h and odd.h, which take the vectors that these leave.
 *
 * Of f32, where a fused multiplication and addition is one instruction, values are evaluated in binary64. u = 2^-53; numbers
 * of f32 are 0 or between 2^-149 and 2^128, and a, 1 - a and 1/a are 0 or between 2^-201 and 2^201 (rm_quick_takes): nothing
 * overflows or underflows, and products of two numbers of f32 are exact, as are 2 x and 3 x.
 *
 * Values beside boundaries of rounding are common where they are quotients or products of a number and a short decimal: x/0.3
 * is 10 x/3 but for 2^-54 of it. Those are rounded to odd: a product has its error, a sum of two too, and x + a y is a sum of
 * three numbers (known.h). A quotient by d is q = x h + x l, where h + l is 1/d within 2^-104 of it, and within 0.5001 of its
 * last place, so that x - q d is exact, as for the rounded quotient, and the value lies between q and the neighbour on that
 * side which this sign tells.
 *
 * Of the others two numbers beside the value decide its rounding. S is the sum of the magnitudes of the terms, and of a
 * formula that is no sum of two the magnitude of the result:
 *   a x, x + a, leaky, shrink  one rounding                                           1u
 *   x + a y, x + a y z         a fused sum                                            1u
 *   x (1 - y^2), x y (1 - y)   a factor and the product                               2.01u
 *   (1 - a) x + a y            1 - a, a y and the sum; of a mix 1 - z and the sum     3.01u S
 *   x + a y/z                  a y, the quotient by 2.2u (vf64_quotient), the sum     4.3u S
 *   hardswish, its gradient    a fused sum, 1/6, their product                        3.01u
 * The test's ends are y (1 -+ 8u) or y -+ 8u S, whose own roundings are below 2.1u: RM_FORMULA_QUICK_ERR.
 *
 * Choices of the formats below binary64 are made in binary32, whose numbers they are. */
#pragma once

#include "fused.h"
#include "loop.h"
#include "odd.h"
#include "quotients.h"

/* The slow loop of a formula, for elements [i, end). */
typedef uint32_t rm_formula_rest_fn(const rm_formula_problem *problem, int64_t i, int64_t end);

#if RM_HAS_VF32 && RM_B32

/* The greatest number of binary32 that is not above a: y > a says the same of it. */
RM_FN float rm_quick_below(double a) {
  float f = (float)a;
  uint32_t b;
  if (!((double)f > a)) return f;
  __builtin_memcpy(&b, &f, 4);
  b = f == 0.0f ? UINT32_C(0x80000001) : f > 0.0f ? b - 1 : b + 1;
  __builtin_memcpy(&f, &b, 4);
  return f;
}

/* The choice; *nan gets the lanes whose result is NaN. */
RM_FN vf32 rm_quick_choose(const int formula, const int negative, vf32 a, vf32 x, vf32 y, vm32 *nan) {
  if (formula == RM_FORMULA_GATE) {
    const vf32 r = vf32_select(vf32_nle(y, a), x, vf32_set1(0.0f));
    *nan = vf32_ne(r, r);
    return r;
  }
  if (formula == RM_FORMULA_MAX_SCALAR || formula == RM_FORMULA_MIN_SCALAR) {
    *nan = vf32_ne(x, x);
    /* Of two zeros the choice is that of the right sign. */
    if (formula == RM_FORMULA_MAX_SCALAR)
      return negative ? vf32_select(vf32_lt(x, a), a, x) : vf32_select(vf32_lt(a, x), x, a);
    return negative ? vf32_select(vf32_lt(x, a), x, a) : vf32_select(vf32_lt(a, x), a, x);
  }
  *nan = vm32_or(vf32_ne(x, x), vf32_ne(y, y));
  const vi32 both = vi32_and(vf32_bits(x), vf32_bits(y)), other = vi32_xor(vf32_bits(x), vf32_bits(y));
  const int maximum = formula == RM_FORMULA_MAX;
  const vf32 r = maximum ? vf32_select(vf32_lt(x, y), y, x) : vf32_select(vf32_lt(y, x), y, x);
  return vf32_select(vf32_ne(x, y), r,
                     vf32_from_bits(maximum ? both : vi32_add(both, other))); /* their common bits, or all */
}

/* Elements [i, end), 4 RM_LANES at a time. */
#define RM_QUICK_CHOICES(fmt, FMT, type)                                                                                   \
  RM_FN uint32_t rm_quick_choices_##fmt(const rm_formula_problem *problem, int64_t i, int64_t end, const int formula,      \
                                        rm_formula_rest_fn *rest) {                                                        \
    const type *const x = (const type *)(const void *)problem->x, *const y = (const type *)(const void *)problem->y;       \
    type *const out = (type *)(void *)problem->out;                                                                        \
    const vf32 a = vf32_set1(formula == RM_FORMULA_GATE ? rm_quick_below(problem->a) : (float)problem->a);                 \
    const vf32 canonical = vf32_set1(__builtin_nanf(""));                                                                  \
    const int negative = (int)(rm_bits64(problem->a) >> 63), has_y = rm_formula_has_y(formula);                            \
    uint32_t flags = 0;                                                                                                    \
    for (; i + 4 * RM_LANES <= end; i += 4 * RM_LANES) {                                                                   \
      vf32 u[2], v[2], r[2];                                                                                               \
      vm32 nan[2];                                                                                                         \
      vf32_load2_##fmt(x + i, u);                                                                                          \
      if (has_y) vf32_load2_##fmt(y + i, v);                                                                               \
      RM_UNROLL for (int j = 0; j < 2; j++) r[j] = rm_quick_choose(formula, negative, a, u[j], has_y ? v[j] : a, nan + j); \
      if (RM_UNLIKELY(!vm32_none(vm32_or(nan[0], nan[1])))) {                                                              \
        if (formula == RM_FORMULA_GATE) { /* of which a signalling NaN may be gone */                                      \
          flags |= rest(problem, i, i + 4 * RM_LANES);                                                                     \
          continue;                                                                                                        \
        }                                                                                                                  \
        if (rm_any_signalling(x + i, 4 * RM_LANES, FMT) || (has_y && rm_any_signalling(y + i, 4 * RM_LANES, FMT)))         \
          flags |= RM_FLAG_INVALID;                                                                                        \
        RM_UNROLL for (int j = 0; j < 2; j++) r[j] = vf32_select(nan[j], canonical, r[j]);                                 \
      }                                                                                                                    \
      vf32_store2_##fmt(out + i, r);                                                                                       \
    }                                                                                                                      \
    return i < end ? flags | rest(problem, i, end) : flags;                                                                \
  }
RM_QUICK_CHOICES(f16, RM_F16, uint16_t)
RM_QUICK_CHOICES(bf16, RM_BF16, uint16_t)
RM_QUICK_CHOICES(f32, RM_F32, float)
#undef RM_QUICK_CHOICES

#define RM_QUICK_CHOICE(fmt)                                                                                            \
  RM_FN uint32_t rm_quick_choice_##fmt(const rm_formula_problem *p, int64_t i, int64_t end, rm_formula_rest_fn *rest) { \
    switch (p->formula) {                                                                                               \
      case RM_FORMULA_MAX_SCALAR: return rm_quick_choices_##fmt(p, i, end, RM_FORMULA_MAX_SCALAR, rest);                \
      case RM_FORMULA_MIN_SCALAR: return rm_quick_choices_##fmt(p, i, end, RM_FORMULA_MIN_SCALAR, rest);                \
      case RM_FORMULA_MAX: return rm_quick_choices_##fmt(p, i, end, RM_FORMULA_MAX, rest);                              \
      case RM_FORMULA_MIN: return rm_quick_choices_##fmt(p, i, end, RM_FORMULA_MIN, rest);                              \
      default: return rm_quick_choices_##fmt(p, i, end, RM_FORMULA_GATE, rest);                                         \
    }                                                                                                                   \
  }
RM_QUICK_CHOICE(f16)
RM_QUICK_CHOICE(bf16)
RM_QUICK_CHOICE(f32)
#undef RM_QUICK_CHOICE
#endif

#if RM_HAS_FMA && RM_HAS_VF32

#define RM_FORMULA_QUICK_ERR RM_BOUND(0x1p-50)

/* Whether the quick loop of f32 takes the formula and its number. Sums with a y, where a has few bits, are often ties:
 * formula/known.h has a shorter way for these. */
RM_FN int rm_quick_takes(const rm_formula_problem *p) {
  const int formula = p->formula;
  const double size = __builtin_fabs(p->a), kept = __builtin_fabs(p->keep[0]);
  if (formula == RM_FORMULA_UNDER || RM_FORMULA_IS_CHOICE(formula) || formula >= RM_FORMULA_FLOOR) return 0;
  const int takes_a = formula <= RM_FORMULA_QUOTIENT || formula == RM_FORMULA_LEAKY || formula == RM_FORMULA_LEAKY_GRADIENT ||
                      formula == RM_FORMULA_SHRINK;
  if (!takes_a) return 1;
  if (!((size == 0.0 && formula != RM_FORMULA_OVER) || (size >= 0x1p-200 && size <= 0x1p200))) return 0;
  if (formula == RM_FORMULA_BETWEEN && kept != 0.0 && kept < 0x1p-200) return 0;
  const int is_short = (double)(float)p->a == p->a;
  return !is_short || (formula != RM_FORMULA_PLUS && formula != RM_FORMULA_BETWEEN && formula != RM_FORMULA_PRODUCT);
}

/* Numbers that depend on the problem alone: a, or the divisor d; 1 - a, or 1/d in two parts; what has the sign of d. */
typedef struct {
  vf64 a, high, low, sign;
} rm_quick_numbers;

RM_FN rm_quick_numbers rm_quick_prepare(const rm_formula_problem *p, const int formula) {
  const int sixth = formula == RM_FORMULA_HARDSIGMOID || formula == RM_FORMULA_HARDSIGMOID_GRADIENT;
  const double d = sixth ? 6.0 : p->a;
  if (!sixth && formula != RM_FORMULA_OVER)
    return (rm_quick_numbers){vf64_set1(d), vf64_set1(p->keep[0]), vf64_set1(0.0), vf64_set1(0.0)};
  const double h = 1.0 / d, product = h * d, l = ((1.0 - product) - rm_two_prod_error(h, d, product)) * h;
  return (rm_quick_numbers){vf64_set1(d), vf64_set1(h), vf64_set1(l), vf64_set1(d < 0.0 ? -1.0 : 1.0)};
}

/* The formulas whose undecided vectors are rounded to odd, and those that are so at once. */
RM_FN int rm_quick_has_odd(const int formula) {
  return formula <= RM_FORMULA_PLUS || formula == RM_FORMULA_PRODUCT || formula == RM_FORMULA_HARDSIGMOID ||
         formula == RM_FORMULA_HARDSIGMOID_GRADIENT || formula >= RM_FORMULA_LEAKY;
}
RM_FN int rm_quick_is_odd(const int formula) {
  return formula == RM_FORMULA_OVER || formula == RM_FORMULA_HARDSIGMOID || formula == RM_FORMULA_HARDSIGMOID_GRADIENT;
}

/* Those of one array that are infinite where it is. */
RM_FN int rm_quick_has_ends(const int formula) {
  return formula == RM_FORMULA_SCALED || formula == RM_FORMULA_ADDED || formula == RM_FORMULA_LEAKY ||
         formula == RM_FORMULA_SHRINK;
}

/* Their lanes of an infinite x, as beside a mask, whose infinite value v raises nothing, go to *odd; returns the others of
 * `left`. */
RM_COLD vm64 rm_quick_ends(const vf64 *x, const vf64 *v, vm64 left, vf64 *odd) {
  const vm64 ends = vm64_and(vf64_is_infinite(*x), vf64_is_infinite(*v));
  *odd = vf64_select(ends, *v, *odd);
  return vm64_andnot(left, ends);
}

/* The lanes of a sum that are infinite as x is, which raises nothing where no divisor is 0. */
RM_COLD vm64 rm_quick_ends_of_sum(int formula, const vf64 *x, const vf64 *z, const vf64 *v) {
  const vm64 ends = vm64_and(vf64_is_infinite(*x), vf64_is_infinite(*v));
  return formula == RM_FORMULA_QUOTIENT ? vm64_andnot(ends, vf64_eq(*z, vf64_set1(0.0))) : ends;
}

/* x/d to odd. */
RM_FN vf64 rm_quick_quotient(const rm_quick_numbers *c, vf64 x) {
  const vf64 q = vf64_mad(x, c->high, vf64_mul(x, c->low));
  const vf64 odd = vf64_to_odd(q, vf64_mul(vf64_nmad(q, c->a, x), c->sign));
  return vf64_select(vf64_eq(x, vf64_set1(0.0)), vf64_mul(x, c->sign), odd);
}
RM_FN vf64 rm_quick_product(vf64 a, vf64 x) {
  const vf64 q = vf64_mul(a, x);
  return vf64_to_odd(q, vf64_mul_err(a, x, q));
}

/* *r = the value of one vector, to odd; returns the lanes in which it is not, or not finite. */
RM_FN vm64 rm_quick_odd(const rm_quick_numbers *c, const int formula, vf64 x, vf64 y, vf64 z, vf64 *r) {
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), three = vf64_set1(3.0);
  vf64 e = zero, s;
  switch (formula) {
    case RM_FORMULA_SCALED: *r = rm_quick_product(c->a, x); break;
    case RM_FORMULA_OVER: *r = rm_quick_quotient(c, x); break;
    case RM_FORMULA_ADDED: return rm_odd_sum_of_two(x, c->a, RM_F32, r);
    case RM_FORMULA_PLUS:
    case RM_FORMULA_PRODUCT:
      if (formula == RM_FORMULA_PRODUCT) y = vf64_mul(y, z);
      s = vf64_mul(c->a, y);
      return rm_odd_sum_of_three(x, s, vf64_mul_err(c->a, y, s), RM_F32, r);
    case RM_FORMULA_HARDSIGMOID:
      s = rm_quick_quotient(c, vf64_two_sum(x, three, &e));
      e = vf64_select(vf64_lt(vf64_abs(x), three), e, zero); /* x + 3 is inexact beside 0 alone */
      *r = vf64_select(vf64_le(three, x), one, vf64_select(vf64_le(x, vf64_neg(three)), zero, s));
      break;
    case RM_FORMULA_HARDSIGMOID_GRADIENT: *r = vf64_select(vf64_lt(vf64_abs(y), three), rm_quick_quotient(c, x), zero); break;
    case RM_FORMULA_LEAKY: *r = vf64_select(vf64_lt(zero, x), x, rm_quick_product(c->a, x)); break;
    case RM_FORMULA_LEAKY_GRADIENT: *r = vf64_select(vf64_lt(zero, y), x, rm_quick_product(c->a, x)); break;
    default: { /* RM_FORMULA_SHRINK */
      vf64 rest;
      s = vf64_two_sum(x, vf64_neg(vf64_copysign(c->a, x)), &rest);
      *r = vf64_select(vf64_lt(c->a, vf64_abs(x)), vf64_to_odd(s, rest), vf64_select(vf64_eq(x, x), zero, x));
    }
  }
  return vm64_or(vf64_ne(e, zero), vf64_not_finite(*r, RM_F32));
}

/* Returns the value of one vector. *size gets the magnitude of the terms, of a sum of two that may cancel. */
RM_FN vf64 rm_quick_value(const rm_quick_numbers *c, const int formula, vf64 x, vf64 y, vf64 z, vf64 *size) {
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), three = vf64_set1(3.0), sixth = vf64_set1(0x1.5555555555555p-3);
  vf64 s, t;
  switch (formula) {
    case RM_FORMULA_SCALED: return vf64_mul(c->a, x);
    case RM_FORMULA_ADDED: return vf64_add(vf64_add(x, c->a), zero);
    case RM_FORMULA_LEAKY: return vf64_select(vf64_lt(zero, x), x, vf64_mul(c->a, x));
    case RM_FORMULA_LEAKY_GRADIENT: return vf64_select(vf64_lt(zero, y), x, vf64_mul(c->a, x));
    case RM_FORMULA_SHRINK:
      s = vf64_sub(x, vf64_copysign(c->a, x));
      return vf64_select(vf64_lt(c->a, vf64_abs(x)), s, vf64_select(vf64_eq(x, x), zero, x));
    case RM_FORMULA_PLUS: return vf64_add(vf64_mad(c->a, y, x), zero);
    case RM_FORMULA_PRODUCT: return vf64_add(vf64_mad(c->a, vf64_mul(y, z), x), zero);
    case RM_FORMULA_BETWEEN:
    case RM_FORMULA_MIX:
      s = formula == RM_FORMULA_MIX ? vf64_sub(one, z) : c->high;
      t = formula == RM_FORMULA_MIX ? vf64_mul(z, y) : vf64_mul(c->a, y);
      *size = vf64_mad(vf64_abs(s), vf64_abs(x), vf64_abs(t));
      return vf64_mad(s, x, t);
    case RM_FORMULA_QUOTIENT:
      t = vf64_quotient(vf64_mul(c->a, y), z, &s);
      *size = vf64_add(vf64_abs(x), vf64_abs(t));
      return vf64_add(x, t);
    case RM_FORMULA_TANH: return vf64_mul(x, vf64_nmad(y, y, one));
    case RM_FORMULA_SIGMOID: return vf64_mul(vf64_mul(x, y), vf64_sub(one, y));
    case RM_FORMULA_HARDSWISH:
      s = vf64_mul(vf64_mad(x, x, vf64_mul(three, x)), sixth);
      return vf64_select(vf64_le(three, x), x, vf64_select(vf64_le(x, vf64_neg(three)), zero, s));
    default: /* RM_FORMULA_HARDSWISH_GRADIENT */
      s = vf64_mul(vf64_mad(vf64_add(x, x), y, vf64_mul(three, x)), sixth);
      return vf64_select(vf64_lt(three, y), x, vf64_select(vf64_lt(y, vf64_neg(three)), zero, s));
  }
}

/* Elements [i, end) of f32, a vector at a time. */
RM_FN uint32_t rm_quick_loop(const rm_formula_problem *p, int64_t i, int64_t end, const int formula,
                             rm_formula_rest_fn *rest) {
  const int has_y = rm_formula_has_y(formula), has_z = rm_formula_has_z(formula);
  const int is_sum = formula == RM_FORMULA_BETWEEN || formula == RM_FORMULA_MIX || formula == RM_FORMULA_QUOTIENT;
  const double err = RM_FORMULA_QUICK_ERR;
  const rm_quick_numbers c = rm_quick_prepare(p, formula);
  const vf64 below = vf64_set1(1.0 - err), above = vf64_set1(1.0 + err), zero = vf64_set1(0.0);
  uint32_t flags = 0;
  for (; i + RM_LANES <= end; i += RM_LANES) {
    const ptrdiff_t at = (ptrdiff_t)i * 4;
    const vf64 x = rm_load_elements(p->x + at, RM_F32), y = has_y ? rm_load_elements(p->y + at, RM_F32) : zero,
               z = has_z ? rm_load_elements(p->z + at, RM_F32) : zero;
    vf64 odd, v = zero;
    if (!rm_quick_is_odd(formula)) {
      float r[RM_LANES];
      vf64 size = zero;
      v = rm_quick_value(&c, formula, x, y, z, &size);
      const vf64 d = vf64_mul(size, vf64_set1(err));
      const vf64 low = is_sum ? vf64_sub(v, d) : vf64_mul(v, below), high = is_sum ? vf64_add(v, d) : vf64_mul(v, above);
      const uint32_t open = vf64_store_between_f32(r, low, high);
      if (RM_LIKELY(open == 0)) {
        __builtin_memcpy(p->out + at, r, sizeof r);
        continue;
      }
      if (is_sum) {
        vf64 found = vf64_select(vf64_is_infinite(v), v, low);
        uint32_t left = open & ~vm64_bits(rm_quick_ends_of_sum(formula, &x, &z, &v));
        if (left && formula == RM_FORMULA_QUOTIENT) {
          left &= ~rm_formula_by_quotient(p, p->x + at, p->y + at, p->z + at, left, &found);
          if (left) left &= ~rm_formula_by_rule(p, p->x + at, p->y + at, p->z + at, left, &found, &flags);
        }
        if (left == 0) {
          rm_store_elements(p->out + at, found, RM_F32);
          continue;
        }
      }
    }
    if (rm_quick_has_odd(formula)) {
      vm64 left = rm_quick_odd(&c, formula, x, y, z, &odd);
      if (rm_quick_has_ends(formula) && !vm64_none(left)) left = rm_quick_ends(&x, &v, left, &odd);
      if (vm64_none(left)) {
        rm_store_elements(p->out + at, odd, RM_F32);
        continue;
      }
    }
    flags |= rest(p, i, i + RM_LANES);
  }
  return i < end ? flags | rest(p, i, end) : flags;
}

RM_STATIC uint32_t rm_quick_f32(const rm_formula_problem *p, int64_t i, int64_t end, rm_formula_rest_fn *rest) {
  switch (p->formula) {
    case RM_FORMULA_SCALED: return rm_quick_loop(p, i, end, RM_FORMULA_SCALED, rest);
    case RM_FORMULA_OVER: return rm_quick_loop(p, i, end, RM_FORMULA_OVER, rest);
    case RM_FORMULA_ADDED: return rm_quick_loop(p, i, end, RM_FORMULA_ADDED, rest);
    case RM_FORMULA_PLUS: return rm_quick_loop(p, i, end, RM_FORMULA_PLUS, rest);
    case RM_FORMULA_BETWEEN: return rm_quick_loop(p, i, end, RM_FORMULA_BETWEEN, rest);
    case RM_FORMULA_PRODUCT: return rm_quick_loop(p, i, end, RM_FORMULA_PRODUCT, rest);
    case RM_FORMULA_QUOTIENT: return rm_quick_loop(p, i, end, RM_FORMULA_QUOTIENT, rest);
    case RM_FORMULA_TANH: return rm_quick_loop(p, i, end, RM_FORMULA_TANH, rest);
    case RM_FORMULA_SIGMOID: return rm_quick_loop(p, i, end, RM_FORMULA_SIGMOID, rest);
    case RM_FORMULA_MIX: return rm_quick_loop(p, i, end, RM_FORMULA_MIX, rest);
    case RM_FORMULA_HARDSIGMOID: return rm_quick_loop(p, i, end, RM_FORMULA_HARDSIGMOID, rest);
    case RM_FORMULA_HARDSIGMOID_GRADIENT: return rm_quick_loop(p, i, end, RM_FORMULA_HARDSIGMOID_GRADIENT, rest);
    case RM_FORMULA_HARDSWISH: return rm_quick_loop(p, i, end, RM_FORMULA_HARDSWISH, rest);
    case RM_FORMULA_HARDSWISH_GRADIENT: return rm_quick_loop(p, i, end, RM_FORMULA_HARDSWISH_GRADIENT, rest);
    case RM_FORMULA_LEAKY: return rm_quick_loop(p, i, end, RM_FORMULA_LEAKY, rest);
    case RM_FORMULA_LEAKY_GRADIENT: return rm_quick_loop(p, i, end, RM_FORMULA_LEAKY_GRADIENT, rest);
    default: return rm_quick_loop(p, i, end, RM_FORMULA_SHRINK, rest);
  }
}
#endif

#if RM_HAS_VF32 && RM_B32
#define RM_QUICK_CASE(fmt) \
  if (RM_FORMULA_IS_CHOICE(p->formula)) return rm_quick_choice_##fmt(p, begin, end, rm_formula_##fmt);
#else
#define RM_QUICK_CASE(fmt)
#endif

#if RM_HAS_NEIGHBOURS
/* Those whose y - x is no number of binary64: where exponents are far apart there are no ties. */
RM_NOINLINE uint32_t rm_quick_between(const rm_formula_problem *p, int64_t i, int64_t end) {
  if (p->formula == RM_FORMULA_MIX) return rm_quick_loop(p, i, end, RM_FORMULA_MIX, rm_formula_f32);
  return rm_quick_loop(p, i, end, RM_FORMULA_BETWEEN, rm_formula_f32);
}
#define RM_FUSED_CASE(fmt, FMT, wide) \
  if (rm_fused_takes(p->formula)) return rm_fused(p, begin, end, FMT, wide, rm_formula_##fmt);
#else
#define RM_FUSED_CASE(fmt, FMT, wide)
#endif

static uint32_t rm_quick_formula_f16(const rm_formula_problem *p, int64_t begin, int64_t end) {
  RM_FUSED_CASE(f16, RM_F16, rm_formula_f16)
  RM_QUICK_CASE(f16)
  return rm_formula_f16(p, begin, end);
}
static uint32_t rm_quick_formula_bf16(const rm_formula_problem *p, int64_t begin, int64_t end) {
  RM_FUSED_CASE(bf16, RM_BF16, rm_formula_bf16)
  RM_QUICK_CASE(bf16)
  return rm_formula_bf16(p, begin, end);
}
static uint32_t rm_quick_formula_f32(const rm_formula_problem *p, int64_t begin, int64_t end) {
#if RM_HAS_FMA && RM_HAS_VF32 && RM_B32
  if (rm_direct_takes(p)) return rm_direct(p, begin, end, rm_formula_f32);
#endif
  RM_FUSED_CASE(f32, RM_F32, rm_quick_between)
  RM_QUICK_CASE(f32)
#if RM_HAS_FMA && RM_HAS_VF32
  if (rm_quick_takes(p)) return rm_quick_f32(p, begin, end, rm_formula_f32);
#endif
  return rm_formula_f32(p, begin, end);
}
static uint32_t rm_quick_formula_odd(const rm_formula_problem *p, int64_t begin, int64_t end) {
#if RM_HAS_FMA && RM_HAS_VF32
  if (p->format == RM_F32 && rm_quick_takes(p)) return rm_quick_f32(p, begin, end, rm_formula_odd);
  if (rm_quotients_takes(p)) return rm_quotients(p, begin, end, rm_formula_odd);
#endif
  return rm_formula_odd(p, begin, end);
}
#undef RM_FUSED_CASE
#undef RM_QUICK_CASE
