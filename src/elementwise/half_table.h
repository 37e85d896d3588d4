/* Tables of a function over all numbers x of a 16-bit format: the results of a function of one argument, or the derivatives
 * of a gradient (<f>_backward). The function's own loops fill a table once enough elements have been asked for that it pays.
 * A lookup takes less time than any evaluation, and the bits are the loop's. */
#pragma once

#include "kernels.h"

struct rm_table16 {
  uint16_t exponent; /* the bits of the format's exponent */
  uint16_t by_loads; /* rm_gathers_are_slow() */
  union {
    struct {
      uint16_t value[65536 + 2]; /* one more than there are: a vector lookup reads 32 bits */
      uint16_t flags[65536 + 2]; /* RM_FLAG_*; not 0 only where the result is infinite or NaN */
    };
    float
        slope[65536]; /* RN24 of the derivative at x, or its limit; NaN unless that is a normal number, or 0 at an infinity */
  };
};

/* The loop over the table of `function` (an RM_FN_ number); NULL when this function, format or build has none. */
rm_lookup16_fn *rm_lookup16_get(const struct rm_map_kernels *kernels, int function, int arity, int format);

/* The table of `function`, one with loops of binary32 (map_b32_half.h), for what these leave undecided. NULL while fewer than
 * 65,536 elements, with these n, have been left so, or when there is no memory. wider: the loop for them, which fills the
 * table. */
const struct rm_table16 *rm_undecided_table16(int function, int format, rm_map_fn *wider, int64_t n);

/* The table for `function` of `arity` in `format`, RM_F16 or RM_BF16. NULL while fewer than 65,536 elements, with these n,
 * have been asked for, or when there is no memory: the function's loop then serves. Any thread may call it; the tables (256
 * KiB each) stay until the process ends. */
const struct rm_table16 *rm_table16_get(const struct rm_map_kernels *kernels, int function, int arity, int format, int64_t n);
