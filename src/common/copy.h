/* Copies of elements from one stride to another, for loops over neighbours. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* n elements of `size` bytes, 2, 4 or 8, `step` and `stride` bytes apart, with any alignment. The two do not meet. */
void rm_copy_elements(char *to, ptrdiff_t step, const char *from, ptrdiff_t stride, int64_t n, int size);
