/* Finds out whether a sum of rational factors times logarithms of sums of exponentials is 0, on the host. No precision of
 * evaluation can show that; algebra can.
 *
 * F = sum of Q_k log P_k over rows k, P_k = sum of n_kj e^-d_kj, integers n_kj > 0, rational d_kj >= 0, of which one is 0 in
 * each row; Q_k rational. Let all d_kj be integer multiples of g, and z = e^-g: P_k are polynomials in z with integer
 * coefficients and P_k(0) = n_k0 > 0. As z is transcendental (Lindemann and Weierstrass), an identity between values at z of
 * rational functions is one between the functions. Let F be a rational number r, and N a common denominator of the Q_k and of
 * r/g, or of the Q_k where g does not occur: then the product of P_k^(N Q_k) is e^(N r) = z^-(N r/g), a power of z. It is one
 * identically; at 0 the product has a value that is not 0, so that r = 0. Hence F is rational only if it is 0, and then
 * identically in z. That is so if and only if
 *   - it is so at 0: the sum of Q_k v is 0 for every prime, v how often it divides n_k0; and
 *   - z dF/dz = sum of Q_k z P_k'/P_k is 0. This is A/B with B = product of all P_k, and A of a degree of at most D, the sum
 *     of the degrees of all P_k. B(0) is not 0; so A = 0 if and only if the power series of A/B vanishes up to z^D. It is
 *     computed modulo primes above all n_k0, by which B(0) is not divisible: A = 0 if and only if A is 0 modulo primes whose
 *     product is more than twice its coefficients. With the Q_k multiplied by a power of 2 to integers of b bits, these are
 *     below 2^b D times the product of all P_k(1).
 * No polynomial is factored, so that factors which are not themselves a row, such as 1 - z + z^2 in 1 + z^3, need not be
 * found.
 *
 * D may be large though there are few exponents, for example of logits with many digits. Where it is too large a sufficient
 * condition is tried: the d_kj are written as sums of integer multiples >= 0 of several numbers g_i, and the z^g_i replaced
 * by independent variables y_i. An identity in these is one in z. With y_i = y^(K_i), K_i greater than any degree in y_1 ...
 * y_(i-1) (Kronecker), it is one in y, of a smaller degree. */
#pragma once

#include "../rows/decide.h"

/* count e^(high + low), high + low <= 0 exact; high = -infinity: a number that is not known. */
typedef struct {
  double high, low;
  int64_t count;
} rm_logarithm_term;

/* A row: its factor (exact) and its terms, that with the greatest exponent, which is 0, first. */
typedef struct {
  rm_ball factor;
  int64_t first, end;
} rm_logarithm;

typedef struct {
  rm_logarithm *row;
  rm_logarithm_term *term;
  int64_t rows, terms, rows_room, terms_room;
} rm_logarithms;

/* No search is made among more rows or terms than these. */
enum { RM_LOGARITHMS = 4096, RM_LOGARITHM_TERMS = 1 << 20 };

/* Makes room for one more row of this many terms. 0 beyond these limits, or where memory runs out: then state says so. */
int rm_logarithms_grow(rm_logarithms *s, int64_t terms, rm_row_state *state);
void rm_logarithms_free(rm_logarithms *s);

/* 1 where the sum over the rows, each without its terms below e^cutoff, is 0; 0 where it is not, or where it would take too
 * long to decide: with D above 2^20 or more than about 2^31 steps, both for one variable and for several. state says so where
 * memory runs out. */
int rm_logarithms_cancel(const rm_logarithms *s, double cutoff, rm_row_state *state);
