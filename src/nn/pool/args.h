/* The problem of pooling: windows along axes, of which tables are made. It is also device code. */
#pragma once

#include "../../../include/repmath/pooling.h"
#include "../../common/elements.h"

/* Along one axis: result r has the source's coordinates first[r] + t step, t < count[r]. divisor[]: this axis' part of a
 * divisor, by result (forward) or by source (backward). same[r]: the divisors of the window of r are all
 * divisor[first[r]]. */
typedef struct {
  int64_t sources, results, step;
  int64_t *first, *count, *divisor, *same;
} rm_pool_axis;

typedef struct {
  int format, backward, include_pad;
  int64_t divisor; /* given, or 0 */
  rm_pool windows; /* of outputs, along three axes */
  rm_pool_axis axis[3];
  int64_t images, channels;
  int across; /* on a CPU: the last axis is that of channels, and the other two are the pool's */
  const char *x;
  char *y, *index;
  ptrdiff_t sx[5], sy[5], si[5]; /* by n, channel, and three axes */
  int64_t planes, blocks; /* on a CPU: planes, of one image, that a row of results takes together; rows for all channels */
} rm_pool_problem;

/* The sources of one result. */
typedef struct {
  const rm_pool_problem *pool;
  const char *plane;
  int64_t first[3], end[3];
} rm_pool_window;

/* The arguments of a public function. sx, sy, si: the strides of the arrays in bytes, by batch, channel and the axes of the
 * pool. */
typedef struct {
  int format, average, backward, include_pad;
  int64_t divisor;
  const rm_pool *pool;
  const void *x;
  void *y;
  int64_t *index;
  const ptrdiff_t *sx, *sy, *si;
} rm_pool_call;

/* Their status; *f but for the tables of its axes. f->images is 0 where there is nothing to do. */
rm_status rm_pool_check(rm_pool_problem *f, const rm_pool_call *call);

/* The tables of the axes: their room in numbers, their addresses, and (rm_pool_set_entry) entry r of axis k, for r from 0 to
 * rm_pool_entries - 1. */
static inline int64_t rm_pool_entries(const rm_pool_problem *f, int k) {
  const int64_t in = f->windows.in[k], out = f->windows.out[k];
  return in > out ? in : out;
}
static inline int64_t rm_pool_room(const rm_pool_problem *f) {
  return 4 * (rm_pool_entries(f, 0) + rm_pool_entries(f, 1) + rm_pool_entries(f, 2));
}
static inline void rm_pool_set_tables(rm_pool_problem *f, int64_t *memory) {
  for (int k = 0; k < 3; k++) {
    const int64_t n = rm_pool_entries(f, k);
    rm_pool_axis *a = &f->axis[k];
    a->first = memory, a->count = memory + n, a->divisor = memory + 2 * n, a->same = memory + 3 * n;
    memory += 4 * n;
  }
}

RM_FN int64_t rm_pool_min(int64_t a, int64_t b) { return a < b ? a : b; }
RM_FN int64_t rm_pool_max(int64_t a, int64_t b) { return a > b ? a : b; }
RM_FN int64_t rm_pool_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* [*first, *end): the r-th of `to` adaptive windows over `from` elements. */
RM_FN void rm_pool_adapt(int64_t r, int64_t from, int64_t to, int64_t *first, int64_t *end) {
  *first = (int64_t)((rm_u128)r * (rm_u128)from / (rm_u128)to);
  *end = (int64_t)(((rm_u128)(r + 1) * (rm_u128)from + (rm_u128)(to - 1)) / (rm_u128)to);
}

/* The window of output r. Coordinates stay below 2^62: rm_pool_check has bounded the sizes. */
RM_FN void rm_pool_output(const rm_pool_problem *f, int k, int64_t r, int64_t *first, int64_t *count, int64_t *divisor) {
  const rm_pool *p = &f->windows;
  const int64_t in = p->in[k];
  if (p->adaptive) {
    int64_t end;
    rm_pool_adapt(r, in, p->out[k], first, &end);
    *divisor = *count = end - *first;
    return;
  }
  const int64_t start = r * p->stride[k] - p->padding[k], step = p->dilation[k], kernel = p->kernel[k];
  const int64_t before = start < 0 ? rm_pool_min(rm_pool_ceil_div(-start, step), kernel) : 0;
  const int64_t inside = start < in ? rm_pool_min(kernel, rm_pool_ceil_div(in - start, step)) : 0;
  *first = inside > before ? start + before * step : 0;
  *count = rm_pool_max(inside - before, 0);
  *divisor = f->include_pad ? rm_pool_max(rm_pool_min(kernel, in + p->padding[k] - start), 0) : *count;
}

/* The outputs whose windows element r of x is in: contiguous, since the bounds of windows do not decrease. Output o has it
 * when o stride - padding <= r < o stride - padding + kernel; of adaptive ones, when o in/out < r + 1 and (o + 1) in/out > r,
 * which is a window of as many outputs over as many elements. */
RM_FN void rm_pool_meeting(const rm_pool_problem *f, int k, int64_t r, int64_t *first, int64_t *count) {
  const rm_pool *p = &f->windows;
  int64_t end;
  if (p->adaptive) {
    rm_pool_adapt(r, p->out[k], p->in[k], first, &end);
  } else {
    const int64_t at = r + p->padding[k], beyond = at - p->kernel[k];
    *first = rm_pool_min(beyond < 0 ? 0 : beyond / p->stride[k] + 1, p->out[k]);
    end = rm_pool_min(at / p->stride[k] + 1, p->out[k]);
  }
  *count = rm_pool_max(end - *first, 0);
}

RM_FN void rm_pool_set_entry(const rm_pool_problem *f, int k, int64_t r) {
  const rm_pool_axis *a = &f->axis[k];
  int64_t first, count;
  if (!f->backward) {
    if (r < a->results) rm_pool_output(f, k, r, &a->first[r], &a->count[r], &a->divisor[r]);
    return;
  }
  if (r < a->sources) rm_pool_output(f, k, r, &first, &count, &a->divisor[r]);
  if (r >= a->results) return;
  rm_pool_meeting(f, k, r, &a->first[r], &a->count[r]);
  int64_t one = 0, other;
  a->same[r] = 1;
  for (int64_t o = a->first[r]; o < a->first[r] + a->count[r]; o++) {
    rm_pool_output(f, k, o, &first, &count, o == a->first[r] ? &one : &other);
    if (o > a->first[r]) a->same[r] &= other == one;
  }
}

RM_FN const char *rm_pool_element(const rm_pool_problem *f, const char *plane, int64_t a, int64_t b, int64_t c) {
  return plane + a * f->sx[2] + b * f->sx[3] + c * f->sx[4];
}

/* Whether u comes before v as a window's greatest number, where v was met first. */
RM_FN int rm_pool_is_greater(double u, double v) { return u > v || (rm_is_nan(u) && !rm_is_nan(v)); }
