/* Formulas of formats below binary64 whose operands make them exact in a few numbers of binary64: these are rounded to odd,
 * and then to the format.
 *
 * The result is right for every argument: a value rounded to odd in binary64 (to the nearer number where that is the value,
 * else to the odd one of its two neighbours) rounds to a format of at most 51 bits as the value does (Boldo and Melquiond,
 * When double rounding is odd, 2005). Arguments have at most 24 bits and are 0 or between 2^-149 and 2^128, so that products
 * of two and their sums neither overflow nor underflow.
 *
 * The loops are plain C over blocks of binary64 numbers, which compilers vectorise: the arithmetic is that of one number on
 * every ISA. */
#pragma once

#include "../rows/loops.h"

enum { RM_ODD_BLOCK = 256 };

/* first ? a : b by bits, since compilers put the computation of a or b into a branch, which a loop over vectors cannot
 * have. */
RM_FN double rm_odd_either(int first, double a, double b) {
  const uint64_t mask = first ? UINT64_MAX : 0;
  return rm_from_bits64((rm_bits64(a) & mask) | (rm_bits64(b) & ~mask));
}
/* The value q + rest rounded to odd. q is the number next to it, neither is subnormal, and 0 has no rest. Infinities and NaN
 * stay. */
RM_FN double rm_odd(double q, double rest) {
  const int64_t bits = (int64_t)rm_bits64(q), up = 1 | (((int64_t)rm_bits64(rest) ^ bits) >> 63);
  const int64_t moved = bits + (~bits & 1 ? up : 0);
  return __builtin_fabs(rest) > 0.0 ? rm_from_bits64((uint64_t)moved) : q; /* false for NaN */
}
RM_FN double rm_odd_sum(double a, double b) {
  double e;
  const double s = rm_two_sum(a, b, &e);
  return rm_odd(s, e);
}
RM_FN double rm_odd_product(double a, double b) {
  const double p = a * b;
  return rm_odd(p, rm_two_prod_error(a, b, p));
}
/* (a + b)/6. s + e is a + b, and s - 6 q the residual of the quotient q, a number of binary64: their sum has the sign of the
 * rest. */
RM_FN double rm_odd_sixth(double a, double b) {
  double e;
  const double s = rm_two_sum(a, b, &e), q = s / 6.0, p = 6.0 * q;
  return rm_odd(q, ((s - p) - rm_two_prod_error(6.0, q, p)) + e);
}
/* x/6, whose zero has the sign of x. */
RM_FN double rm_odd_sixth_of(double x) {
  const double q = x / 6.0, p = 6.0 * q;
  return rm_odd(q, (x - p) - rm_two_prod_error(6.0, q, p));
}

/* Whether a is not 0, and b has the other sign. */
RM_FN int rm_odd_apart(double a, double b) { return a * __builtin_copysign(1.0, b) < 0.0; }

/* The whole number toward zero. */
RM_FN double rm_odd_whole(double x) {
  const double size = __builtin_fabs(x), near = (size + 0x1p52) - 0x1p52, whole = near - rm_odd_either(near > size, 1.0, 0.0);
  return __builtin_copysign(rm_odd_either(size < 0x1p52, whole, size), x);
}
/* The quotient x/y, which `quotient` is rounded, as a whole number *q toward zero, and x - q y, both exact, where that is
 * below 2^53. It was rounded first, so that q may be one too large: then x - q y has the other sign. x - q y is a multiple of
 * a last place of x or y, at most |x| and |y|: a number. q y differs from x by less than |y|, so that x less its rounding is
 * exact (Sterbenz), too. */
RM_FN double rm_odd_rest(double x, double y, double quotient, double *q) {
  const double n = rm_odd_whole(quotient), p = n * y, rest = (x - p) - rm_two_prod_error(n, y, p);
  const int past = rm_odd_apart(rest, x);
  *q = n - rm_odd_either(past, __builtin_copysign(1.0, n), 0.0);
  const double right = rest + rm_odd_either(past, __builtin_copysign(y, x), 0.0);
  return rm_odd_either(__builtin_fabs(y) > 0x1p1000, rm_odd_either(__builtin_fabs(x) < 0x1p1000, x, right), right);
}
RM_FN int rm_odd_is_near(double quotient) { return __builtin_fabs(quotient) < 0x1p53; }
/* The whole number toward zero from x/y, `less` that where x/y is below 0 and no whole number; where x is infinite and y is
 * not 0, `beyond` more.
 *
 * A quotient from 2^53 on stands for its whole numbers. A boundary of rounding is t 2^c there, t < 2^25 and c >= 0, and x - t
 * 2^c y is 0 or at least 2^-49 of x: of two multiples of one power of 2, the second one below 2^49 of it. Neither the
 * rounding of the quotient, by 2^-53 of it, nor 1 passes the boundary. */
RM_FN double rm_odd_divided(double x, double y, double quotient, double less, double beyond) {
  double q;
  const double rest = rm_odd_rest(x, y, quotient, &q);
  q -= rm_odd_either(rm_odd_apart(__builtin_copysign(rest, x), y), less, 0.0);
  q = rm_odd_either(rm_odd_is_near(quotient), __builtin_copysign(q, quotient), quotient);
  return rm_odd_either(__builtin_fabs(x) < 0x1p1000, q, quotient + rm_odd_either(y == 0.0, 0.0, beyond));
}

/* The same to odd, for a divisor y of up to 53 bits and a finite quotient, of 2^53 or more: the boundary may then lie nearer
 * than that. The value is quotient + the whole number beside rest/y, whose sign decides; rest is exact, as that of each
 * rounded quotient is, and at most half a last place of the quotient, in units of y. */
RM_COLD double rm_odd_far_divided(double x, double y, double quotient, int down) {
  const double p = quotient * y, rest = (x - p) - rm_two_prod_error(quotient, y, p);
  const double size = __builtin_fabs(rest) >= __builtin_fabs(y) ? 1.0 : 0.0; /* of the whole number toward zero from rest/y */
  const int above = (rest < 0.0) == (y < 0.0); /* whether rest/y is not negative */
  const int lower = down || quotient > 0.0; /* whether the value is the whole number below, not above */
  double step = above ? size : -size;
  if (rest != 0.0 && above != lower) step = above ? 1.0 : -1.0;
  return rm_odd(quotient, step);
}

/* Puts those quotients by y, which formula FLOOR (`down`) or TRUNC has made, to r. */
RM_COLD void rm_odd_far_quotients(int n, const double *x, double y, int down, double *r) {
  for (int i = 0; i < n; i++) {
    if (rm_odd_is_near(r[i])) continue;
    const double quotient = x[i] / y;
    if (!rm_odd_is_near(quotient) && rm_is_finite(quotient)) r[i] = rm_odd_far_divided(x[i], y, quotient, down);
  }
}

/* x less the multiple of y toward zero, for a quotient of 2^53 or more: each step leaves less than 2^-50 of x. */
RM_COLD double rm_odd_far_rest(double x, double y) {
  double size = __builtin_fabs(x);
  const double last = __builtin_fabs(y);
  while (size >= last) {
    const int over = (int)(rm_bits64(size / last) >> 52) - 1023 - 50;
    const double by = over > 0 ? last * rm_pow2(over) : last;
    double q;
    size = rm_odd_rest(size, by, size / by, &q);
  }
  return __builtin_copysign(size, x);
}

#define RM_ODD_LOOP(...)             \
  for (int i = 0; i < n; i++) {      \
    const double u = x[i], v = y[i]; \
    r[i] = (__VA_ARGS__);            \
    (void)u, (void)v;                \
  }                                  \
  break
/* r[i] = the formula of x[i] and y[i] for n elements, a multiple of 32; by_number: all y are a. In remainders of a number all
 * x are a, of up to 53 bits, and y has 24, or the reverse: of both the rest is a number. */
RM_STATIC void rm_odd_values(int formula, double a, int by_number, int n, const double *restrict x, const double *restrict y,
                             double *restrict r) {
  n &= ~31;
  switch (formula) {
    case RM_FORMULA_HARDSIGMOID:
      RM_ODD_LOOP(rm_odd_either(u >= 3.0, 1.0, rm_odd_either(u <= -3.0, 0.0, rm_odd_sixth(u, 3.0))));
    case RM_FORMULA_HARDSIGMOID_GRADIENT: RM_ODD_LOOP(rm_odd_either(__builtin_fabs(v) < 3.0, rm_odd_sixth_of(u), 0.0));
    case RM_FORMULA_HARDSWISH:
      RM_ODD_LOOP(rm_odd_either(u >= 3.0, u, rm_odd_either(u <= -3.0, 0.0, rm_odd_sixth(u * u, 3.0 * u))));
    case RM_FORMULA_HARDSWISH_GRADIENT:
      RM_ODD_LOOP(rm_odd_either(v > 3.0, u, rm_odd_either(v < -3.0, 0.0, rm_odd_sixth(2.0 * u * v, 3.0 * u))));
    case RM_FORMULA_LEAKY:
    case RM_FORMULA_LEAKY_GRADIENT: RM_ODD_LOOP(rm_odd_either(v > 0.0, u, rm_odd_product(a, u)));
    case RM_FORMULA_SHRINK:
      RM_ODD_LOOP(
          rm_odd_either(__builtin_fabs(u) > a, rm_odd_sum(u, -__builtin_copysign(a, u)), rm_odd_either(u == u, 0.0, u)));
    case RM_FORMULA_FLOOR:
    case RM_FORMULA_TRUNC: {
      const double less = formula == RM_FORMULA_FLOOR ? 1.0 : 0.0,
                   beyond = formula == RM_FORMULA_FLOOR ? __builtin_nan("") : 0.0;
      RM_ODD_LOOP(rm_odd_divided(u, v, u / v, less, beyond));
    }
    default: break;
  }
  if (by_number && formula < RM_FORMULA_FMOD) rm_odd_far_quotients(n, x, a, formula == RM_FORMULA_FLOOR, r);
  if (formula < RM_FORMULA_FMOD) return;
  int64_t far = 0;
  for (int i = 0; i < n; i++) {
    double q;
    const double quotient = x[i] / y[i];
    far |= rm_odd_is_near(quotient) ? 0 : -1;
    r[i] = __builtin_copysign(rm_odd_rest(x[i], y[i], quotient, &q), x[i]);
  }
  if (far)
    for (int i = 0; i < n; i++) {
      const double quotient = x[i] / y[i];
      if (!rm_odd_is_near(quotient) && rm_is_finite(quotient)) r[i] = rm_odd_far_rest(x[i], y[i]);
    }
  if (formula != RM_FORMULA_FMOD)
    for (int i = 0; i < n; i++) r[i] = rm_odd_either(rm_odd_apart(r[i], y[i]), rm_odd_sum(r[i], y[i]), r[i]);
}

/* Numbers that rm_row_put rounds once. It stores 16 bits through binary32: numbers get 24 bits, to odd, first; the least of
 * bf16, of which binary32 has fewer, are rounded to multiples of 2^-133. A NaN is the canonical one. */
RM_STATIC void rm_odd_prepare(int n, int fmt, double *r) {
  const uint64_t beyond = (UINT64_C(1) << 29) - 1;
  n &= ~31;
  for (int i = 0; i < n; i++) r[i] = r[i] != r[i] ? rm_from_bits64(UINT64_C(0x7ff8) << 48) : r[i];
  if (fmt == RM_BF16)
    for (int i = 0; i < n; i++) {
      const double coarse = __builtin_copysign((r[i] + 0x1.8p-81) - 0x1.8p-81, r[i]);
      r[i] = rm_odd_either(__builtin_fabs(r[i]) < 0x1p-126, coarse, r[i]);
    }
  if (fmt != RM_F32)
    for (int i = 0; i < n; i++) {
      const uint64_t bits = rm_bits64(r[i]);
      r[i] = rm_from_bits64((bits & ~beyond) | (bits & beyond ? beyond + 1 : 0));
    }
}

/* The exceptions of an element whose result is not finite in the format. */
RM_COLD uint32_t rm_odd_flags(const rm_formula_problem *p, int64_t i, double r) {
  const int fmt = p->format, has_y = rm_formula_has_y(p->formula), of = p->formula == RM_FORMULA_REMAINDER_OF;
  const ptrdiff_t at = (ptrdiff_t)i * rm_size_of(fmt);
  const uint64_t x = rm_read_bits(p->x + at, fmt), y = has_y && p->y ? rm_read_bits(p->y + at, fmt) : 0;
  const double u = rm_to_double(x, fmt), v = rm_to_double(y, fmt);
  if (rm_is_nan(r)) {
    const int nan_in = rm_is_nan(u) || rm_is_nan(v) || rm_is_nan(p->a);
    return !nan_in || rm_is_signalling(x, fmt) || rm_is_signalling(y, fmt) ? RM_FLAG_INVALID : 0;
  }
  if (!rm_is_finite(u) || !rm_is_finite(v) || !rm_is_finite(p->a)) return 0;
  return !of && p->formula >= RM_FORMULA_FLOOR && !rm_formula_by_number(p) && v == 0.0 ? RM_FLAG_DIVBYZERO : RM_FLAG_OVERFLOW;
}

static uint32_t rm_formula_odd(const rm_formula_problem *problem, int64_t begin, int64_t end) {
  static const double overflow[] = {0x1.ffep15, 0x1.ffp127, 0x1.ffffffp127};
  double buffer[3][RM_ODD_BLOCK];
  const int fmt = problem->format, size = rm_size_of(fmt), of = problem->formula == RM_FORMULA_REMAINDER_OF;
  /* A factor so small or large that all products round to 0 or infinity is one whose products have an error. */
  double a = problem->a;
  if (problem->formula != RM_FORMULA_SHRINK && a != 0.0 && rm_is_finite(a)) {
    if (__builtin_fabs(a) < 0x1p-800) a = __builtin_copysign(0x1p-800, a);
    if (__builtin_fabs(a) > 0x1p800) a = __builtin_copysign(0x1p800, a);
  }
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i += RM_ODD_BLOCK) {
    const int n = (int)(end - i < RM_ODD_BLOCK ? end - i : RM_ODD_BLOCK), whole = (n + 31) & ~31;
    const ptrdiff_t at = (ptrdiff_t)i * size;
    double *const y = rm_formula_has_y(problem->formula) || of ? buffer[1] : buffer[0], *const r = buffer[2];
    double *const given = of ? y : buffer[0];
    rm_row_load(n, problem->x + at, size, fmt, 1.0, given);
    if (of)
      for (int k = 0; k < whole; k++) buffer[0][k] = problem->a;
    else if (rm_formula_by_number(problem))
      for (int k = 0; k < whole; k++) y[k] = problem->a;
    else if (y != buffer[0]) rm_row_load(n, problem->y + at, size, fmt, 1.0, y);
    rm_odd_values(problem->formula, a, rm_formula_by_number(problem), whole, buffer[0], y, r);
    int64_t beyond = 0;
    for (int k = 0; k < whole; k++) { /* of an infinite x, as beside a mask, an infinite result raises nothing */
      const int ends = (r[k] == r[k]) & (__builtin_fabs(given[k]) > 0x1.fffffffffffffp1023);
      beyond |= (__builtin_fabs(r[k]) < overflow[fmt]) | ends ? 0 : -1;
    }
    if (RM_UNLIKELY(beyond != 0))
      for (int k = 0; k < n; k++)
        if (!(__builtin_fabs(r[k]) < overflow[fmt]) && !(flags & RM_FLAG_INVALID && r[k] != r[k])) /* all a NaN may owe */
          flags |= rm_odd_flags(problem, i + k, r[k]);
    rm_odd_prepare(whole, fmt, r);
    for (int k = 0; k < n; k += RM_LANES) rm_row_put(vf64_load(r + k), fmt, problem->out + at, k, n);
  }
  return flags;
}
