/* Products and norms of rows in binary64, with a bound, of formats below it. */
#pragma once

#include <stdint.h>

/* Products over the middle axis of a contiguous array (outer, n, inner), n > 0, to out (outer, inner) in the same
 * format; `open` is 1 where the rounding is undecided. Returns how many these are, or -1, where partial products are
 * too large or small. */
int64_t rm_py_short_products(int format, int64_t outer, int64_t n, int64_t inner, const void *x, void *out, uint8_t *open);

/* The root of the sum of squares of n elements of binary32. Returns 0 where its rounding is undecided. */
int rm_py_short_norm(int64_t n, const float *x, float *out);
