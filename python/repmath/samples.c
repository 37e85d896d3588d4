/* Sums in binary64, with the sums of their terms' magnitudes, and Ziv's rounding test. u = 2^-53.
 *
 * Image: terms w g are rounded, as defined. A sum of n of them is off by 1.01 n u times the sum A of their
 * magnitudes, and its rounding to binary64, which the definition has, by u A: 1.02 (n + 2) u A, which leaves room for
 * the roundings of A. One term is exact. A number that no boundary of the format is near to is rounded alike before
 * and after the rounding to binary64.
 *
 * Grid: products g x of formats below binary64 are exact. Their sum over C channels, in four parts, is off by (C +
 * 4) u times the sum B of their magnitudes, and the definition's rounding by u B. Products with slopes and their sum
 * over T taps are off by (T + 1) u |slope| B more: 1.02 (C + T + 8) u times the sum of |slope| B. Weights and slopes
 * are products of three differences of numbers of 53 bits at most, or of cubics of these, not below 2^-600: nothing
 * underflows beside numbers of 2^-298 and more.
 *
 * Where a term is infinite or NaN, a sum is what IEEE 754's additions give in any order: no finite sum overflows in
 * binary64. */
#include "samples.h"

#include <math.h>
#include <string.h>

#include "steps.h"

#ifndef RM_PY_SAMPLE_BOUND /* a control's is smaller, and its results are wrong */
#define RM_PY_SAMPLE_BOUND 1.0
#endif
enum { F16 = 0, F32 = 2, F64 = 3, GROUP = 4 }; /* formats; channels are padded to whole groups */

static int64_t padded(int64_t n) { return (n + GROUP - 1) / GROUP * GROUP; }

/* At most as many elements of the image as there are terms are named; each has a slot. */
static int64_t slots_of(const rm_py_sample *s) {
  const int64_t terms = s->points * s->taps;
  return terms < s->size ? terms : s->size;
}

void rm_py_turn(int64_t rows, int64_t columns, int size, const void *from, void *to) {
  for (int64_t j = 0; j < columns; j++)
    for (int64_t i = 0; i < rows; i++)
      if (size == 4) ((uint32_t *)to)[j * rows + i] = ((const uint32_t *)from)[i * columns + j];
      else ((uint16_t *)to)[j * rows + i] = ((const uint16_t *)from)[i * columns + j];
}

int64_t rm_py_sample_workspace(const rm_py_sample *s) {
  const int64_t wide = padded(s->channels), slots = slots_of(s);
  return s->points * wide + 3 * slots * wide + 2 * slots + s->size + s->channels * (s->points + s->size);
}

static double value_at(const void *x, int format, int64_t i) {
  return format == F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* A sum in two parts, hi + lo, and the sum of the magnitudes of what has gone to lo. */
typedef struct {
  double hi, lo, size;
  int rounded; /* whether an addition to lo was: else the pair is the sum */
} pair;

/* Two-sum: the error of an addition, exactly (Knuth); without any, the sum is exact. */
static void add(pair *p, double v) {
  const double sum = p->hi + v, part = sum - p->hi, e = (p->hi - (sum - part)) + (v - part);
  p->hi = sum;
  const double low = p->lo + e, own = low - p->lo;
  p->rounded |= (p->lo - (low - own)) + (e - own) != 0.0;
  p->lo = low;
  p->size += fabs(e);
}

/* The sum of n terms rounded to binary64, where it is known: lo is off by n u times size at most, twice that after
 * products. */
static int total(const pair *p, int64_t n, double *out) {
  const double err = p->rounded ? 2.1 * 0x1p-53 * (double)(n + 2) * p->size + 0x1p-1000 : 0.0;
  *out = p->hi + (p->lo + err);
  return *out == p->hi + (p->lo - err);
}

/* Element c of place k of the image's gradient, rounded to binary64. g is in a format of value_at. */
static int image_total(const rm_py_sample *s, const void *g, int format, int64_t k, int64_t c, double *out) {
  pair sum = {0.0, 0.0, 0.0, 0};
  for (int64_t t = 0; t < s->taps; t++)
    for (int64_t p = 0; p < s->points; p++)
      if (s->at[t * s->points + p] == k) add(&sum, s->weight[t * s->points + p] * value_at(g, format, c * s->points + p));
  return total(&sum, s->points * s->taps, out);
}

/* Coordinate j of the gradient of place p: the sum of exact products, each in two parts, and its bound. */
static int grid_total(const rm_py_sample *s, const void *g, const void *x, int format, int64_t p, int j, double *out,
                      double *err) {
  pair all = {0.0, 0.0, 0.0, 0};
  for (int64_t t = 0; t < s->taps; t++) {
    const int64_t k = s->at[t * s->points + p];
    pair sum = {0.0, 0.0, 0.0, 0};
    double d;
    if (k < 0) continue;
    for (int64_t c = 0; c < s->channels; c++)
      add(&sum, value_at(g, format, c * s->points + p) * value_at(x, format, c * s->size + k));
    if (!total(&sum, s->channels, &d)) return 0;
    const double slope = s->slope[(j * s->taps + t) * s->points + p], v = slope * d, rest = fma(slope, d, -v);
    add(&all, v);
    all.lo += rest;
    all.size += fabs(rest);
  }
  *err = all.size == 0.0 ? 0.0 : 2.1 * 0x1p-53 * (double)(s->taps + 2) * all.size + 0x1p-1000;
  *out = all.hi + all.lo;
  if (all.size != 0.0) *err += 0x1p-51 * fabs(*out);
  return 1;
}

/* Whether [v - err, v + err] rounds to one number, which *out becomes. Of an infinite or NaN v it does. */
static int decided(double v, double err, float *out) {
  const float low = (float)(v - err), high = (float)(v + err);
  *out = isnan(v) ? NAN : isinf(v) ? (float)v : high;
  return !isfinite(v) || (low == high && isfinite(high) && fabs(v) >= err);
}
/* In 16 bits: adding 1.5 2^52 quanta rounds to a multiple of the quantum at |v| - err, as in crlibm/simd/undecided.h. */
static int decided_narrow(int format, double v, double err, uint16_t *out) {
  const double least = format == F16 ? 0x1p-14 : 0x1p-126, most = format == F16 ? 0x1.ffcp15 : 0x1.fep127;
  const double below = fabs(v) - err;
  uint64_t bits;
  memcpy(&bits, &below, 8);
  bits &= UINT64_C(0x7ff) << 52;
  double quantum;
  memcpy(&quantum, &bits, 8);
  if (!(quantum >= least)) quantum = least;
  const double magic = quantum * (format == F16 ? 0x1.8p42 : 0x1.8p45), low = (v - err) + magic, high = (v + err) + magic;
  const double size = fabs(high - magic);
  if (isfinite(v) && (low != high || fabs(v) < err)) return 0;
  if (!(size <= most)) return rm_py_converted(F64, format, 1, &v, out) == 0 && !isfinite(v); /* what overflows is left */
  const float narrow = (float)size;
  uint32_t word;
  memcpy(&word, &narrow, 4);
  if (format != F16) word >>= 16;
  else word = size < least ? (uint32_t)(size * 0x1p24) : (word >> 13) - (112u << 10);
  *out = (uint16_t)(word | (signbit(v) ? 0x8000u : 0));
  return 1;
}
int rm_py_decided(int format, double v, double err, void *out) {
  return format == F32 ? decided(v, err, (float *)out) : decided_narrow(format, v, err, (uint16_t *)out);
}

/* Whether coordinate j of the gradient of place p is exactly 0, as where an image is constant: all taps in the image have the
 * same numbers, `wide` of them in the columns of their slots, and their slopes cancel. */
static int cancels(const rm_py_sample *s, const int32_t *slot, const double *column, int64_t wide, int64_t p, int j) {
  pair slopes = {0.0, 0.0, 0.0, 0};
  const double *first = NULL;
  for (int64_t t = 0; t < s->taps; t++) {
    const int64_t k = s->at[t * s->points + p];
    if (k < 0) continue;
    const double *const own = column + slot[k] * wide;
    if (first && memcmp(first, own, sizeof *own * (size_t)wide) != 0) return 0;
    first = own;
    add(&slopes, s->slope[(j * s->taps + t) * s->points + p]);
  }
  return !slopes.rounded && slopes.hi == -slopes.lo;
}

/* The sum of a b over n numbers, and that of the magnitudes, in *size. */
static double dot(int64_t n, const double *a, const double *b, double *size) {
  double sum[GROUP] = {0.0}, all[GROUP] = {0.0};
  for (int64_t c = 0; c < n; c += GROUP)
    for (int j = 0; j < GROUP; j++) {
      const double p = a[c + j] * b[c + j];
      sum[j] += p;
      all[j] += fabs(p);
    }
  *size = (all[0] + all[1]) + (all[2] + all[3]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

int rm_py_sample_gradients(const rm_py_sample *s, const void *g, const void *x, void *dx, void *dgrid, double *workspace) {
  const int64_t channels = s->channels, wide = padded(channels), slots = slots_of(s), points = s->points;
  const int size_of = s->format == F32 ? 4 : 2;
  double *const received = workspace, *const column = received + points * wide, *const sum = column + slots * wide,
                *const all = sum + slots * wide, *const count = all + slots * wide;
  int64_t *const place = (int64_t *)(count + slots);
  int32_t *const slot = (int32_t *)(place + slots);
  int open = 0;
  if (s->format != F32) {
    double *const wide_g = (double *)(place + slots) + s->size, *const wide_x = wide_g + channels * points;
    rm_py_converted(s->format, F64, channels * points, g, wide_g);
    rm_py_converted(s->format, F64, channels * s->size, x, wide_x);
    g = wide_g, x = wide_x;
  }
  for (int64_t p = 0; p < points; p++)
    for (int64_t c = 0; c < wide; c++) received[p * wide + c] = c < channels ? value_at(g, s->format, c * points + p) : 0.0;
  memset(slot, -1, sizeof *slot * (size_t)s->size);
  int64_t used = 0;
  const double bound = 1.02 * 0x1p-53 * (double)(wide + s->taps + 8);
  for (int64_t p = 0; p < points; p++) {
    const double *const own = received + p * wide;
    double made[3] = {0.0}, off[3] = {0.0};
    for (int64_t t = 0; t < s->taps; t++) {
      const int64_t k = s->at[t * points + p];
      if (k < 0) { /* a number of 0 outside, which is not 0 beside an infinity */
        for (int64_t c = 0; dgrid && c < channels; c++)
          if (!isfinite(own[c])) made[0] = made[1] = made[2] = NAN;
        continue;
      }
      int64_t i = slot[k];
      if (i < 0) {
        i = slot[k] = (int32_t)used++;
        place[i] = k, count[i] = 0.0;
        for (int64_t c = 0; c < wide; c++) {
          column[i * wide + c] = dgrid && c < channels ? value_at(x, s->format, c * s->size + k) : 0.0;
          sum[i * wide + c] = all[i * wide + c] = 0.0;
        }
      }
      if (dx) {
        const double w = s->weight[t * points + p];
        double *const to = sum + i * wide, *const size = all + i * wide;
        for (int64_t c = 0; c < wide; c++) {
          const double v = w * own[c];
          to[c] += v;
          size[c] += fabs(v);
        }
        count[i] += 1.0;
      }
      if (dgrid) {
        double size;
        const double d = dot(wide, column + i * wide, own, &size);
        for (int j = 0; j < s->dims; j++) {
          const double slope = s->slope[(j * s->taps + t) * points + p];
          made[j] += slope * d;
          off[j] += fabs(slope) * size;
        }
      }
    }
    for (int j = 0; dgrid && j < s->dims; j++) {
      void *const to = (char *)dgrid + (p * s->dims + j) * size_of;
      double v = made[j], err = RM_PY_SAMPLE_BOUND * (bound * off[j] + 0x1p-52 * fabs(v));
      if (rm_py_decided(s->format, v, err, to)) continue;
      if (isfinite(v) && cancels(s, slot, column, wide, p, j)) {
        memset(to, 0, (size_t)size_of);
        continue;
      }
      if (!grid_total(s, g, x, s->format, p, j, &v, &err) || !rm_py_decided(s->format, v, err, to)) open |= 2;
    }
  }
  if (!dx) return open;
  memset(dx, 0, (size_t)size_of * (size_t)(channels * s->size));
  for (int64_t i = 0; i < used; i++) {
    const double of_count = count[i] == 1.0 ? 0.0 : RM_PY_SAMPLE_BOUND * 1.02 * 0x1p-53 * (count[i] + 4.0);
    for (int64_t c = 0; c < channels; c++) {
      void *const to = (char *)dx + (c * s->size + place[i]) * size_of;
      double v = sum[i * wide + c];
      if (rm_py_decided(s->format, v, all[i * wide + c] * of_count, to)) continue;
      if (!image_total(s, g, s->format, place[i], c, &v) || !rm_py_decided(s->format, v, 0.0, to)) open |= 1;
    }
  }
  return open;
}
