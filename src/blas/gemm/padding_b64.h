/* Elements that are NaN in the engine's sums, where padding counts as zeros, although padding adds no product: zeros beside
 * an infinity or a NaN are not what the definition asks for. Their products are added again without padding, some rows of a
 * panel of columns together.
 *
 * What is asked of these sums is whether they are infinite or NaN: finite products do not overflow binary64. A NaN that no
 * operand brought is an invalid operation (rm_nan_flags). Signalling NaNs, and sums that are finite, are left to the tiers
 * that take one element. */
#pragma once

#include "resolve_b64.h"
#include "vectors_b64.h"

enum { RM_PADDING_ROWS = 4 * RM_MR, RM_PADDING_K = 4 * RM_LANES };

/* Columns [j, j + cols) of a panel, k in [k, k + n): lane c of a mask is column j + c. Vectors may reach over the last
 * column, into lanes that nobody asks for. */
typedef struct {
  double b[RM_PADDING_K * RM_NR], mask[RM_PADDING_K * RM_NR + RM_NR]; /* k after k: RM_NR, and `cols` */
  int cols;
  uint32_t there[RM_PADDING_K], nan[RM_PADDING_K]; /* what is no padding; of that what is NaN */
} rm_padding_columns;

typedef struct {
  int64_t i; /* of the block */
  uint32_t lanes, quiet; /* asked for; NaN since an operand is */
  int signals; /* the row has a signalling NaN */
  double sums[RM_NR];
} rm_padding_row;

/* rm_im2col_fill of k after k, in the order in which the view has neighbours. */
static void rm_padding_fill(const rm_im2col *view, const char *base, int size, int64_t column, int cols, int64_t k, int n,
                            char *dst) {
  if (view->rows_adjacent) {
    rm_im2col_fill(view, base, size, 1, column, cols, k, n, dst);
    return;
  }
  char by_column[RM_PADDING_K * RM_NR * 8];
  rm_im2col_fill(view, base, size, 0, column, cols, k, n, by_column);
  for (int q = 0; q < n; q++)
    for (int c = 0; c < cols; c++)
      __builtin_memcpy(dst + (q * cols + c) * size, by_column + (c * n + q) * size, (size_t)size);
}

RM_FN void rm_padding_columns_make(rm_padding_columns *s, const rm_matmul_problem *p, int64_t column, int64_t k, int n,
                                   const int fmt) {
  const rm_operand *o = &p->b;
  const int size = rm_size_of(fmt), cols = s->cols;
  char stage[(RM_PADDING_K + 1) * RM_NR * 4] = {0};
  if (o->im2col) {
    rm_padding_fill(o->im2col, o->base, size, column, cols, k, n, stage);
    rm_padding_fill(o->im2col, 0, 8, column, cols, k, n, (char *)s->mask);
  } else {
    for (int q = 0; q < n; q++)
      for (int c = 0; c < cols; c++) {
        const char *at = o->base + (column + c) * o->row_stride + (k + q) * o->k_stride;
        __builtin_memcpy(stage + (q * cols + c) * size, at, (size_t)size);
      }
    __builtin_memset(s->mask, 0xff, sizeof s->mask);
  }
  for (int q = 0; q < n; q++) {
    uint32_t there = 0, nan = 0;
    for (int v = 0; v < RM_NV; v++) {
      const int at = q * cols + v * RM_LANES;
      const vf64 x = rm_load_elements(stage + at * size, fmt);
      const vi64 mask = vf64_bits(vf64_load(s->mask + at));
      vf64_store(s->b + q * RM_NR + v * RM_LANES, x);
      there |= vm64_bits(vm64_not(vi64_eq(mask, vi64_set1(0)))) << v * RM_LANES;
      nan |= vm64_bits(vf64_unord(x, x)) << v * RM_LANES;
    }
    s->there[q] = there, s->nan[q] = nan & there;
  }
}

static void rm_padding_row_add(rm_padding_row *t, const rm_padding_columns *s, const rm_matmul_problem *p, int64_t row,
                               int64_t k, int n) {
  const rm_operand *o = &p->a;
  double a[RM_PADDING_K], mask[RM_PADDING_K];
  rm_gather(a, o, row, k, n, 1.0, p->fmt);
  if (o->im2col) rm_im2col_fill(o->im2col, 0, 8, 0, row, 1, k, n, (char *)mask);
  for (int q = 0; q < n; q++) {
    if (o->im2col && rm_bits64(mask[q]) == 0) continue;
    t->quiet |= rm_is_nan(a[q]) ? s->there[q] : s->nan[q];
  }
  for (int v = 0; v < RM_NV; v++) {
    if (!(t->lanes >> v * RM_LANES & ((1u << RM_LANES) - 1))) continue;
    vf64 sum = vf64_load(t->sums + v * RM_LANES);
    for (int q = 0; q < n; q++) {
      if (o->im2col && rm_bits64(mask[q]) == 0) continue;
      const vf64 product = vf64_mul(vf64_set1(a[q]), vf64_load(s->b + q * RM_NR + v * RM_LANES));
      const vi64 there = vf64_bits(vf64_load(s->mask + q * s->cols + v * RM_LANES));
      sum = vf64_add(sum, vf64_from_bits(vi64_and(vf64_bits(product), there)));
    }
    vf64_store(t->sums + v * RM_LANES, sum);
  }
}

RM_FN uint32_t rm_padding_nans(const rm_padding_row *t) {
  uint32_t bits = 0;
  for (int v = 0; v < RM_NV; v++) {
    const vf64 x = vf64_load(t->sums + v * RM_LANES);
    bits |= vm64_bits(vf64_unord(x, x)) << v * RM_LANES;
  }
  return bits;
}

/* Whether the result of all lanes is known: those that are NaN stay so, and only what an operand brought could show that no
 * exception is due. */
RM_FN int rm_padding_is_known(const rm_padding_row *t, const rm_resolver *r) {
  const uint32_t nan = t->quiet | (r->flags & RM_FLAG_INVALID ? rm_padding_nans(t) : 0);
  return (t->lanes & ~nan) == 0;
}

static void rm_padding_row_write(const rm_padding_row *t, rm_resolver *r, int64_t j, const rm_output_map *output) {
  const rm_matmul_problem *p = r->p;
  const int fmt = p->out_fmt;
  for (uint32_t left = t->lanes; left; left &= left - 1) {
    const int l = __builtin_ctz(left);
    const double sum = t->sums[l];
    const int quiet = t->quiet >> l & 1;
    uint64_t bits;
    if (t->signals || (r->cols[j + l].classes & RM_ACC_SNAN)) {
      const double nan = rm_from_bits64(rm_nan_bits(RM_F64));
      const char *at = rm_bias_at(p, r->block->row + t->i, r->block->col + j + l);
      rm_decide_element_b64(r, t->i, j + l, nan, nan, p->bias.base ? rm_read_element(at, p->fmt) : 0.0, &bits);
    } else if (!quiet && rm_is_finite(sum)) {
      bits = rm_exact_element(p, r->block->row + t->i, r->block->col + j + l, &r->flags);
      r->tiers->accumulator++;
    } else {
      bits = rm_infinity_bits(fmt) | (sum < 0.0 ? rm_sign_bit(fmt) : 0);
      if (quiet || rm_is_nan(sum)) bits = rm_nan_bits(fmt);
      if (!quiet && rm_is_nan(sum)) r->flags |= RM_FLAG_INVALID;
      r->tiers->fast++;
    }
    rm_write_bits(rm_output_at(output, t->i, j + l), bits, fmt);
  }
}

/* Resolves `count` rows of the panel of columns [j, j + cols) of the block, whose index and lanes are given. */
static void rm_resolve_beside_padding(rm_padding_row *rows, int count, rm_resolver *r, int64_t j, int cols,
                                      const rm_output_map *output) {
  const rm_matmul_problem *p = r->p;
  rm_padding_columns s;
  s.cols = cols;
  __builtin_memset(s.mask, 0, sizeof s.mask);
  rm_know_columns(r, j, cols, RM_KNOWN_CLASSES);
  for (int e = 0; e < count; e++) {
    rm_padding_row *t = rows + e;
    t->quiet = 0;
    t->signals = (rm_row_classes(r, t->i)->classes & RM_ACC_SNAN) != 0;
    for (int c = 0; c < RM_NR; c++) t->sums[c] = 0.0;
    for (int c = 0; p->bias.base && c < cols; c++) {
      const uint64_t bits = rm_read_bits(rm_bias_at(p, r->block->row + t->i, r->block->col + j + c), p->fmt);
      t->sums[c] = rm_to_double(bits, p->fmt);
      if (!rm_is_nan(t->sums[c])) continue;
      t->quiet |= 1u << c;
      t->signals |= rm_is_signalling(bits, p->fmt);
    }
  }
  int unknown = 1;
  for (int64_t k = 0; k < p->k && unknown; k += RM_PADDING_K) {
    const int n = rm_min_int(p->k - k, RM_PADDING_K);
    switch (p->fmt) {
      case RM_F16: rm_padding_columns_make(&s, p, r->block->col + j, k, n, RM_F16); break;
      case RM_BF16: rm_padding_columns_make(&s, p, r->block->col + j, k, n, RM_BF16); break;
      default: rm_padding_columns_make(&s, p, r->block->col + j, k, n, RM_F32);
    }
    unknown = 0;
    for (int e = 0; e < count; e++) {
      if (rm_padding_is_known(rows + e, r)) continue;
      rm_padding_row_add(rows + e, &s, p, r->block->row + rows[e].i, k, n);
      unknown = 1;
    }
  }
  for (int e = 0; e < count; e++) rm_padding_row_write(rows + e, r, j, output);
}
