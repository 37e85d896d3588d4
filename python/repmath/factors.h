/* Products of binary32 numbers, with their exponents apart. */
#pragma once

#include <stdint.h>

/* Multiplies running products m 2^e by one more factor each, 1 <= |m| < 2, begun at 1 and 0; each multiplication is rounded
 * to binary64. `exceptional`, begun at 1, is their product by IEEE 754's rules of the classes of the factors alone: once it
 * is 0, infinite or NaN, it is the product. */
void rm_py_multiply(int64_t n, const float *x, double *m, int64_t *e, double *exceptional);

/* The ends of an interval around the product m 2^e of count[i] factors of `digits` digits, in binary64, whose exponents are
 * cut to what narrower formats have. A product of k factors is rounded k + 8 times at most, each time by at most 2^-53 of it:
 * 1.01 (k + 10) 2^-53 is more than that and the rounding of the ends, k below 2^40. Where k factors have 53 digits or fewer
 * together, nothing is rounded. */
void rm_py_product_ends(int64_t n, const int64_t *count, int digits, const double *m, const int64_t *e, double *low,
                        double *high);
