/* The two 8-bit formats of the Open Compute Project. No NumPy here. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <repmath/repmath.h>

enum { RM_PY_E4M3FN, RM_PY_E5M2, RM_PY_FLOAT8_FORMATS };

/* The results of a function for every code, and the flags (FE_INVALID ...) that each raises. */
typedef struct {
  uint8_t code[256], flags[256];
} rm_py_float8_table;
/* Where a table is kept once it has been made. Starts as NULL. */
typedef _Atomic(rm_py_float8_table *) rm_py_float8_slot;

/* An array function of the C library under a rounding mode. */
typedef rm_status rm_py_rounded_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *y, ptrdiff_t stride_y, int mode);

/* The value of a code; the code that x rounds to, to nearest, ties to even. Too large numbers become infinite, in e4m3fn NaN;
 * a NaN becomes the canonical one, 0x7f in e4m3fn, 0x7e in e5m2. */
double rm_py_float8_value(uint8_t code, int format);
uint8_t rm_py_float8_round(double x, int format);

/* y = f(x) for n elements. Raises flags in this thread's status word. Returns -1 when there is no memory for the table. */
int rm_py_float8_map(rm_py_float8_slot *slot, rm_py_rounded_f64 *f, int format, ptrdiff_t n, const char *x, ptrdiff_t sx,
                     char *y, ptrdiff_t sy);
