/* Weights given by a direction v and a length g, g v/|v|, and their gradients, of rows of binary32: loops over vectors,
 * compiled once per ISA. direction.c has the definition, which rounds to binary64 step by step, and the bounds. */
#pragma once

#include "../rows/step.h"

/* The sum of the lanes, in three additions at most. */
RM_FN double rm_direction_lanes(vf64 v) {
  double t[RM_LANES];
  vf64_store(t, v);
  for (int half = RM_LANES / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) t[k] += t[k + half];
  return t[0];
}
/* That of a running sum; the errors of an infinite one are NaN. */
RM_FN double rm_direction_total(const rm_row_sum *s) {
  const double total = rm_direction_lanes(vf64_add(s->hi, s->lo));
  return rm_is_finite(total) ? total : rm_direction_lanes(s->hi);
}

/* Rows that fit into one vector have no loop: fewer additions are within the bounds. */
RM_FN int rm_direction_is_one(int64_t n) { return RM_LANES > 1 && n <= RM_LANES; }

/* Sums of v^2 and, where r is not NULL, of r v and r^2, all of whose terms are exact. */
RM_FN void rm_direction_sums_of(int64_t n, const float *v, const float *r, const int gradient, double *sums) {
  enum { STEP = 4 * RM_LANES };
  const int count = gradient ? 3 : 1;
  float whole[2][STEP];
  rm_row_sum s[3];
  if (rm_direction_is_one(n)) {
    const float *p = v, *q = r;
    if (n < RM_LANES) {
      __builtin_memset(whole, 0, sizeof whole);
      __builtin_memcpy(whole[0], v, (size_t)n * sizeof(float));
      if (gradient) __builtin_memcpy(whole[1], r, (size_t)n * sizeof(float));
      p = whole[0], q = whole[1];
    }
    const vf64 x = vf64_load_f32(p);
    sums[0] = rm_direction_lanes(vf64_mul(x, x));
    if (!gradient) return;
    const vf64 y = vf64_load_f32(q);
    sums[1] = rm_direction_lanes(vf64_mul(x, y)), sums[2] = rm_direction_lanes(vf64_mul(y, y));
    return;
  }
  for (int j = 0; j < 3; j++) s[j].hi = s[j].lo = vf64_set1(0.0);
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 t[3][4];
    RM_UNROLL for (int c = 0; c < 4; c++) t[0][c] = t[1][c] = t[2][c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += STEP) {
      const float *p = v + k, *q = gradient ? r + k : NULL;
      if (k + STEP > end) {
        const size_t bytes = (size_t)(end - k) * sizeof(float);
        __builtin_memset(whole, 0, sizeof whole);
        __builtin_memcpy(whole[0], p, bytes);
        if (gradient) __builtin_memcpy(whole[1], q, bytes);
        p = whole[0], q = whole[1];
      }
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const vf64 x = vf64_load_f32(p + c * RM_LANES);
        t[0][c] = vf64_mad(x, x, t[0][c]);
        if (gradient) {
          const vf64 y = vf64_load_f32(q + c * RM_LANES);
          t[1][c] = vf64_mad(x, y, t[1][c]);
          t[2][c] = vf64_mad(y, y, t[2][c]);
        }
      }
    }
    for (int j = 0; j < count; j++) rm_row_join(&s[j], t[j]);
  }
  for (int j = 0; j < count; j++) sums[j] = rm_direction_total(&s[j]);
}
static void rm_direction_sums(int64_t n, const float *v, const float *r, double *sums) {
  if (r) rm_direction_sums_of(n, v, r, 1, sums);
  else rm_direction_sums_of(n, v, NULL, 0, sums);
}

/* One step of a row: v, or r - v by, times g, over the length, each rounded to binary64; or that times `scale`, within
 * rel of itself and |v| err. Returns whether the bounds leave a lane open. */
RM_FN int rm_direction_step(const rm_direction_row *d, const float *v, const float *r, float *out, const int gradient,
                            const int exact) {
  vf64 x = vf64_load_f32(v), y = x;
  if (gradient) y = vf64_sub(vf64_load_f32(r), vf64_mul(x, vf64_set1(d->by)));
  if (exact) {
    y = vf64_div(vf64_mul(y, vf64_set1(d->g)), vf64_set1(d->length));
    vf64_decide_machine(y, &y);
    vf64_store_f32(out, y);
    return 0;
  }
  y = vf64_mul(y, vf64_set1(d->scale));
  const vf64 bound = vf64_set1(RM_BOUND(1.0)), rel = vf64_mul(vf64_set1(d->rel), bound);
  if (!gradient) { /* of a zero, both ends have its sign */
    const vf64 one = vf64_set1(1.0);
    return vf64_store_between_f32(out, vf64_mul(y, vf64_sub(one, rel)), vf64_mul(y, vf64_add(one, rel))) != 0;
  }
  const vf64 err = vf64_mad(vf64_abs(x), vf64_mul(vf64_set1(d->err), bound), vf64_mul(vf64_abs(y), rel));
  return vf64_store_between_f32(out, vf64_sub(y, err), vf64_add(y, err)) != 0;
}

RM_FN int rm_direction_store_of(const rm_direction_row *d, const int gradient, const int exact) {
  int open = 0;
  int64_t i = 0;
  for (; i + RM_LANES <= d->n; i += RM_LANES)
    open |= rm_direction_step(d, d->v + i, gradient ? d->r + i : NULL, d->out + i, gradient, exact);
  if (i < d->n) {
    const size_t bytes = (size_t)(d->n - i) * sizeof(float);
    float v[RM_LANES] = {0}, r[RM_LANES] = {0}, out[RM_LANES];
    __builtin_memcpy(v, d->v + i, bytes);
    if (gradient) __builtin_memcpy(r, d->r + i, bytes);
    open |= rm_direction_step(d, v, r, out, gradient, exact);
    __builtin_memcpy(d->out + i, out, bytes);
  }
  return open;
}
static int rm_direction_store(const rm_direction_row *d) {
  if (d->exact) return d->r ? rm_direction_store_of(d, 1, 1) : rm_direction_store_of(d, 0, 1);
  return d->r ? rm_direction_store_of(d, 1, 0) : rm_direction_store_of(d, 0, 0);
}
