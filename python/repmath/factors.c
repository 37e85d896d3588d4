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

/* Products of binary64 as (h + l) 2^e in lanes, 1 <= |h| < 2 and |l| at most 2^-53.
 *
 * A factor is m 2^f, 1 <= |m| < 2. h m is p + rest, exactly: nothing overflows or underflows in Dekker's product of numbers
 * between 1 and 4. l m is below 2^-52 and rounded by at most 2^-106; low, its sum with rest, is below 2^-51 and rounded by at
 * most 2^-105; h and l are the sum p + low, exactly (Fast2Sum, as |p| >= 1 > |low|), times a power of two. A step is off by
 * less than 2^-104 of the product. Two lanes are joined by h h' and low = rest + (h l' + l h'): l l' is left out, at most
 * 2^-106, and h l' and l h' are rounded by 2^-106 each, their sum by 2^-105 and low, below 2^-50, by 2^-104: less than
 * 2^-102 of the product, seven times. A lane that is multiplied by 1 is not rounded. So the product of k factors, which is
 * below 2, is within (k + 15) 2^-102. The test takes (k + 16) 2^-100: more by far than its own ends are rounded, 2^-106.
 *
 * Where all `rest` are 0, l is, too, and the product is h. */
typedef struct {
  double h[LANES], l[LANES];
  int64_t e[LANES], rounded[LANES];
} lanes;

static inline double product_error(double a, double b, double p) {
  const double ca = 134217729.0 * a, cb = 134217729.0 * b, ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

/* The product p + low as h and l of these magnitudes, with its exponent. */
static inline void put_lane(lanes *s, int j, double p, double low) {
  const double high = p + low, rest = low - (high - p);
  uint64_t bits;
  double scale;
  memcpy(&bits, &high, 8);
  const int64_t field = (int64_t)((bits & FIELD) >> 52), inverse = (2046 - field) << 52;
  memcpy(&scale, &inverse, 8);
  s->h[j] = high * scale, s->l[j] = rest * scale;
  s->e[j] += field - 1023;
}

static inline void multiply_lanes(lanes *s, const double *v) {
  for (int j = 0; j < LANES; j++) {
    const int64_t small = fabs(v[j]) < 0x1p-1022 ? -1 : 0;
    const double w = small ? v[j] * 0x1p54 : v[j];
    uint64_t bits;
    double m;
    memcpy(&bits, &w, 8);
    s->e[j] += (int64_t)((bits & FIELD) >> 52) - 1023 - (small & 54);
    bits = (bits & ~FIELD) | UINT64_C(1023) << 52;
    memcpy(&m, &bits, 8);
    const double p = s->h[j] * m, rest = product_error(s->h[j], m, p);
    s->rounded[j] |= rest != 0.0 ? -1 : 0;
    put_lane(s, j, p, rest + s->l[j] * m);
  }
}

static void join_lanes(lanes *s) {
  for (int half = LANES / 2; half; half /= 2)
    for (int j = 0; j < half; j++) {
      const int k = j + half;
      const double p = s->h[j] * s->h[k], rest = product_error(s->h[j], s->h[k], p);
      s->rounded[j] |= s->rounded[k] | (rest != 0.0 ? -1 : 0);
      s->e[j] += s->e[k];
      put_lane(s, j, p, rest + (s->h[j] * s->l[k] + s->l[j] * s->h[k]));
    }
}

/* Whether the rounded product of `count` factors is sure, which is put to *to. A number that would be subnormal is not, but
 * what is below all of them is 0. */
static inline int round_lane(const lanes *s, int j, int64_t count, double *to) {
  const double beyond = 0x1p-100 * ((double)count + 16.0), h = s->h[j], l = s->l[j];
  const double low = h + (l - beyond), high = h + (l + beyond), made = s->rounded[j] ? low : h;
  const int64_t e = s->e[j], field = (e < -1022 ? 1 : e > 1023 ? 2046 : e + 1023) << 52;
  double scale;
  memcpy(&scale, &field, 8);
  *to = e > 1024 ? copysign(INFINITY, h) : e < -1080 ? copysign(0.0, h) : made * scale * (e > 1023 ? 2.0 : 1.0);
  return e < -1080 || (e > -1021 && (!s->rounded[j] || low == high));
}

static inline int is_special(double v) { return v == 0.0 || !isfinite(v); }

static int any_special(int64_t n, const double *x) {
  int found = 0;
  for (int64_t i = 0; i < n; i++) found |= !(fabs(x[i]) > 0.0) | !(fabs(x[i]) < INFINITY);
  return found;
}

/* Results that factors of 0, infinity or NaN decide. */
static void special_products(int64_t n, const double *x, int partly, double *out, unsigned char *left) {
  double known = 1.0;
  for (int64_t i = 0; i < n; i++) {
    known *= kind(x[i]);
    const int64_t k = partly ? i : 0;
    if (fabs(known) == 1.0 || (!partly && i < n - 1)) continue;
    out[k] = isnan(known) ? (double)NAN : known, left[k] = 0;
  }
}

void rm_py_wide_products(int64_t rows, int64_t n, const double *x, int partly, double *out, unsigned char *left) {
  static const lanes begun = {.h = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}};
  const int64_t each = partly ? n : 1;
  double v[LANES];
  if (!partly && rows < LANES) { /* the lanes are parts of a row */
    for (int64_t r = 0; r < rows; r++) {
      lanes s = begun;
      for (int64_t i = 0; i < n; i += LANES) {
        for (int64_t j = 0; j < LANES; j++) v[j] = i + j < n && !is_special(x[r * n + i + j]) ? x[r * n + i + j] : 1.0;
        multiply_lanes(&s, v);
      }
      join_lanes(&s);
      left[r] = (unsigned char)!round_lane(&s, 0, n, out + r);
    }
  } else
    for (int64_t r = 0; r < rows; r += LANES) { /* the lanes are rows */
      const int count = (int)(rows - r < LANES ? rows - r : LANES);
      lanes s = begun;
      for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < LANES; j++) v[j] = j < count && !is_special(x[(r + j) * n + i]) ? x[(r + j) * n + i] : 1.0;
        multiply_lanes(&s, v);
        if (!partly && i < n - 1) continue;
        for (int j = 0; j < count; j++) {
          const int64_t k = (r + j) * each + (partly ? i : 0);
          left[k] = (unsigned char)!round_lane(&s, j, i + 1, out + k);
        }
      }
    }
  for (int64_t r = 0; r < rows; r++)
    if (any_special(n, x + r * n)) special_products(n, x + r * n, partly, out + r * each, left + r * each);
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
