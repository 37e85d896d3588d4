/* u = 2^-53. A product of n factors is rounded n - 1 times, each by at most u of it, where no partial product leaves
 * the range of binary64: factors are between 2^-149 and 2^128 in magnitude, and before STEPS of them a product that
 * is not 0 or infinite is between 2^-400 and 2^400. Two factors of 24 bits are exact. 0, infinity and NaN have their
 * products by IEEE 754's rules, in any order.
 *
 * A norm: squares of binary32 are exact, between 2^-298 and 2^256 or 0, their sum is off by n u of it, and its root
 * by half of that and u. */
#include "short_rows.h"

#include <math.h>
#include <string.h>

#include "samples.h"
#include "steps.h"

#ifndef RM_PY_ROWS_BOUND /* a control's is smaller, and its results are wrong */
#define RM_PY_ROWS_BOUND 1.0
#endif
enum { F32 = 2, F64 = 3, COLUMNS = 64, STEPS = 4, CHAINS = 8 };

static void load(int format, int64_t n, const char *x, double *to) {
  if (format != F32) {
    rm_py_converted(format, F64, n, x, to);
    return;
  }
  for (int64_t j = 0; j < n; j++) to[j] = (double)((const float *)x)[j];
}

static int is_moderate(int64_t n, const double *v) {
  int good = 1;
  for (int64_t j = 0; j < n; j++) {
    const double size = fabs(v[j]);
    good &= (size >= 0x1p-400 && size <= 0x1p400) || size == 0.0 || !(size <= 0x1.fffffffffffffp1023);
  }
  return good;
}

/* Rounds products of n factors; returns how many are open. */
static int64_t finish(int format, int64_t n, int64_t count, const double *v, char *out, uint8_t *open) {
  const double rel = n <= 2 ? 0.0 : RM_PY_ROWS_BOUND * 1.02 * 0x1p-53 * (double)(n + 2);
  int64_t left = 0;
  if (format != F32) {
    for (int64_t j = 0; j < count; j++) left += open[j] = !rm_py_decided(format, v[j], rel * fabs(v[j]), out + 2 * j);
    return left;
  }
  float *const to = (float *)out;
  for (int64_t j = 0; j < count; j++) {
    const float low = (float)(v[j] * (1.0 - rel)), high = (float)(v[j] * (1.0 + rel));
    to[j] = high;
    left += open[j] = low != high;
  }
  for (int64_t j = 0; left && j < count; j++)
    if (isnan(v[j])) to[j] = NAN, open[j] = 0, left--;
  return left;
}

static int64_t columns(int format, int64_t n, int64_t inner, const char *x, char *out, uint8_t *open) {
  const int64_t size = format == F32 ? 4 : 2;
  int64_t left = 0;
  for (int64_t at = 0; at < inner; at += COLUMNS) {
    const int64_t count = inner - at < COLUMNS ? inner - at : COLUMNS;
    double v[COLUMNS], factor[COLUMNS];
    load(format, count, x + at * size, v);
    for (int64_t i = 1; i < n; i++) {
      load(format, count, x + (i * inner + at) * size, factor);
      if (i % STEPS == 0 && !is_moderate(count, v)) return -1;
      for (int64_t j = 0; j < count; j++) v[j] *= factor[j];
    }
    left += finish(format, n, count, v, out + at * size, open + at);
  }
  return left;
}

/* One row, by CHAINS products. */
static int row(int format, int64_t n, const char *x, double *out) {
  const int64_t size = format == F32 ? 4 : 2;
  double v[CHAINS], factor[CHAINS];
  for (int j = 0; j < CHAINS; j++) v[j] = factor[j] = 1.0;
  for (int64_t i = 0; i < n; i += CHAINS) {
    const int64_t count = n - i < CHAINS ? n - i : CHAINS;
    for (int j = 0; j < CHAINS; j++) factor[j] = 1.0;
    load(format, count, x + i * size, factor);
    if (i > 0 && i % (STEPS * CHAINS) == 0 && !is_moderate(CHAINS, v)) return 0;
    for (int j = 0; j < CHAINS; j++) v[j] *= factor[j];
  }
  if (n > CHAINS && !is_moderate(CHAINS, v)) return 0;
  for (int half = CHAINS / 2; half; half /= 2) {
    for (int j = 0; j < half; j++) v[j] *= v[j + half];
    if (n > CHAINS && !is_moderate(half, v)) return 0;
  }
  *out = v[0];
  return 1;
}

int64_t rm_py_short_products(int format, int64_t outer, int64_t n, int64_t inner, const void *x, void *out, uint8_t *open) {
  const int64_t size = format == F32 ? 4 : 2;
  int64_t left = 0;
  if (inner > 1) {
    for (int64_t o = 0; o < outer; o++) {
      const int64_t more =
          columns(format, n, inner, (const char *)x + o * n * inner * size, (char *)out + o * inner * size, open + o * inner);
      if (more < 0) return -1;
      left += more;
    }
    return left;
  }
  for (int64_t o = 0; o < outer; o += COLUMNS) {
    const int64_t count = outer - o < COLUMNS ? outer - o : COLUMNS;
    double v[COLUMNS];
    for (int64_t j = 0; j < count; j++)
      if (!row(format, n, (const char *)x + (o + j) * n * size, v + j)) return -1;
    left += finish(format, n, count, v, (char *)out + o * size, open + o);
  }
  return left;
}

int rm_py_short_norm(int64_t n, const float *x, float *out) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  const double v = sqrt(sum), rel = RM_PY_ROWS_BOUND * 1.02 * 0x1p-53 * (0.5 * (double)n + 3.0);
  const float low = (float)(v * (1.0 - rel)), high = (float)(v * (1.0 + rel));
  *out = isnan(v) ? NAN : high;
  return low == high || isnan(v);
}
