/* Products of binary32 numbers as m 2^e, without overflow: four factors at most come between two steps that take the exponent
 * out.
 *
 * A number of binary32 is 0 or between 2^-149 and 2^128 in magnitude, so that a significand times four of these is a normal
 * number of binary64: its exponent field tells whether a factor was 0, infinite or NaN. */
#include "factors.h"

#include <math.h>
#include <string.h>

enum { LANES = 8, GROUP = 4 * LANES };
#define FIELD (UINT64_C(0x7ff) << 52)

/* Takes the exponent of *p out, which is added to *e; whether *p is 0, infinite or NaN. */
static inline int take_exponent(double *p, int64_t *e) {
  uint64_t bits;
  memcpy(&bits, p, 8);
  const int64_t field = (int64_t)((bits & FIELD) >> 52), exceptional = (field == 0) | (field == 0x7ff);
  bits = (bits & ~FIELD) | UINT64_C(1023) << 52;
  memcpy(p, &bits, 8);
  *e += field - 1023;
  return (int)exceptional;
}

static inline double factor(const char *x, ptrdiff_t step, int64_t i) {
  float v;
  memcpy(&v, x + i * step, 4);
  return (double)v;
}
/* What a factor is to a product that is 0, infinite or NaN. */
static inline double kind(double v) { return v == 0.0 || !isfinite(v) ? v : copysign(1.0, v); }

static void load(int64_t n, const char *x, ptrdiff_t step, float *to) {
  if (n == GROUP && step == 4) {
    memcpy(to, x, sizeof(float) * GROUP);
    return;
  }
  for (int64_t k = 0; k < GROUP; k++) to[k] = k < n ? (float)factor(x, step, k) : 1.0f;
}

static void exceptional_total(int64_t n, const char *x, ptrdiff_t step, double *m, int64_t *e) {
  *m = 1.0, *e = 0;
  for (int64_t i = 0; i < n; i++) *m *= kind(factor(x, step, i));
}

static void total(int64_t n, const char *x, ptrdiff_t step, double *m, int64_t *e) {
  if (n < GROUP) {
    double q = 1.0;
    int64_t i = 0;
    *e = 0;
    for (; i < n; i++) {
      q *= factor(x, step, i);
      if ((i % 4 == 3 || i == n - 1) && take_exponent(&q, e)) break;
    }
    *m = q;
    if (i < n) exceptional_total(n, x, step, m, e);
    return;
  }
  double p[LANES];
  int64_t exponent[LANES] = {0}, exceptional = 0;
  for (int j = 0; j < LANES; j++) p[j] = 1.0;
  for (int64_t i = 0; i < n; i += GROUP) {
    float v[GROUP];
    load(n - i < GROUP ? n - i : GROUP, x + i * step, step, v);
    for (int k = 0; k < GROUP; k += LANES)
      for (int j = 0; j < LANES; j++) p[j] *= (double)v[k + j];
    for (int j = 0; j < LANES; j++) exceptional |= take_exponent(p + j, exponent + j);
  }
  if (exceptional) {
    exceptional_total(n, x, step, m, e);
    return;
  }
  *m = 1.0, *e = 0;
  for (int j = 0; j < LANES; j++) *m *= p[j], *e += exponent[j];
  take_exponent(m, e);
}

static void partial(int64_t n, const char *x, ptrdiff_t step, double *m, int64_t *e) {
  double p = 1.0;
  int64_t exponent = 0, i = 0;
  for (; i < n; i++) {
    p *= factor(x, step, i);
    double here = p;
    int64_t at = exponent;
    if (take_exponent(&here, &at)) break;
    m[i] = here, e[i] = at;
    if (i % 4 == 3) p = here, exponent = at;
  }
  if (i == n) return;
  p = copysign(1.0, i ? m[i - 1] : 1.0);
  for (; i < n; i++) {
    p *= kind(factor(x, step, i));
    m[i] = p, e[i] = 0;
  }
}

void rm_py_product(int64_t n, const char *x, ptrdiff_t step, int partly, double *m, int64_t *e) {
  (partly ? partial : total)(n, x, step, m, e);
}

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
