/* Running products of binary32 numbers as m 2^e: a significand times a number of binary32, which is between 2^-149 and 2^128
 * in magnitude, is a normal number of binary64. */
#include "factors.h"

#include <math.h>
#include <string.h>

#define FIELD (UINT64_C(0x7ff) << 52)

/* Takes the exponent of *p out, which is added to *e. */
static inline void take_exponent(double *p, int64_t *e) {
  uint64_t bits;
  memcpy(&bits, p, 8);
  const int64_t field = (int64_t)((bits & FIELD) >> 52);
  bits = (bits & ~FIELD) | UINT64_C(1023) << 52;
  memcpy(p, &bits, 8);
  *e += field - 1023;
}

/* What a factor is to a product that is 0, infinite or NaN. */
static inline double kind(double v) { return v == 0.0 || !isfinite(v) ? v : copysign(1.0, v); }

void rm_py_multiply(int64_t n, const float *x, double *m, int64_t *e, double *exceptional) {
  for (int64_t i = 0; i < n; i++) {
    const double v = (double)x[i];
    exceptional[i] *= kind(v);
    m[i] *= v;
    if (fabs(exceptional[i]) == 1.0) take_exponent(m + i, e + i);
  }
}

void rm_py_product_ends(int64_t n, const int64_t *count, int digits, const double *m, const int64_t *e, double *low,
                        double *high) {
  for (int64_t i = 0; i < n; i++) {
    const double off = count[i] * digits <= 53 ? 0.0 : 1.01 * 0x1p-53 * ((double)count[i] + 10.0);
    const int64_t cut = e[i] < -500 ? -500 : e[i] > 500 ? 500 : e[i];
    const uint64_t bits = (uint64_t)(cut + 1023) << 52;
    double scale;
    memcpy(&scale, &bits, 8);
    const double wide = m[i] * scale;
    low[i] = wide * (1.0 - off), high[i] = wide * (1.0 + off);
  }
}
