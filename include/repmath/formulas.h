/* repmath: short formulas of arrays and one number a, and conversions between formats, each rounded once. The number a counts
 * as an exact binary64 number. */
#ifndef REPMATH_FORMULAS_H
#define REPMATH_FORMULAS_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A product or quotient with a factor of 0 is a zero with the sign of the product. A sum that is exactly zero is +0. */
enum {
  RM_FORMULA_SCALED = 0, /* a x */
  RM_FORMULA_OVER = 1, /* x / a */
  RM_FORMULA_UNDER = 2, /* a / x */
  RM_FORMULA_ADDED = 3, /* x + a */
  RM_FORMULA_PLUS = 4, /* x + a y */
  RM_FORMULA_BETWEEN = 5, /* (1 - a) x + a y */
  RM_FORMULA_PRODUCT = 6, /* x + a y z */
  RM_FORMULA_QUOTIENT = 7, /* x + a y / z */
  RM_FORMULA_TANH = 8, /* x (1 - y^2): the gradient through y = tanh as a formula of y, where x is the gradient received */
  RM_FORMULA_SIGMOID = 9, /* x y (1 - y): the gradient through the logistic sigmoid */
  /* Selections by maximum and minimum of IEEE 754-2019: a NaN among x, y and a gives NaN, and -0 is less than +0. The gate
   * lets x pass where y is NaN. */
  RM_FORMULA_MAX_SCALAR = 10, /* the maximum of x and a */
  RM_FORMULA_MIN_SCALAR = 11, /* the minimum of x and a */
  RM_FORMULA_MAX = 12, /* the maximum of x and y */
  RM_FORMULA_MIN = 13, /* the minimum of x and y */
  RM_FORMULA_GATE = 14, /* x where y > a or y is NaN, +0 elsewhere: the gradient through the maximum of y and a */
  RM_FORMULA_MIX = 15, /* (1 - z) x + z y */
  /* These formulas are for formats below binary64, on the CPU. */
  RM_FORMULA_HARDSIGMOID = 16, /* (x + 3)/6 held to [0, 1] */
  RM_FORMULA_HARDSIGMOID_GRADIENT = 17, /* x/6 where -3 < y < 3, +0 elsewhere */
  RM_FORMULA_HARDSWISH = 18, /* x (x + 3)/6 where -3 < x < 3, x above, +0 below */
  RM_FORMULA_HARDSWISH_GRADIENT = 19, /* (2 x y + 3 x)/6 where -3 <= y <= 3, x above, +0 below */
  RM_FORMULA_LEAKY = 20, /* x where x > 0, a x elsewhere */
  RM_FORMULA_LEAKY_GRADIENT = 21, /* x where y > 0, a x elsewhere */
  RM_FORMULA_SHRINK = 22, /* x - a where x > a, x + a where x < -a, +0 elsewhere; a >= 0 */
  RM_FORMULA_FLOOR = 23, /* the whole number below x/y; a NaN where x is infinite and y is not 0 */
  RM_FORMULA_TRUNC = 24, /* the whole number toward zero from x/y */
  RM_FORMULA_FMOD = 25, /* x less the multiple of y toward zero, with the sign of x */
  RM_FORMULA_REMAINDER = 26, /* that, plus y where it is not 0 and y has the other sign */
  RM_FORMULA_REMAINDER_OF = 27 /* the same of a and x, in place of x and y; a is 0 or between 2^-800 and 2^800 in magnitude */
};

/* out[i] = RN(formula of x[i], y[i], z[i]) for n elements, all arrays contiguous and in `format` (RM_FORMAT_...), any
 * alignment. Arrays that the formula does not use are not read, and may be NULL. out may be one of x, y, z; no other overlap
 * with them is allowed (RM_ERR_OVERLAP). If a number is not finite, each operation of the formula as it is written here
 * follows IEEE 754's rules for infinities; a NaN result is the canonical one. A formula that has no binary64 refuses that
 * format. The four before the last one may have y = NULL: then the divisor is the number a, between 2^-800 and 2^800 in
 * magnitude. RM_ERR_RANGE: a is none that the last one takes. */
RM_API rm_status rm_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z,
                            void *out);

/* out[i] = x[i] of format `from` rounded to format `to` (RM_FORMAT_...), once, to nearest even, for n elements; both arrays
 * are contiguous, any alignment. A NaN becomes the canonical one. The arrays must not overlap (RM_ERR_OVERLAP). */
RM_API rm_status rm_convert(int from, int to, int64_t n, const void *x, void *out);

/* Gated linear units in a format below binary64: rows of 2 n elements are halves a and b, all next to each other.
 * out[r, i] = RN(a[r, i] s) of `rows` rows of n, where s = 1/(1 + exp(-b[r, i])); the gradient has the rows of x, RN(g s) in
 * the place of a and RN(g a s (1 - s)) in that of b, for g received with the rows of the result. Infinities follow IEEE 754's
 * rules for each operation, and the limits of s and s (1 - s); a NaN result is the canonical one. out overlaps nothing
 * (RM_ERR_OVERLAP). */
RM_API rm_status rm_glu(int format, int64_t rows, int64_t n, const void *x, void *out);
RM_API rm_status rm_glu_gradient(int format, int64_t rows, int64_t n, const void *g, const void *x, void *out);

#ifdef __cplusplus
}
#endif
#endif
