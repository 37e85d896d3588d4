/* Finds which transcendental parts of a total cancel exactly, on the host. No precision shows that a number is 0; these
 * theorems do.
 *
 * Sums of c_i f(k_i), rational factors c_i and keys k_i, where f of distinct keys are linearly independent beside 1: the sum
 * is rational only if the factors of each key add up to 0.
 *   f(k) = e^k, k != 0: Lindemann and Weierstrass.
 *   f(k) = log(1 + e^-k), k >= 0. Let the sum, with integers c_i, be a rational r, and u = e^(1/N) with N k_i = n_i and N r
 *   integers. The product of (1 + u^-n_i)^c_i is u^(N r), and u is transcendental (Lindemann): that is an identity of
 *   rational functions of u. A primitive root of unity of order 2 n is a zero of 1 + u^-n and of no such factor with a
 *   smaller n; so c_i = 0 for the largest n_i, and by induction for all n_i > 0, which leaves 2^c = u^(N r): c = 0 and r =
 *   0. */
#pragma once

#include "../rows/decide.h"

/* Key and factor of element i, exactly; 0 where it does not count. */
typedef int rm_part_fn(const void *operation, int64_t i, double *key, rm_ball *factor);

/* For each of n elements 1 where the factors of its key add up to 0, else 0; to be freed. NULL without memory: then state
 * says so. */
char *rm_parts_that_cancel(int64_t n, rm_part_fn *part, const void *operation, rm_row_state *state);
