/* Every result of a function of one argument in a 16-bit format: 65,536 numbers, computed by the function's own loop once enough
 * elements have been asked for that the table pays. A lookup takes less time than any evaluation, and its bits are the loop's. */
#ifndef RM_ELEMENTWISE_TABLE16_H
#define RM_ELEMENTWISE_TABLE16_H

#include "../dispatch/kernels.h"

struct rm_table16 {
  uint16_t value[65536 + 2]; /* one more than there are: a vector lookup reads 32 bits */
  uint16_t flags[65536 + 2]; /* RM_FLAG_*; not 0 only where the result is infinite or NaN */
  uint16_t exponent; /* the bits of the format's exponent */
};

/* The table for `function` (an RM_FN_ number) in `format`, RM_F16 or RM_BF16. NULL while fewer than 65,536 elements, with these
 * n, have been asked for, or when there is no memory: `kernel`, the function's loop, then serves. Any thread may call it; the
 * tables (256 KiB each) stay until the process ends. */
const struct rm_table16 *rm_table16_get(int function, int format, rm_map_fn *kernel, int64_t n);

#endif
