/* Vector loops over rows of binary64, compiled once per ISA; kernels.h says what they promise.
 *
 * Exponentials: rm_exp_sixteenths with |c x| <= 2^12, twice its domain. Its error budget (crlibm/exp/exp_f32.h) with the two terms
 * that grow with |c x| doubled is 2^-46.66 + 2^-46.52 + 2^-46.62 + 2^-51 < 2^-44.9; x - shift, below 2^8 in magnitude, is
 * rounded by at most 2^-46: together below RM_ROW_EXP_ERR.
 * Sums: a block of RM_ROW_CHAIN vectors for each of four accumulators, two joining additions, then blocks by two-sums: a relative
 * (32 + 2) 2^-53 (1 + 2^-40) and, of the compensated sum, less than 2^-80 for n below 2^40. For exponentials 2^-44 + 2^-47.9 <
 * RM_ROW_SUM_ERR; for moments, where x - shift and products round by at most 5 2^-53 more, (34 + 5) 2^-53 (1 + 2^-30) < RM_ROW_MOMENT_ERR. */
#ifndef RM_NN_ROWS_H
#define RM_NN_ROWS_H

#include "../../crlibm/exp/exp_f32.h"
#include "../../crlibm/simd/machine.h"
#include "../reduce/elements.h"
#include "kernels.h"

enum { RM_ROW_CHAIN = 32, RM_ROW_BLOCK = 4 * RM_ROW_CHAIN * RM_LANES };

RM_FN void rm_row_load_as(int64_t n, const char *x, ptrdiff_t stride, const int fmt, double pad, double *to) {
  int64_t i = 0;
  if (stride == rm_size_of(fmt))
    for (; i + RM_LANES <= n; i += RM_LANES) vf64_store(to + i, rm_load_elements(x + i * stride, fmt));
  for (; i < n; i++) to[i] = rm_read_element(x + i * stride, fmt);
  for (; i == 0 || i % RM_ROW_PAD; i++) to[i] = pad;
}
static void rm_row_load(int64_t n, const char *x, ptrdiff_t stride, int fmt, double pad, double *to) {
  switch (fmt) {
    case RM_F16: rm_row_load_as(n, x, stride, RM_F16, pad, to); break;
    case RM_BF16: rm_row_load_as(n, x, stride, RM_BF16, pad, to); break;
    case RM_F32: rm_row_load_as(n, x, stride, RM_F32, pad, to); break;
    default: rm_row_load_as(n, x, stride, RM_F64, pad, to);
  }
}

static double rm_row_greatest(int64_t n, const double *x) {
  vf64 m[4];
  vm64 bad = vf64_unord(vf64_load(x), vf64_load(x));
  RM_UNROLL for (int c = 0; c < 4; c++) m[c] = vf64_load(x + c * RM_LANES);
  for (int64_t i = 0; i < n; i += 4 * RM_LANES) {
    RM_UNROLL for (int c = 0; c < 4; c++) {
      const vf64 v = vf64_load(x + i + c * RM_LANES);
      bad = vm64_or(bad, vf64_unord(v, v));
      m[c] = vf64_max(m[c], v);
    }
  }
  double t[RM_LANES], most;
  vf64_store(t, vf64_max(vf64_max(m[0], m[1]), vf64_max(m[2], m[3])));
  if (!vm64_none(bad)) return rm_from_bits64(rm_nan_bits(RM_F64));
  most = t[0];
  for (int k = 1; k < RM_LANES; k++) most = t[k] > most ? t[k] : most;
  return most;
}

/* A running sum that blocks are joined to. */
typedef struct {
  vf64 hi, lo;
} rm_row_sum;
RM_FN void rm_row_join(rm_row_sum *sum, const vf64 *part) {
  vf64 e;
  sum->hi = vf64_two_sum(sum->hi, vf64_add(vf64_add(part[0], part[1]), vf64_add(part[2], part[3])), &e);
  sum->lo = vf64_add(sum->lo, e);
}
RM_FN double rm_row_total(const rm_row_sum *sum) {
  double h[RM_LANES], l[RM_LANES], hi = 0.0, lo = 0.0;
  vf64_store(h, sum->hi);
  vf64_store(l, sum->lo);
  for (int k = 0; k < RM_LANES; k++) {
    const double s = hi + h[k], t = s - hi;
    lo += ((hi - (s - t)) + (h[k] - t)) + l[k];
    hi = s;
  }
  return hi + lo;
}

/* e^x for RM_ROW_EXP_LEAST <= x <= 170, else 0 below and for NaN. */
RM_FN vf64 rm_row_exp(vf64 x) {
  const vm64 within = vf64_le(vf64_set1(RM_ROW_EXP_LEAST), x);
  return vf64_select(within, rm_exp_sixteenths(x, RM_EXP_INV_STEP), vf64_set1(0.0));
}

static double rm_row_exponentials(int64_t n, const double *x, double shift, double *e) {
  const vf64 m = vf64_set1(shift);
  rm_row_sum sum = {vf64_set1(0.0), vf64_set1(0.0)};
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 s[4];
    RM_UNROLL for (int c = 0; c < 4; c++) s[c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += 4 * RM_LANES) {
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const vf64 v = rm_row_exp(vf64_sub(vf64_load(x + k + c * RM_LANES), m));
        vf64_store(e + k + c * RM_LANES, v);
        s[c] = vf64_add(s[c], v);
      }
    }
    rm_row_join(&sum, s);
  }
  return rm_row_total(&sum);
}

static void rm_row_moments(int64_t n, const double *x, double shift, double *total, double *square) {
  const vf64 m = vf64_set1(shift);
  rm_row_sum s = {vf64_set1(0.0), vf64_set1(0.0)}, q = s;
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 a[4], b[4];
    RM_UNROLL for (int c = 0; c < 4; c++) a[c] = b[c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += 4 * RM_LANES) {
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const vf64 v = vf64_sub(vf64_load(x + k + c * RM_LANES), m);
        a[c] = vf64_add(a[c], v);
        b[c] = vf64_mad(v, v, b[c]);
      }
    }
    rm_row_join(&s, a);
    rm_row_join(&q, b);
  }
  *total = rm_row_total(&s);
  *square = rm_row_total(&q);
}

static void rm_row_weighted(int64_t n, const double *g, const double *w, const double *x, double shift, double *h, double *sums) {
  const vf64 m = vf64_set1(shift);
  rm_row_sum s[3];
  for (int j = 0; j < 3; j++) s[j].hi = s[j].lo = vf64_set1(0.0);
  for (int64_t i = 0; i < n; i += RM_ROW_BLOCK) {
    const int64_t end = i + RM_ROW_BLOCK < n ? i + RM_ROW_BLOCK : n;
    vf64 t[3][4];
    RM_UNROLL for (int c = 0; c < 4; c++) t[0][c] = t[1][c] = t[2][c] = vf64_set1(0.0);
    for (int64_t k = i; k < end; k += 4 * RM_LANES) {
      RM_UNROLL for (int c = 0; c < 4; c++) {
        const int64_t at = k + c * RM_LANES;
        const vf64 p = vf64_mul(vf64_load(g + at), vf64_load(w + at));
        vf64_store(h + at, p);
        t[0][c] = vf64_add(t[0][c], p);
        t[1][c] = vf64_mad(p, p, t[1][c]);
        t[2][c] = vf64_mad(p, vf64_sub(vf64_load(x + at), m), t[2][c]);
      }
    }
    for (int j = 0; j < 3; j++) rm_row_join(&s[j], t[j]);
  }
  for (int j = 0; j < 3; j++) sums[j] = rm_row_total(&s[j]);
}

static void rm_row_columns(int64_t n, const double *g, const double *x, double c, double a, double rel, double err, double *sum,
                           double *bound) {
  const vf64 c0 = vf64_set1(c), a0 = vf64_set1(a), rel0 = vf64_set1(rel), err0 = vf64_set1(err);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 v = vf64_load(g + i), t = vf64_mul(v, vf64_mul(vf64_sub(vf64_load(x + i), c0), a0));
    vf64_store(sum + i, vf64_add(vf64_load(sum + i), t));
    vf64_store(bound + i, vf64_mad(vf64_abs(t), rel0, vf64_mad(vf64_abs(v), err0, vf64_load(bound + i))));
  }
}

/* The value of an operation at i and a bound of its error, which includes 2^-52 of the value for the test. u is 2^-53.
 *   SCALED    rel of the value: that of u, of a, one rounding, and 2^-52; err: what u a may be where u counts as 0
 *   SHIFTED   err: that of a. u - c and the value are rounded, each within u of it: 2^-51 of each covers this and the test
 *   WEIGHTED  err: that of a. u - a and the product are rounded: |v| (|u - a| 2^-50 + err)
 *   LESS_EXP  rel of e^v a; 2^-51 of the value; err: what e^v a may be where e^v counts as 0
 *   DIFFERENCE |u a| rel + |v| slope + err: each includes d, the roundings, and 2^-52 of the value
 *   AFFINE    rel of (u - c) a, err: that of c times a: |w| (|(u - c) a| rel + err) + 2^-51 of the value; rel includes the roundings
 *   CENTERED  |u - c| rel + |v - d| slope + err: each includes a, the roundings, and 2^-52 of the value */
RM_FN vf64 rm_row_value(const int op, const rm_row_store *s, int64_t i, vf64 *err) {
  const vf64 u = vf64_load(s->u + i), a = vf64_set1(s->a);
  vf64 y, t;
  switch (op) {
    case RM_ROW_SCALED:
      y = vf64_mul(u, a);
      *err = vf64_mad(vf64_abs(y), vf64_set1(s->rel), vf64_set1(s->err));
      return y;
    case RM_ROW_SHIFTED:
      t = vf64_sub(u, vf64_set1(s->c));
      y = vf64_sub(t, a);
      *err = vf64_mad(vf64_add(vf64_abs(t), vf64_abs(y)), vf64_set1(0x1p-51), vf64_set1(s->err));
      return y;
    case RM_ROW_WEIGHTED:
      t = vf64_sub(u, a);
      y = vf64_load(s->v + i);
      *err = vf64_mul(vf64_abs(y), vf64_mad(vf64_abs(t), vf64_set1(0x1p-50), vf64_set1(s->err)));
      return vf64_mul(y, t);
    case RM_ROW_LESS_EXP:
      t = vf64_mul(rm_row_exp(vf64_load(s->v + i)), a);
      y = vf64_sub(u, t);
      *err = vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_mad(vf64_abs(y), vf64_set1(0x1p-51), vf64_set1(s->err)));
      return y;
    case RM_ROW_DIFFERENCE: {
      const vf64 v = vf64_load(s->v + i);
      t = vf64_mul(u, a);
      y = vf64_mul(vf64_sub(t, v), vf64_set1(s->d));
      *err = vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_mad(vf64_abs(v), vf64_set1(s->slope), vf64_set1(s->err)));
      return y;
    }
    case RM_ROW_AFFINE: {
      const vf64 w = vf64_load(s->w + i);
      t = vf64_mul(vf64_sub(u, vf64_set1(s->c)), a);
      y = vf64_mad(t, w, vf64_load(s->b + i));
      *err = vf64_mad(vf64_abs(w), vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_set1(s->err)), vf64_mul(vf64_abs(y), vf64_set1(0x1p-51)));
      return y;
    }
    case RM_ROW_AFFINE_SAME: {
      const vf64 w = vf64_set1(s->w0);
      t = vf64_mul(vf64_sub(u, vf64_set1(s->c)), a);
      y = vf64_mad(t, w, vf64_set1(s->b0));
      *err = vf64_mad(vf64_abs(w), vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_set1(s->err)), vf64_mul(vf64_abs(y), vf64_set1(0x1p-51)));
      return y;
    }
    case RM_ROW_GIVEN: *err = vf64_load(s->v + i); return u;
    default: {
      const vf64 g = vf64_sub(u, vf64_set1(s->c));
      t = vf64_sub(vf64_load(s->v + i), vf64_set1(s->d));
      y = vf64_mul(vf64_sub(g, vf64_mul(t, vf64_set1(s->b0))), a);
      *err = vf64_mad(vf64_abs(g), vf64_set1(s->rel), vf64_mad(vf64_abs(t), vf64_set1(s->slope), vf64_set1(s->err)));
      return y;
    }
  }
}

RM_FN void rm_row_put(vf64 y, const int fmt, void *out, int64_t i, int64_t n) {
  unsigned char tail[8 * RM_LANES];
  char *at = (char *)out + i * rm_size_of(fmt);
  void *to = i + RM_LANES <= n ? (void *)at : (void *)tail;
  switch (fmt) {
    case RM_F16: vf64_store_f16((uint16_t *)to, y); break;
    case RM_BF16: vf64_store_bf16((uint16_t *)to, y); break;
    default: vf64_store_f32((float *)to, y);
  }
  if (i + RM_LANES > n) __builtin_memcpy(at, tail, (size_t)(n - i) * (size_t)rm_size_of(fmt));
}

/* The vector test leaves about 2^-10 of all numbers open in a 16-bit format (simd/undecided.h). This one takes the bound as it is. */
RM_COLD int rm_row_decide(double y, double err, int fmt, uint64_t *bits) {
  uint32_t flags = 0;
  int undecided;
  if (!(y - y == 0.0 && err <= 0x1p-9 * __builtin_fabs(y) && y != 0.0)) return 0;
  *bits = rm_round_dd(y, 0.0, err, 0, fmt, RM_NEAREST, &flags, &undecided);
  return !undecided && flags == 0;
}

/* An exact zero is +0. A value whose sign the bound leaves open is open even where both roundings are zeros. */
RM_FN int64_t rm_row_store_as(const int op, const int fmt, const rm_row_store *s) {
  int64_t count = 0;
  for (int64_t i = 0; i < s->n; i += RM_LANES) {
    vf64 err;
    const vf64 y = vf64_add(rm_row_value(op, s, i, &err), vf64_set1(0.0));
    err = vf64_mul(err, vf64_set1(RM_BOUND(1.0)));
    const vm64 undecided = vm64_or(vm64_or(vf64_undecided_within(y, err, fmt), vf64_overflows(y, fmt)), vf64_lt(vf64_abs(y), err));
    rm_row_put(y, fmt, s->out, i, s->n);
    if (__builtin_expect(vm64_none(undecided), 1)) continue;
    const uint32_t bits = vm64_bits(undecided);
    double value[RM_LANES], bound[RM_LANES];
    vf64_store(value, y);
    vf64_store(bound, err);
    for (int k = 0; k < RM_LANES && i + k < s->n; k++) {
      uint64_t result;
      if (!(bits >> k & 1)) continue;
      if (fmt != RM_F32 && rm_row_decide(value[k], bound[k], fmt, &result))
        rm_write_bits((char *)s->out + (i + k) * rm_size_of(fmt), result, fmt);
      else
        s->open[count++] = i + k;
    }
  }
  return count;
}

#define RM_ROW_FORMATS(op)                                   \
  case op:                                                   \
    switch (s->fmt) {                                        \
      case RM_F16: return rm_row_store_as(op, RM_F16, s);    \
      case RM_BF16: return rm_row_store_as(op, RM_BF16, s);  \
      default: return rm_row_store_as(op, RM_F32, s);        \
    }
static int64_t rm_row_round(rm_row_operation op, const rm_row_store *s) {
  switch (op) {
    RM_ROW_FORMATS(RM_ROW_SCALED)
    RM_ROW_FORMATS(RM_ROW_SHIFTED)
    RM_ROW_FORMATS(RM_ROW_WEIGHTED)
    RM_ROW_FORMATS(RM_ROW_LESS_EXP)
    RM_ROW_FORMATS(RM_ROW_DIFFERENCE)
    RM_ROW_FORMATS(RM_ROW_AFFINE)
    RM_ROW_FORMATS(RM_ROW_AFFINE_SAME)
    RM_ROW_FORMATS(RM_ROW_CENTERED)
    RM_ROW_FORMATS(RM_ROW_GIVEN)
    default: return 0;
  }
}

#endif
