/* Pooling: results by windows of a source, row by row. For gradients of averages the source is g and the window of an element of x holds
 * the outputs whose windows it is in: contiguous along each axis, since the bounds of windows do not decrease.
 *
 * A sum of the rows of a window, then along them, all by two-sums: sum + low is off by the roundings of low alone, of which there are at
 * most 2 (terms + 2), each at most u times the sum z of the magnitudes of what two-sums have left over: 1.1 (terms + 2) 2^-52 z covers
 * that and the rounding of z. z = 0 says that sum is exact.
 * Then q = RN(sum/D) and the format's number nearest to q is that nearest to sum/D, unless q is a midpoint of the format and not the
 * exact quotient: rounding to binary64 is monotone, and a midpoint is a number there. */
#include <stdlib.h>
#include <string.h>

#include "../../include/repmath/pooling.h"
#include "../reduce/elements.h"
#include "../reduce/overlap.h"
#include "../reduce/statistics.h"
#include "decide.h"
#include "pool_kernels.h"

enum { BUFFERS = 4 };

/* Along one axis: result r has the source's coordinates first[r] + t step, t < count[r]. divisor[]: this axis' part of a divisor, by result
 * (forward) or by source (backward). same[r]: the divisors of the window of r are all divisor[first[r]]. */
typedef struct {
  int64_t sources, results, step;
  int64_t *first, *count, *divisor, *same;
} pool_axis;

typedef struct {
  int format, backward;
  int64_t divisor; /* given, or 0 */
  pool_axis axis[3];
  int64_t channels;
  const char *x;
  char *y, *index;
  ptrdiff_t sx[5], sy[5], si[5]; /* by n, channel, and three axes */
} pooling;

/* The windows of a result (backward). */
typedef struct {
  const pooling *pool;
  const char *plane;
  int64_t first[3], end[3];
} pool_window;

static const char *element(const pooling *f, const char *plane, int64_t a, int64_t b, int64_t c) {
  return plane + a * f->sx[2] + b * f->sx[3] + c * f->sx[4];
}

#define RM_NUM near
#include "pooling_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "pooling_exact.h"
#undef RM_NUM

/* A row of results: its batch and channel, and the coordinates of the two first axes. */
typedef struct {
  const char *plane;
  int64_t image, channel, r[2];
} place;
static place place_of(const pooling *f, int64_t row) {
  place p;
  p.r[1] = row % f->axis[1].results;
  row /= f->axis[1].results;
  p.r[0] = row % f->axis[0].results;
  row /= f->axis[0].results;
  p.channel = row % f->channels;
  p.image = row / f->channels;
  p.plane = f->x + p.image * f->sx[0] + p.channel * f->sx[1];
  return p;
}
static ptrdiff_t offset_of(const place *p, const ptrdiff_t *s) {
  return p->image * s[0] + p->channel * s[1] + p->r[0] * s[2] + p->r[1] * s[3];
}

static void max_row(const void *operation, int64_t row, rm_row_state *state) {
  const pooling *f = operation;
  const place p = place_of(f, row);
  const pool_axis *d = &f->axis[0], *h = &f->axis[1], *w = &f->axis[2];
  const int format = f->format;
  double *x = rm_row_buffer(state, 0), *best = rm_row_buffer(state, 1), *at = rm_row_buffer(state, 2);
  int none = 1;
  for (int64_t a = 0; a < d->count[p.r[0]]; a++)
    for (int64_t b = 0; b < h->count[p.r[1]]; b++) {
      const int64_t i = d->first[p.r[0]] + a * d->step, j = h->first[p.r[1]] + b * h->step;
      const double id = (double)(i * h->sources + j);
      state->k->load(w->sources, element(f, p.plane, i, j, 0), f->sx[4], format, 0.0, none ? best : x);
      if (none)
        for (int64_t k = 0; k < w->sources; k++) at[k] = id;
      else
        state->k->pooling->greatest(w->sources, x, id, best, at);
      none = 0;
    }
  char *y = f->y + offset_of(&p, f->sy), *index = f->index ? f->index + offset_of(&p, f->si) : NULL;
  for (int64_t r = 0; r < w->results; r++) {
    const int64_t first = w->first[r], end = none ? first : first + w->count[r] * w->step;
    int64_t where = -1;
    uint64_t bits = rm_infinity_bits(format) | rm_sign_bit(format);
    if (first < end) {
      int64_t k = first;
      double v = best[first];
      for (int64_t c = first + w->step; c < end; c += w->step) {
        const double u = best[c];
        const int nan = u != u, have = v != v;
        if (u > v || (nan && !have) || ((u == v || (nan && have)) && at[c] < at[k])) v = u, k = c;
      }
      const int64_t line = (int64_t)at[k], i = line / h->sources, j = line % h->sources;
      where = line * w->sources + k;
      bits = rm_read_bits(element(f, p.plane, i, j, k), format);
      if (v != v) {
        if (rm_is_signalling(bits, format)) state->flags |= RM_FLAG_INVALID;
        bits = rm_nan_bits(format);
      }
    }
    rm_write_bits(y + r * f->sy[4], bits, format);
    if (index) memcpy(index + r * f->si[4], &where, sizeof where);
  }
  state->tiers.fast += w->results;
}

/* RN((sum + low)/divisor), sum + low within err of the sum and err = 0 where sum is exact; 0 where this does not decide. */
static int quotient(double sum, double low, double err, int64_t divisor, int format, uint64_t *bits) {
  const double by = (double)divisor, q = (err == 0.0 ? sum : sum + low) / by, size = __builtin_fabs(q);
  if (divisor >= INT64_C(1) << 20 || !(size < 0x1p1000)) return 0;
  if (format == RM_F64) {
    if (err == 0.0) {
      *bits = sum == 0.0 ? 0 : rm_bits64(q);
      return 1;
    }
    if ((divisor & (divisor - 1)) || size < 0x1p-900) return 0;
    const double h = sum / by, l = low / by, e = RM_BOUND(err / by) + __builtin_fabs(l) * 0x1p-52, down = h + (l - e), up = h + (l + e);
    *bits = rm_bits64(down);
    return *bits == rm_bits64(up);
  }
  /* f: a number of binary32; boundaries of the format are numbers there but for the midpoints of its own. */
  const double most = format == RM_F16 ? 0x1.ffcp15 : 0x1.fep127, least = format == RM_F16 ? 0x1p-14 : 0x1p-126;
  if (q == 0.0 && err == 0.0) {
    *bits = 0;
    return 1;
  }
  if (!(size < most && size >= 2.0 * least)) return 0;
  const int dropped = 53 - rm_precision(format);
  const uint64_t half = UINT64_C(1) << (dropped - 1), m = rm_bits64(q), rest = m & (2 * half - 1);
  if (err == 0.0) {
    if (rest == half && q * by != sum) return 0; /* few bits times few bits: exact */
  } else {
    /* q is off by two roundings and err/D: in units of its last place, 2^-52 of it or more apart. */
    const double units = RM_BOUND(err / by / size * 0x1p53 + 4.0);
    const double away = rest > half ? (double)(rest - half) : (double)(half - rest);
    if (!(away > units)) return 0;
  }
  /* To nearest, ties to even, in integers: the significand's carry adds to the exponent. */
  const uint64_t kept = m >> dropped, up = rest > half || (rest == half && (kept & 1));
  const uint64_t magnitude = ((kept & ((UINT64_C(1) << (63 - dropped)) - 1)) + up) -
                             ((uint64_t)(1023 - rm_emax(format)) << (rm_precision(format) - 1));
  *bits = magnitude | (m >> 63 ? rm_sign_bit(format) : 0);
  return 1;
}

static uint64_t exactly(const pooling *f, const pool_window *w, int64_t divisor, int uniform, rm_row_state *state) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  for (int64_t a = w->first[0]; a < w->end[0]; a++)
    for (int64_t b = w->first[1]; b < w->end[1]; b++)
      for (int64_t c = w->first[2]; c < w->end[2]; c++) {
        const uint64_t bits = rm_read_bits(element(f, w->plane, a, b, c), f->format);
        if (rm_is_signalling(bits, f->format))
          acc.classes |= RM_ACC_SNAN;
        else
          rm_superacc_add(&acc, rm_to_double(bits, f->format));
      }
  if (!acc.classes && !uniform) return rm_decide(quotients_near, quotients_ball, (void *)(uintptr_t)w, 0, f->format, state);
  state->tiers.accumulator++;
  if (acc.classes) return rm_superacc_round_classes(acc.classes, f->format, &state->flags);
  const rm_sum_function function = {(uint64_t)divisor, 0, 0};
  return rm_function_of_top(&function, rm_superacc_get_top(&acc), f->format, &state->flags);
}

static void average_row(const void *operation, int64_t row, rm_row_state *state) {
  const pooling *f = operation;
  const place p = place_of(f, row);
  const pool_axis *d = &f->axis[0], *h = &f->axis[1], *w = &f->axis[2];
  const int format = f->format;
  double *x = rm_row_buffer(state, 0), *sum = rm_row_buffer(state, 1), *low = rm_row_buffer(state, 2), *size = rm_row_buffer(state, 3);
  pool_window t = {f, p.plane, {d->first[p.r[0]], h->first[p.r[1]], 0}, {0, 0, 0}};
  t.end[0] = t.first[0] + d->count[p.r[0]], t.end[1] = t.first[1] + h->count[p.r[1]];
  const int64_t rows = (t.end[0] - t.first[0]) * (t.end[1] - t.first[1]);
  int none = 1;
  for (int64_t i = t.first[0]; i < t.end[0]; i++)
    for (int64_t j = t.first[1]; j < t.end[1]; j++) {
      state->k->load(w->sources, element(f, p.plane, i, j, 0), f->sx[4], format, 0.0, none ? sum : x);
      if (none)
        for (int64_t k = 0; k < w->sources; k++) low[k] = size[k] = 0.0;
      else
        state->k->pooling->add(w->sources, x, sum, low, size);
      none = 0;
    }
  const int64_t part = f->backward ? (rows ? d->divisor[t.first[0]] * h->divisor[t.first[1]] : 1) : d->divisor[p.r[0]] * h->divisor[p.r[1]];
  const int uniform_rows = !f->backward || f->divisor || (d->same[p.r[0]] && h->same[p.r[1]]);
  char *y = f->y + offset_of(&p, f->sy);
  for (int64_t r = 0; r < w->results; r++) {
    uint64_t bits = 0;
    t.first[2] = w->first[r], t.end[2] = none ? t.first[2] : t.first[2] + w->count[r];
    const int empty = t.end[2] == t.first[2], uniform = uniform_rows && (!f->backward || f->divisor || w->same[r]);
    const int64_t divisor = f->divisor ? f->divisor : empty && f->backward ? 1 : part * w->divisor[f->backward ? t.first[2] : r];
    if (divisor == 0) { /* of an empty window: 0/0 */
      bits = rm_nan_bits(format);
      state->flags |= RM_FLAG_INVALID;
    } else if (!empty) {
      double s = 0.0, l = 0.0, z = 0.0;
      for (int64_t k = t.first[2]; k < t.end[2]; k++) {
        double e;
        s = rm_near_two_sum(s, sum[k], &e);
        l += low[k] + e;
        z += size[k] + __builtin_fabs(e);
      }
      const double err = z * ((double)(rows * (t.end[2] - t.first[2]) + 2) * 0x1.2p-52);
      if (uniform && quotient(s, l, err, divisor, format, &bits)) {
        state->tiers.fast++;
      } else {
        const rm_sum_function function = {(uint64_t)divisor, 0, 0};
        double lo;
        const double hi = rm_near_two_sum(s, l, &lo);
        if (uniform && err - err == 0.0 && hi - hi == 0.0 && rm_function_decide(&function, hi, lo, err, format, &bits, &state->flags))
          state->tiers.double_double++;
        else
          bits = exactly(f, &t, divisor, uniform, state);
      }
    }
    rm_write_bits(y + r * f->sy[4], bits, format);
  }
}

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* The windows of outputs along an axis. Coordinates stay below 2^62: positions checked the sizes. */
static void windows(pool_axis *a, const rm_pool *p, int k, int include_pad) {
  a->sources = p->in[k], a->results = p->out[k], a->step = p->adaptive ? 1 : p->dilation[k];
  for (int64_t r = 0; r < a->results; r++) {
    const int64_t in = p->in[k], out = p->out[k];
    if (p->adaptive) {
      a->first[r] = (int64_t)((rm_u128)r * (rm_u128)in / (rm_u128)out);
      a->count[r] = (int64_t)(((rm_u128)(r + 1) * (rm_u128)in + (rm_u128)(out - 1)) / (rm_u128)out) - a->first[r];
      a->divisor[r] = a->count[r];
    } else {
      const int64_t start = r * p->stride[k] - p->padding[k], step = p->dilation[k];
      const int64_t before = start < 0 ? least(ceil_div(-start, step), p->kernel[k]) : 0;
      const int64_t inside = start < in ? least(p->kernel[k], ceil_div(in - start, step)) : 0;
      a->first[r] = inside > before ? start + before * step : start < 0 ? 0 : in; /* first never decreases */
      a->count[r] = most(inside - before, 0);
      a->divisor[r] = include_pad ? most(least(p->kernel[k], in + p->padding[k] - start), 0) : a->count[r];
    }
    a->same[r] = 1;
  }
}

/* Those of elements of x in terms of outputs: `of` are the windows of outputs. */
static void transpose(pool_axis *a, const pool_axis *of) {
  a->sources = of->results, a->results = of->sources, a->step = 1;
  int64_t first = 0, end = 0;
  for (int64_t r = 0; r < a->results; r++) {
    while (end < of->results && of->first[end] <= r) end++;
    while (first < end && of->first[first] + of->count[first] <= r) first++;
    a->first[r] = first;
    a->count[r] = end - first;
    a->same[r] = 1;
    for (int64_t o = first; o < end; o++) a->same[r] &= of->divisor[o] == of->divisor[first];
  }
  for (int64_t o = 0; o < of->results; o++) a->divisor[o] = of->divisor[o];
}

static rm_status check(int format, const rm_pool *p, int average) {
  const int64_t limit = INT64_C(1) << 40;
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!p) return RM_STATUS(RM_ERR_NULL, 2);
  int ok = p->dims >= 1 && p->dims <= 3 && p->batch >= 0 && p->channels >= 0 && p->batch < limit && p->channels < limit;
  for (int k = 0; ok && k < p->dims; k++) {
    ok = p->in[k] >= 0 && p->in[k] < limit && p->out[k] >= 0 && p->out[k] < limit;
    if (ok && !p->adaptive)
      ok = p->kernel[k] >= 1 && p->stride[k] >= 1 && p->dilation[k] >= 1 && p->padding[k] >= 0 && p->kernel[k] < limit &&
           p->stride[k] < limit && p->dilation[k] < limit && p->padding[k] < limit && (!average || p->dilation[k] == 1) &&
           (p->out[k] == 0 || p->stride[k] <= (INT64_C(1) << 60) / p->out[k]);
  }
  if (!ok) return RM_STATUS(RM_ERR_SIZE, 2);
  return rm_kernels_get() ? RM_OK : RM_ERR_ISA;
}

/* Strides of up to five axes: those that a pool of fewer dimensions lacks come first and are 1 long. */
static void spread(ptrdiff_t *to, const ptrdiff_t *s, int dims) {
  for (int k = 0; k < 2; k++) to[k] = s[k];
  for (int k = 0; k < 3; k++) to[2 + k] = k < 3 - dims ? 0 : s[2 + k - (3 - dims)];
}

static rm_status run(int format, const rm_pool *given, int average, int backward, int include_pad, int64_t divisor, const void *x,
                     const ptrdiff_t *sx, void *y, const ptrdiff_t *sy, int64_t *index, const ptrdiff_t *si, int position_x) {
  rm_status status = check(format, given, average);
  if (status) return status;
  if (divisor < 0) return RM_STATUS(RM_ERR_RANGE, 4);
  rm_pool p = *given;
  const int skip = 3 - p.dims;
  for (int k = 2; k >= 0; k--) {
    const int from = k - skip;
    p.in[k] = from < 0 ? 1 : given->in[from], p.out[k] = from < 0 ? 1 : given->out[from];
    p.kernel[k] = from < 0 ? 1 : given->kernel[from], p.stride[k] = from < 0 ? 1 : given->stride[from];
    p.dilation[k] = from < 0 ? 1 : given->dilation[from], p.padding[k] = from < 0 ? 0 : given->padding[from];
  }
  int64_t n_in = p.batch * p.channels, n_out = n_in;
  for (int k = 0; k < 3; k++) {
    if (p.adaptive && p.in[k] > 0 && p.out[k] == 0) n_out = 0;
    n_in *= p.in[k], n_out *= p.out[k];
  }
  if ((backward ? n_in : n_out) == 0) return RM_OK;
  if ((backward ? n_out : n_in) && !x) return RM_STATUS(RM_ERR_NULL, position_x);
  if (!y) return RM_STATUS(RM_ERR_NULL, position_x + 2);
  const int64_t source[5] = {p.batch, p.channels, backward ? p.out[0] : p.in[0], backward ? p.out[1] : p.in[1], backward ? p.out[2] : p.in[2]};
  const int64_t result[5] = {p.batch, p.channels, backward ? p.in[0] : p.out[0], backward ? p.in[1] : p.out[1], backward ? p.in[2] : p.out[2]};
  pooling f = {.format = format, .backward = backward, .divisor = divisor, .channels = p.channels, .x = x, .y = y, .index = (char *)index};
  spread(f.sx, sx, p.dims);
  spread(f.sy, sy, p.dims);
  if (index) spread(f.si, si, p.dims);
  const int size = rm_size_of(format);
  const rm_grid gx = {f.x, 5, source, f.sx}, gy = {f.y, 5, result, f.sy}, gi = {f.index, 5, result, f.si};
  const int has_source = (backward ? n_out : n_in) != 0;
  if (rm_grid_may_overlap_itself(&gy, size) || (has_source && rm_spans_meet(&gy, size, &gx, size)))
    return RM_STATUS(RM_ERR_OVERLAP, position_x + 2);
  if (index && (rm_grid_may_overlap_itself(&gi, 8) || (has_source && rm_spans_meet(&gi, 8, &gx, size)) || rm_spans_meet(&gi, 8, &gy, size)))
    return RM_STATUS(RM_ERR_OVERLAP, position_x + 4);
  int64_t room = 0;
  for (int k = 0; k < 3; k++) room += 8 * most(most(p.in[k], p.out[k]), 1);
  int64_t *memory = malloc((size_t)room * sizeof *memory), *at = memory;
  if (!memory) return RM_ERR_MEMORY;
  for (int k = 0; k < 3; k++) {
    const int64_t n = most(most(p.in[k], p.out[k]), 1);
    pool_axis a = {0, 0, 0, at, at + n, at + 2 * n, at + 3 * n};
    at += 4 * n;
    windows(&a, &p, k, include_pad);
    if (!backward) {
      f.axis[k] = a;
      at += 4 * n;
      continue;
    }
    f.axis[k] = (pool_axis){0, 0, 0, at, at + n, at + 2 * n, at + 3 * n};
    at += 4 * n;
    transpose(&f.axis[k], &a);
  }
  int64_t rows = p.batch * p.channels * result[2] * result[3];
  status = rm_each_row(rows, most(source[4], result[4]), BUFFERS, average ? average_row : max_row, &f);
  free(memory);
  return status;
}

rm_status rm_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y,
                      int64_t *index, const ptrdiff_t *strides_index) {
  return run(format, pool, 0, 0, 0, 0, x, strides_x, y, strides_y, index, strides_index, 3);
}
rm_status rm_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x, const ptrdiff_t *strides_x,
                      void *y, const ptrdiff_t *strides_y) {
  return run(format, pool, 1, 0, include_pad, divisor, x, strides_x, y, strides_y, NULL, NULL, 5);
}
rm_status rm_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                               const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx) {
  return run(format, pool, 1, 1, include_pad, divisor, g, strides_g, gx, strides_gx, NULL, NULL, 5);
}
