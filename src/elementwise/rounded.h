/* Elementwise functions in any rounding mode run the accurate phases in a loop. */
#pragma once

#include "argument.h"
#include "accurate.h"

/* As rm_map_fn, in this rounding mode. */
uint32_t rm_map_rounded(int function, int arity, int format, rm_mode mode, int64_t n, const char *const *x,
                        const ptrdiff_t *sx, char *y, ptrdiff_t sy);
