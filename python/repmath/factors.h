/* Products of binary32 numbers, with their exponents apart. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* m 2^e, 1 <= |m| < 2, is the product of the n numbers at x, `step` bytes apart, each multiplication rounded to binary64: n +
 * 8 at most. Where a factor is 0, infinite or NaN, m is the product by IEEE 754's rules, and e is 0. `partly`: m and e have n
 * elements, of the first 1, 2, ... factors. */
void rm_py_product(int64_t n, const char *x, ptrdiff_t step, int partly, double *m, int64_t *e);
