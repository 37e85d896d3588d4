/* softmax, log_softmax and the gradient of softmax along columns of binary32: RM_COLUMNS neighbouring columns have a lane
 * each, so that nothing is turned, and few elements in a column cost no more than many. Compiled once per ISA.
 *
 * Sums: a chain of RM_ROW_CHAIN terms for each lane, then chains by two-sums. That is no more roundings than in a row
 * (rows/step.h), so that RM_ROW_SUM_ERR and RM_ROW_MOMENT_ERR hold, and so do the bounds of results that softmax/row.h
 * derives. Columns in which a bound leaves a result open are left to the function of a row. */
#pragma once

#include "../../../crlibm/log1p/log1p_b64.h"
#include "../rows/step.h"

enum { RM_COLUMN_VECTORS = RM_COLUMNS / RM_LANES };

RM_FN vf64 rm_columns_load(const char *x, int c) { return vf64_load_f32((const float *)(const void *)x + c * RM_LANES); }

/* Whether one of the elements of the columns is a signalling NaN. */
RM_NOINLINE int rm_columns_signalling(int64_t n, const char *x, ptrdiff_t stride) {
  uint32_t any[RM_COLUMNS] = {0}, all = 0; /* the highest bit of a difference says that it is negative */
  for (int64_t k = 0; k < n; k++) {
    uint32_t bits[RM_COLUMNS];
    __builtin_memcpy(bits, x + k * stride, sizeof bits);
    for (int j = 0; j < RM_COLUMNS; j++) {
      const uint32_t size = bits[j] & 0x7fffffff;
      any[j] |= (0x7f800000 - size) & (size - 0x7fc00000);
    }
  }
  for (int j = 0; j < RM_COLUMNS; j++) all |= any[j];
  return all >> 31;
}

/* Stores what is within err of y, or NaN in the lanes of `special`; returns the lanes that are open. */
RM_FN uint32_t rm_columns_store(char *out, int c, vf64 y, vf64 err, vm64 special) {
  float *const to = (float *)(void *)out + c * RM_LANES;
  const vf64 off = vf64_mul(err, vf64_set1(RM_BOUND(1.0)));
  const uint32_t open = vf64_store_between_f32(to, vf64_select(special, vf64_nan(), vf64_sub(y, off)), vf64_add(y, off));
  return open & ~vm64_bits(special);
}

RM_FN uint32_t rm_columns_softmax(const rm_softmax_columns *p, const int log, double *e, uint32_t *flags) {
  enum { V = RM_COLUMN_VECTORS };
  const vf64 zero = vf64_set1(0.0), infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  vf64 m[V], hi[V], lo[V], a[V], off[V];
  vm64 bad[V], special[V], before[V];
  uint32_t open = 0, nan = 0, infinite = 0;
  RM_UNROLL for (int c = 0; c < V; c++) {
    m[c] = rm_columns_load(p->x, c);
    bad[c] = vf64_unord(m[c], m[c]);
  }
  for (int64_t k = 1; k < p->n; k++) {
    RM_UNROLL for (int c = 0; c < V; c++) {
      const vf64 v = rm_columns_load(p->x + k * p->stride_x, c);
      bad[c] = vm64_or(bad[c], vf64_unord(v, v));
      m[c] = vf64_max(m[c], v);
    }
  }
  RM_UNROLL for (int c = 0; c < V; c++) {
    const vm64 ends = vf64_eq(vf64_abs(m[c]), infinity);
    special[c] = vm64_or(bad[c], ends);
    nan |= vm64_bits(bad[c]), infinite |= vm64_bits(ends) & ~vm64_bits(bad[c]);
    before[c] = vm64_or(ends, vm64_not(ends));
    hi[c] = lo[c] = zero;
  }
  if (infinite || (nan && rm_columns_signalling(p->n, p->x, p->stride_x))) *flags |= RM_FLAG_INVALID;

  for (int64_t from = 0; from < p->n; from += RM_ROW_CHAIN) {
    const int64_t end = from + RM_ROW_CHAIN < p->n ? from + RM_ROW_CHAIN : p->n;
    vf64 s[V];
    RM_UNROLL for (int c = 0; c < V; c++) s[c] = zero;
    for (int64_t k = from; k < end; k++) {
      RM_UNROLL for (int c = 0; c < V; c++) {
        const vf64 v = rm_columns_load(p->x + k * p->stride_x, c);
        vf64 y = rm_row_exp(vf64_sub(v, m[c]));
        if (log) { /* the sum over the others: without the first that is the maximum */
          const vm64 first = vm64_and(before[c], vf64_eq(v, m[c]));
          before[c] = vm64_and(before[c], vm64_not(first));
          y = vf64_select(first, zero, y);
        } else {
          vf64_store(e + k * RM_COLUMNS + c * RM_LANES, y);
        }
        s[c] = vf64_add(s[c], y);
      }
    }
    RM_UNROLL for (int c = 0; c < V; c++) {
      vf64 err;
      hi[c] = vf64_two_sum(hi[c], s[c], &err);
      lo[c] = vf64_add(lo[c], err);
    }
  }
  RM_UNROLL for (int c = 0; c < V; c++) {
    const vf64 sum = vf64_add(hi[c], lo[c]);
    a[c] = log ? rm_log1p_of(sum) : vf64_div(vf64_set1(1.0), sum);
    off[c] = vf64_mad(a[c], vf64_set1(0x1.4p-41), vf64_set1((double)p->n * 0x1p-244));
  }
  for (int64_t k = 0; k < p->n; k++) {
    RM_UNROLL for (int c = 0; c < V; c++) {
      vf64 y, err;
      if (log) {
        const vf64 t = vf64_sub(rm_columns_load(p->x + k * p->stride_x, c), m[c]);
        y = vf64_sub(t, a[c]);
        err = vf64_mad(vf64_add(vf64_abs(t), vf64_abs(y)), vf64_set1(0x1p-51), off[c]);
      } else {
        y = vf64_mul(vf64_load(e + k * RM_COLUMNS + c * RM_LANES), a[c]);
        err = vf64_mul(y, vf64_set1(2.25 * RM_ROW_EXP_ERR));
      }
      open |= rm_columns_store(p->out + k * p->stride_out, c, y, err, special[c]) << c * RM_LANES;
    }
  }
  return open;
}

/* y (g - s), s the sum of g y, whose terms are exact, and which is exact if it has one. A column whose sum is NaN has
 * no other results: that is invalid where no operand is NaN.
 *
 * The compensated sum decides where g is near to the sum, as in softmax/row.h, which see: hi + lo with every rounding error
 * in lo, whose own additions, fewer than n = 2^13, are off by n 2^-53 (1 + 2^-40) of the sum of the errors' magnitudes, and
 * that sum by as much of itself. Where there was no error the sum is exact. */
RM_FN uint32_t rm_columns_gradient(const rm_softmax_columns *p, const int compensated, uint32_t *flags) {
  enum { V = RM_COLUMN_VECTORS };
  const vf64 zero = vf64_set1(0.0);
  vf64 hi[V], lo[V], size[V], err[V];
  vm64 bad[V], special[V];
  uint32_t open = 0, nan = 0, invalid = 0;
  RM_UNROLL for (int c = 0; c < V; c++) {
    hi[c] = lo[c] = size[c] = zero;
    bad[c] = vf64_unord(rm_columns_load(p->g, c), rm_columns_load(p->x, c));
  }
  for (int64_t from = 0; from < p->n; from += RM_ROW_CHAIN) {
    const int64_t end = from + RM_ROW_CHAIN < p->n ? from + RM_ROW_CHAIN : p->n;
    vf64 s[V];
    RM_UNROLL for (int c = 0; c < V; c++) s[c] = zero;
    for (int64_t k = from; k < end; k++) {
      RM_UNROLL for (int c = 0; c < V; c++) {
        const vf64 g = rm_columns_load(p->g + k * p->stride_g, c), y = rm_columns_load(p->x + k * p->stride_x, c);
        const vf64 t = vf64_mul(g, y);
        if (compensated) {
          vf64 rest;
          hi[c] = vf64_two_sum(hi[c], t, &rest);
          lo[c] = vf64_add(lo[c], rest);
          size[c] = vf64_add(size[c], vf64_abs(rest));
          continue;
        }
        bad[c] = vm64_or(bad[c], vf64_unord(g, y));
        s[c] = vf64_add(s[c], t);
        size[c] = vf64_add(size[c], vf64_abs(t));
      }
    }
    RM_UNROLL for (int c = 0; c < V && !compensated; c++) {
      vf64 rest;
      hi[c] = vf64_two_sum(hi[c], s[c], &rest);
      lo[c] = vf64_add(lo[c], rest);
    }
  }
  RM_UNROLL for (int c = 0; c < V; c++) {
    special[c] = vf64_unord(hi[c], hi[c]);
    nan |= vm64_bits(bad[c]), invalid |= vm64_bits(special[c]) & ~vm64_bits(bad[c]);
    hi[c] = vf64_two_sum(hi[c], lo[c], &lo[c]);
    err[c] = compensated ? vf64_mul(size[c], vf64_set1(0x1.01p-53 * (double)p->n))
             : p->n == 1 ? zero
                         : vf64_mul(size[c], vf64_set1(RM_ROW_MOMENT_ERR));
  }
  if (!compensated) { /* the plain sum has raised what is to be raised before */
    if (nan) invalid |= rm_columns_signalling(p->n, p->g, p->stride_g) || rm_columns_signalling(p->n, p->x, p->stride_x);
    if (invalid) *flags |= RM_FLAG_INVALID;
  }
  for (int64_t k = 0; k < p->n; k++) {
    RM_UNROLL for (int c = 0; c < V; c++) {
      const vf64 g = rm_columns_load(p->g + k * p->stride_g, c), y = rm_columns_load(p->x + k * p->stride_x, c);
      const vf64 d = vf64_sub(g, hi[c]), t = compensated ? vf64_sub(d, lo[c]) : d, v = vf64_add(vf64_mul(y, t), zero);
      const vf64 off = vf64_mul(vf64_abs(y), vf64_mad(vf64_abs(t), vf64_set1(0x1p-50), err[c]));
      open |= rm_columns_store(p->out + k * p->stride_out, c, v, off, special[c]) << c * RM_LANES;
    }
  }
  return open;
}

static uint32_t rm_columns_of(const rm_softmax_columns *p, double *e, uint32_t *flags) {
  if (p->kind == 2) return rm_columns_gradient(p, 0, flags) ? rm_columns_gradient(p, 1, flags) : 0;
  return p->kind == 1 ? rm_columns_softmax(p, 1, e, flags) : rm_columns_softmax(p, 0, e, flags);
}
