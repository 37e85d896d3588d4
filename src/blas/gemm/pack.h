/* Packing: `width` rows of an operand (rows of A, columns of B) become one panel of binary64 values, dst[k width + row],
 * which a microkernel reads in order. Missing rows are zero. Any stride and alignment is a matter of this file alone;
 * k_stride goes along a row, row_stride to the next one, in bytes. The format of the source is a constant at every call.
 *
 * Either norm2 is given: norm2[row] grows by the sum of the squares of these elements, each times a weight, at least first -
 * q slope, q its position in the accumulation chain (bound_b64.h), and at most 1 (at most kc + 3 roundings of relative size
 * u, and for sources below binary64 no other error: a square lies between 2^-298 and 2^256). Or scale is given: element k of
 * the row is multiplied by the power of two scale[row]. */
#pragma once

#include <stddef.h>

#include "../../common/elements.h"
#include "tile.h"
#include "../conv/im2col_view.h"
#include "panels.h"
#include "../conv/conv_window.h"

/* Packs rows whose elements of one k are neighbours in memory, as whole vectors; all have the first weight. nv is a constant
 * at every call. */
RM_FN void rm_pack_vectors(double *RM_RESTRICT dst, const int nv, int64_t kc, const char *src, ptrdiff_t k_stride,
                           const int fmt, double *norm2, rm_weights weights, const double *scale) {
  const int size = rm_size_of(fmt);
  vf64 sum[RM_PACK_MAX_VECTORS], factor[RM_PACK_MAX_VECTORS];
  RM_UNROLL for (int v = 0; v < nv; v++) {
    sum[v] = vf64_set1(0.0);
    factor[v] = scale ? vf64_load(scale + v * RM_LANES) : vf64_set1(1.0);
  }
  for (int64_t k = 0; k < kc; k++, src += k_stride, dst += nv * RM_LANES) {
    RM_UNROLL for (int v = 0; v < nv; v++) {
      vf64 x = rm_load_elements(src + v * RM_LANES * size, fmt);
      if (scale) x = vf64_mul(x, factor[v]);
      if (norm2) sum[v] = vf64_mad(x, x, sum[v]);
      vf64_store(dst + v * RM_LANES, x);
    }
  }
  if (norm2) RM_UNROLL for (int v = 0; v < nv; v++) {
      double *at = norm2 + v * RM_LANES;
      vf64_store(at, vf64_mad(vf64_set1(weights.first), sum[v], vf64_load(at)));
    }
}

/* Packs RM_LANES rows, of which the last ones may be missing; dst is their first position in the panel. Where elements of a
 * row are neighbours in memory, squares of RM_LANES x RM_LANES are transposed in registers; any other stride goes one by
 * one. */
RM_FN void rm_pack_group(double *RM_RESTRICT dst, const int width, int rows, int64_t kc, rm_strided src, const int fmt,
                         double *norm2, rm_weights weights, const double *scale) {
  const int size = rm_size_of(fmt);
  const ptrdiff_t k_stride = src.k_stride;
  double missing[RM_LANES] = {0}; /* also stands for zeros of the other formats */
  vf64 sum = norm2 ? vf64_load(norm2) : vf64_set1(0.0), factor = scale ? vf64_load(scale) : vf64_set1(1.0);
  const char *start[RM_LANES];
  ptrdiff_t move[RM_LANES];
  for (int i = 0; i < RM_LANES; i++) {
    start[i] = i < rows ? src.base + i * src.row_stride : (const char *)missing;
    move[i] = i < rows ? k_stride : 0;
  }
  int64_t k = 0;
  for (; k + RM_LANES <= kc; k += RM_LANES, dst += RM_LANES * width) {
    vf64 t[RM_LANES];
    if (k_stride == size) {
      RM_UNROLL for (int i = 0; i < RM_LANES; i++) t[i] = rm_load_elements(start[i] + k * move[i], fmt);
      vf64_transpose(t);
    } else {
      double e[RM_LANES];
      RM_UNROLL for (int q = 0; q < RM_LANES; q++) {
        for (int i = 0; i < RM_LANES; i++) e[i] = rm_read_element(start[i] + (k + q) * move[i], fmt);
        t[q] = vf64_load(e);
      }
    }
    vf64 squares = vf64_set1(0.0);
    RM_UNROLL for (int q = 0; q < RM_LANES; q++) {
      if (scale) t[q] = vf64_mul(t[q], factor);
      if (norm2) squares = vf64_mad(t[q], t[q], squares);
      vf64_store(dst + q * width, t[q]);
    }
    if (norm2) sum = vf64_mad(vf64_set1(rm_weight(weights, k)), squares, sum);
  }
  for (; k < kc; k++, dst += width) {
    double e[RM_LANES];
    for (int i = 0; i < RM_LANES; i++) e[i] = rm_read_element(start[i] + k * move[i], fmt);
    vf64 x = vf64_load(e);
    if (scale) x = vf64_mul(x, factor);
    if (norm2) sum = vf64_mad(x, x, sum);
    vf64_store(dst, x);
  }
  if (norm2) vf64_store(norm2, sum);
}

/* Packs one panel of `width` (a multiple of RM_LANES) rows. */
RM_FN void rm_pack_panel_body(double *RM_RESTRICT dst, int width, int rows, int64_t kc, rm_strided src, const int fmt,
                              double *norm2, rm_weights weights, const double *scale) {
  if (src.row_stride == rm_size_of(fmt) && rows == width) {
    switch (width / RM_LANES) {
      case 1: rm_pack_vectors(dst, 1, kc, src.base, src.k_stride, fmt, norm2, weights, scale); return;
      case 2: rm_pack_vectors(dst, 2, kc, src.base, src.k_stride, fmt, norm2, weights, scale); return;
      case 3: rm_pack_vectors(dst, 3, kc, src.base, src.k_stride, fmt, norm2, weights, scale); return;
      case 4: rm_pack_vectors(dst, 4, kc, src.base, src.k_stride, fmt, norm2, weights, scale); return;
    }
  }
  for (int g = 0; g < width; g += RM_LANES)
    rm_pack_group(dst + g, width, rows - g < RM_LANES ? rows - g : RM_LANES, kc,
                  (rm_strided){g < rows ? src.base + g * src.row_stride : src.base, src.row_stride, src.k_stride}, fmt,
                  norm2 ? norm2 + g : 0, weights, scale ? scale + g : 0);
}

/* There is one function per format and purpose: inlined at every call they made 0.7 MB of code. */
#define RM_PACK_PANEL(name, FMT)                                                                                             \
  RM_NOINLINE void rm_pack_panel_norms_##name(double *dst, int width, int rows, int64_t kc, const char *src,                 \
                                              ptrdiff_t row_stride, ptrdiff_t k_stride, double *norm2, rm_weights weights) { \
    const rm_strided from = {src, row_stride, k_stride};                                                                     \
    if (width == RM_MR) rm_pack_panel_body(dst, RM_MR, rows, kc, from, FMT, norm2, weights, 0);                              \
    else rm_pack_panel_body(dst, width, rows, kc, from, FMT, norm2, weights, 0);                                             \
  }                                                                                                                          \
  RM_NOINLINE void rm_pack_panel_scaled_##name(double *dst, int width, int rows, int64_t kc, const char *src,                \
                                               ptrdiff_t row_stride, ptrdiff_t k_stride, const double *scale) {              \
    rm_pack_panel_body(dst, width, rows, kc, (rm_strided){src, row_stride, k_stride}, FMT, 0, rm_no_weights, scale);         \
  }
RM_PACK_PANEL(f16, RM_F16)
RM_PACK_PANEL(bf16, RM_BF16)
RM_PACK_PANEL(f32, RM_F32)
RM_PACK_PANEL(f64, RM_F64)
#define RM_PACK_CASE(name, FMT)                                                                                              \
  case FMT:                                                                                                                  \
    if (t->norm2)                                                                                                            \
      rm_pack_panel_norms_##name(dst, width, rows, n, src.base, src.row_stride, src.k_stride, t->norm2 + i,                  \
                                 rm_weights_from(t->weights, k));                                                            \
    else                                                                                                                     \
      rm_pack_panel_scaled_##name(dst, width, rows, n, src.base, src.row_stride, src.k_stride, t->scale ? t->scale + i : 0); \
    return;
/* Packs rows [i, i + rows) and k in [k, k + n) of the panels, from src on: one panel of `width` rows. */
RM_FN void rm_pack_panel(const rm_panels *t, int64_t i, int width, int rows, int64_t k, int64_t n, rm_strided src,
                         const int fmt) {
  double *const dst = t->dst + i * t->kc + k * width;
  switch (fmt) {
    RM_PACK_CASE(f16, RM_F16)
    RM_PACK_CASE(bf16, RM_BF16)
    RM_PACK_CASE(f32, RM_F32)
    RM_PACK_CASE(f64, RM_F64)
    default: return;
  }
}

enum { RM_PACK_ROWS = 16 };

/* Packs k in [first, first + n) of all panels, of `rows` rows from src on. Where rows are neighbours in memory a few elements
 * of all rows are packed before the next ones, so that memory is read along its rows. */
RM_FN void rm_pack_block(const rm_panels *t, int64_t rows, int64_t first, int64_t n, rm_strided src, const int fmt) {
  int64_t depth = src.row_stride == rm_size_of(fmt) ? RM_PACK_ROWS : n;
  for (int64_t k = 0; k < n; k += depth) {
    int64_t count = n - k < depth ? n - k : depth;
    for (int64_t i = 0; i < rows; i += t->unit) {
      int here = rows - i < t->unit ? (int)(rows - i) : t->unit;
      int width = t->trim ? (here + RM_LANES - 1) / RM_LANES * RM_LANES : t->unit;
      const rm_strided from = {src.base + i * src.row_stride + k * src.k_stride, src.row_stride, src.k_stride};
      rm_pack_panel(t, i, width, here, first + k, count, from, fmt);
    }
  }
}

/* Whether a view's k are runs of two vectors or more, of rows one stride apart, and none is padding. */
RM_FN int rm_is_in_runs(const rm_im2col *p) {
  const int last = RM_DIMS - 1;
  for (int d = 0; d < RM_DIMS; d++)
    if (p->rows.dim[d] != RM_NO_COORDINATE || p->k.dim[d] != RM_NO_COORDINATE || (d < last && p->rows.count[d] != 1))
      return 0;
  return rm_run_of_axis(&p->k).n >= 2 * RM_LANES;
}

/* Packs rows [row, row + rows) and k in [k0, k0 + kc) of an operand. An im2col view is laid out in `stage` first, a few k
 * of all rows or one panel at a time, or as a conv window: rm_stage_bytes of it. */
RM_FN size_t rm_stage_bytes(const rm_im2col *p, int unit, int64_t rows, int64_t kc) {
  if (!p) return 0;
  const size_t window = rm_conv_window_bytes(p, rows, kc);
  const size_t rows_adjacent = (size_t)RM_PACK_ROWS * (size_t)rows, by_panel = (size_t)unit * (size_t)kc;
  const size_t staged = 8 * (rows_adjacent > by_panel ? rows_adjacent : by_panel);
  return window > staged ? window : staged;
}
RM_FN void rm_pack_operand(const rm_panels *t, const rm_operand *o, int64_t row, int64_t rows, int64_t k0, const int fmt) {
  const int size = rm_size_of(fmt);
  const int64_t kc = t->kc;
  if (!o->im2col) {
    const rm_strided src = {o->base + row * o->row_stride + k0 * o->k_stride, o->row_stride, o->k_stride};
    rm_pack_block(t, rows, 0, kc, src, fmt);
    return;
  }
  if (rm_is_in_runs(o->im2col)) {
    const rm_axis *k_axis = &o->im2col->k;
    const rm_axis_run run = rm_run_of_axis(k_axis);
    const ptrdiff_t apart = o->im2col->rows.stride[RM_DIMS - 1];
    for (int64_t k = 0, n; k < kc; k += n) {
      const int64_t left = run.n - (k0 + k) % run.n;
      ptrdiff_t at;
      rm_axis_offsets(k_axis, k0 + k, 1, &at);
      n = kc - k < left ? kc - k : left;
      rm_pack_block(t, rows, k, n, (rm_strided){o->base + row * apart + at, apart, run.stride}, fmt);
    }
    return;
  }
  rm_conv_window window;
  if (kc && rm_conv_window_of(&window, o->im2col, rows)) {
    rm_pack_conv_window(t, &window, o, row, rows, k0, fmt);
    return;
  }
  const int rows_adjacent = o->im2col->rows_adjacent;
  const int64_t depth = rows_adjacent ? RM_PACK_ROWS : kc, columns = rows_adjacent ? rows : t->unit;
  for (int64_t k = 0; k < kc; k += depth) {
    const int64_t n = kc - k < depth ? kc - k : depth;
    for (int64_t j = 0; j < rows; j += columns) {
      const int64_t staged = rows - j < columns ? rows - j : columns;
      const ptrdiff_t row_stride = rows_adjacent ? size : n * size, k_stride = rows_adjacent ? staged * size : size;
      rm_im2col_fill(o->im2col, o->base, size, rows_adjacent, row + j, staged, k0 + k, n, t->stage);
      for (int64_t i = 0; i < staged; i += t->unit) {
        const int here = staged - i < t->unit ? (int)(staged - i) : t->unit;
        const int width = t->trim ? (here + RM_LANES - 1) / RM_LANES * RM_LANES : t->unit;
        rm_pack_panel(t, j + i, width, here, k, n, (rm_strided){t->stage + i * row_stride, row_stride, k_stride}, fmt);
      }
    }
  }
}
