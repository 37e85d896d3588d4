/* repmath: values of recurrences and series, rounded once where a bound of the error decides them. For special functions that
 * have no function in elementwise.h: the caller computes what is undecided. */
#ifndef REPMATH_SPECIAL_H
#define REPMATH_SPECIAL_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* P_0 = 1, P_1 = first[0] x + first[1], and d P_(k+1) = (a x + b) P_k - c P_(k-1), where a = a[0] + a[1] k, and so b and c; d
 * = k + 1 where `divided` is not 0, else 1. All are whole numbers, below 2^13 + 2 in magnitude for k <= 4096, and c >= 0. */
typedef struct {
  double first[2], a[2], b[2], c[2];
  int32_t divided;
} rm_recurrence;

/* x^order times the sum of c[k] (sign x^2/256)^k over k < terms, order 0 or 1, sign 1 or -1, times exp(-|x|) where `scaled`
 * is not 0. c: terms >= 1 positive numbers, each as two of binary64 within 2^-105 of it, the larger one first; beyond the
 * terms that are taken (1 + the whole part of 20 + 1.4 |x|) the rest must be below 2^-96 of the sum of magnitudes. |x| is
 * at most 64 where a value is decided. */
typedef struct {
  int32_t order, sign, scaled, terms;
  const double *c;
} rm_even_series;

/* The derivative of digamma of order n, from 2 to 7: -(-1)^n n! times the sum of (x + k)^-(n + 1) over k >= 0, for -15 <= x.
 * c: 21 numbers B_(2j)/(2j)! n (n + 1) ... (n + 2j - 1), j from 1 on, each as two of binary64 as above. */
typedef struct {
  int32_t order;
  const double *c;
} rm_digamma_derivative;

/* out[i] = RN(value at x[i]) in `format`, and undecided[i] = 0; or undecided[i] = 1, and out[i] is any number. x is in
 * `format_x`; n elements, all arrays contiguous, any alignment; out overlaps nothing. The value of a recurrence is P_k for
 * k = degree[i step], a whole number up to 4096, and 0 for k below 0. *left gets the number of undecided elements. */
RM_API rm_status rm_recurrence_values(const rm_recurrence *f, int format_x, int format, int64_t n, const void *x,
                                      const double *degree, int64_t step, void *out, uint8_t *undecided, int64_t *left);
RM_API rm_status rm_even_series_values(const rm_even_series *f, int format_x, int format, int64_t n, const void *x, void *out,
                                       uint8_t *undecided, int64_t *left);
RM_API rm_status rm_digamma_derivatives(const rm_digamma_derivative *f, int format_x, int format, int64_t n, const void *x,
                                        void *out, uint8_t *undecided, int64_t *left);

/* The functions of one argument x: Bessel's Y and K of the orders 0 and 1, K times exp(x), sin(x)/x, Airy's Ai, gamma; and of
 * two: Hurwitz's zeta, the sum of (x + k)^-a over k >= 0, the regularised incomplete gamma functions P(a, x) and Q(a, x), and
 * the beta function of positive a and x. */
enum {
  RM_SPECIAL_Y0 = 0,
  RM_SPECIAL_Y1 = 1,
  RM_SPECIAL_K0 = 2,
  RM_SPECIAL_K1 = 3,
  RM_SPECIAL_K0E = 4,
  RM_SPECIAL_K1E = 5,
  RM_SPECIAL_SPHERICAL_J0 = 6,
  RM_SPECIAL_AIRY_AI = 7,
  RM_SPECIAL_ZETA = 8,
  RM_SPECIAL_IGAMMA = 9,
  RM_SPECIAL_IGAMMAC = 10,
  RM_SPECIAL_GAMMA = 11,
  RM_SPECIAL_BETA = 12
};

/* The same of these; a is not read by functions of one argument, and may be NULL. */
RM_API rm_status rm_special_values(int function, int format, int64_t n, const double *a, const double *x, void *out,
                                   uint8_t *undecided, int64_t *left);

#ifdef __cplusplus
}
#endif
#endif
