/* The two 8-bit formats of the Open Compute Project: loops by table, and the rounding of float64 to them.
 *
 * A function of one argument has 256 results in such a format. The table is made at its first use, from the C library's
 * float64 results rounded down and up: the odd one of the two (the result itself where they agree) is the value rounded to
 * odd, and rounding that to 3 or 4 bits is one rounding of the value (Boldo and Melquiond, 2008). */
#include "float8.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int mantissa, bias; /* bits of the stored significand; exponent field of 1.0 */
  uint8_t largest, beyond, nan;
} format8;
/* e5m2 is as IEEE 754 would have it; e4m3fn has no infinities, and its largest exponent holds numbers too. */
static const format8 formats[RM_PY_FLOAT8_FORMATS] = {{3, 7, 0x7e, 0x7f, 0x7f}, {2, 15, 0x7b, 0x7c, 0x7e}};

static uint64_t bits_of(double x) {
  uint64_t b;
  memcpy(&b, &x, 8);
  return b;
}

double rm_py_float8_value(uint8_t code, int format) {
  const format8 *f = formats + format;
  const int size = code & 0x7f, field = size >> f->mantissa, m = size & ((1 << f->mantissa) - 1);
  double x;
  if (size > f->beyond || size == f->nan) x = NAN;
  else if (size == f->beyond) x = INFINITY;
  else x = ldexp(field ? m + (1 << f->mantissa) : m, (field ? field : 1) - f->bias - f->mantissa);
  return code & 0x80 ? -x : x;
}

static int is_signalling(uint8_t code, int format) { return format == RM_PY_E5M2 && (code & 0x7f) == 0x7d; }

uint8_t rm_py_float8_round(double x, int format) {
  const format8 *f = formats + format;
  const uint64_t bits = bits_of(x), size = bits & (UINT64_MAX >> 1);
  const uint8_t sign = (uint8_t)(bits >> 63 << 7);
  if (x != x) return f->nan;
  if (size == UINT64_C(2047) << 52) return f->beyond == f->nan ? f->nan : sign | f->beyond;
  /* size = m 2^(e - 52); the quantum of the result is 2^q. */
  const int field = (int)(size >> 52), e = field ? field - 1023 : -1022, min_exponent = 1 - f->bias;
  const uint64_t m = (size & ((UINT64_C(1) << 52) - 1)) | (field ? UINT64_C(1) << 52 : 0);
  const int q = (e < min_exponent ? min_exponent : e) - f->mantissa, dropped = q - (e - 52);
  if (dropped > 53) return sign; /* below half the smallest number */
  const uint64_t kept = m >> dropped, rest = m & ((UINT64_C(1) << dropped) - 1), half = UINT64_C(1) << (dropped - 1);
  const uint64_t rounded = kept + (rest > half || (rest == half && (kept & 1)));
  /* The leading bit of a normal number adds one to the field. */
  const int64_t code = ((int64_t)((e < min_exponent ? min_exponent : e) - min_exponent) << f->mantissa) + (int64_t)rounded;
  if (code > f->largest) return f->beyond == f->nan ? f->nan : sign | f->beyond;
  return sign | (uint8_t)code;
}

/* lo and hi are v rounded down and up: v rounded to odd. */
static double to_odd(double lo, double hi) { return bits_of(lo) & 1 ? lo : bits_of(hi) & 1 ? hi : lo; }

static rm_py_float8_table *build(rm_py_rounded_f64 *f, int format) {
  rm_py_float8_table *table = malloc(sizeof *table);
  double x[256], lo[256], hi[256];
  fenv_t environment;
  if (!table) return NULL;
  for (int code = 0; code < 256; code++) x[code] = rm_py_float8_value((uint8_t)code, format);
  feholdexcept(&environment); /* the flags of all arguments are nobody's */
  rm_status status = f(256, x, sizeof *x, lo, sizeof *lo, RM_ROUND_DOWN);
  if (status == RM_OK) status = f(256, x, sizeof *x, hi, sizeof *hi, RM_ROUND_UP);
  fesetenv(&environment);
  if (status != RM_OK) {
    free(table);
    return NULL;
  }
  for (int code = 0; code < 256; code++) {
    const double v = to_odd(lo[code], hi[code]);
    const int number = isfinite(x[code]);
    table->code[code] = rm_py_float8_round(v, format);
    table->flags[code] = 0;
    if (v != v && (x[code] == x[code] || is_signalling((uint8_t)code, format))) table->flags[code] = FE_INVALID;
    else if (isinf(v) && number) table->flags[code] = FE_DIVBYZERO;
    else if (isfinite(v) && !isfinite(rm_py_float8_value(table->code[code], format))) table->flags[code] = FE_OVERFLOW;
  }
  return table;
}

int rm_py_float8_map(rm_py_float8_slot *slot, rm_py_rounded_f64 *f, int format, ptrdiff_t n, const char *x, ptrdiff_t sx,
                     char *y, ptrdiff_t sy) {
  rm_py_float8_table *table = atomic_load_explicit(slot, memory_order_acquire);
  if (!table) {
    rm_py_float8_table *made = build(f, format);
    if (!made) return -1;
    if (atomic_compare_exchange_strong(slot, &table, made)) /* else another thread was first, and table is its */
      table = made;
    else free(made);
  }
  int flags = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    const uint8_t code = (uint8_t)x[i * sx];
    flags |= table->flags[code];
    y[i * sy] = (char)table->code[code];
  }
  if (flags) feraiseexcept(flags);
  return 0;
}
