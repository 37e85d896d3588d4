/* Packing: `width` lines (rows of A, columns of B) become one panel of binary64 values, dst[k width + line], which a
 * microkernel reads in order. Missing lines are zero. Any stride and alignment is a matter of this file alone; `step` goes
 * along a line, `line` to the next one, in bytes. The format of the source is a constant at every call.
 *
 * Either norm2 is given: norm2[line] grows by the sum of the squares of these elements, each times a weight, at least first - q slope, q
 * its place in the chain (bound_b64.h), and at most 1 (at most kc + 3 roundings of relative size u, and for sources below binary64 no
 * other error: a square lies between 2^-298 and 2^256). Or scale is given: element k of the line is multiplied by the power of two
 * scale[line]. */
#ifndef RM_BLAS_GEMM_PACK_H
#define RM_BLAS_GEMM_PACK_H

#include <stddef.h>

#include "../../common/elements.h"
#include "tile.h"
#include "../conv/im2col_view.h"
#include "bound_weights.h"
#include "../conv/conv_window.h"

/* Lines that are neighbours in memory: whole vectors; all with the first weight. nv is a constant at every call. */
RM_FN void rm_pack_vectors(double *RM_RESTRICT dst, const int nv, int64_t kc, const char *src, ptrdiff_t step, const int fmt,
                           double *norm2, rm_weights weights, const double *scale) {
  const int size = rm_size_of(fmt);
  vf64 sum[RM_PACK_MAX_VECTORS], factor[RM_PACK_MAX_VECTORS];
  RM_UNROLL for (int v = 0; v < nv; v++) {
    sum[v] = vf64_set1(0.0);
    factor[v] = scale ? vf64_load(scale + v * RM_LANES) : vf64_set1(1.0);
  }
  for (int64_t k = 0; k < kc; k++, src += step, dst += nv * RM_LANES) {
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

/* RM_LANES lines, of which the last ones may be missing; dst is their first place in the panel. Where elements of a line are
 * neighbours in memory, squares of RM_LANES x RM_LANES are transposed in registers; any other stride goes one by one. */
RM_FN void rm_pack_group(double *RM_RESTRICT dst, const int width, int lines, int64_t kc, const char *src, ptrdiff_t line,
                         ptrdiff_t step, const int fmt, double *norm2, rm_weights weights, const double *scale) {
  const int size = rm_size_of(fmt);
  double missing[RM_LANES] = {0}; /* also stands for zeros of the other formats */
  vf64 sum = norm2 ? vf64_load(norm2) : vf64_set1(0.0), factor = scale ? vf64_load(scale) : vf64_set1(1.0);
  const char *row[RM_LANES];
  ptrdiff_t move[RM_LANES];
  for (int i = 0; i < RM_LANES; i++) {
    row[i] = i < lines ? src + i * line : (const char *)missing;
    move[i] = i < lines ? step : 0;
  }
  int64_t k = 0;
  for (; k + RM_LANES <= kc; k += RM_LANES, dst += RM_LANES * width) {
    vf64 t[RM_LANES];
    if (step == size) {
      RM_UNROLL for (int i = 0; i < RM_LANES; i++) t[i] = rm_load_elements(row[i] + k * move[i], fmt);
      vf64_transpose(t);
    } else {
      double e[RM_LANES];
      RM_UNROLL for (int q = 0; q < RM_LANES; q++) {
        for (int i = 0; i < RM_LANES; i++) e[i] = rm_read_element(row[i] + (k + q) * move[i], fmt);
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
    for (int i = 0; i < RM_LANES; i++) e[i] = rm_read_element(row[i] + k * move[i], fmt);
    vf64 x = vf64_load(e);
    if (scale) x = vf64_mul(x, factor);
    if (norm2) sum = vf64_mad(x, x, sum);
    vf64_store(dst, x);
  }
  if (norm2) vf64_store(norm2, sum);
}

/* One panel of `width` (a multiple of RM_LANES) lines. */
RM_FN void rm_pack_panel_body(double *RM_RESTRICT dst, int width, int lines, int64_t kc, const char *src, ptrdiff_t line,
                              ptrdiff_t step, const int fmt, double *norm2, rm_weights weights, const double *scale) {
  if (line == rm_size_of(fmt) && lines == width) {
    switch (width / RM_LANES) {
      case 1: rm_pack_vectors(dst, 1, kc, src, step, fmt, norm2, weights, scale); return;
      case 2: rm_pack_vectors(dst, 2, kc, src, step, fmt, norm2, weights, scale); return;
      case 3: rm_pack_vectors(dst, 3, kc, src, step, fmt, norm2, weights, scale); return;
      case 4: rm_pack_vectors(dst, 4, kc, src, step, fmt, norm2, weights, scale); return;
    }
  }
  for (int g = 0; g < width; g += RM_LANES)
    rm_pack_group(dst + g, width, lines - g < RM_LANES ? lines - g : RM_LANES, kc, g < lines ? src + g * line : src, line, step, fmt,
                  norm2 ? norm2 + g : 0, weights, scale ? scale + g : 0);
}

/* One function a format and purpose: inlined at every call they made 0.7 MB of code. */
#define RM_PACK_PANEL(name, FMT)                                                                                              \
  RM_NOINLINE void rm_pack_panel_norms_##name(double *dst, int width, int lines, int64_t kc, const char *src, ptrdiff_t line,    \
                                           ptrdiff_t step, double *norm2, rm_weights weights) {                               \
    if (width == RM_MR)                                                                                                       \
      rm_pack_panel_body(dst, RM_MR, lines, kc, src, line, step, FMT, norm2, weights, 0);                                     \
    else                                                                                                                      \
      rm_pack_panel_body(dst, width, lines, kc, src, line, step, FMT, norm2, weights, 0);                                     \
  }                                                                                                                           \
  RM_NOINLINE void rm_pack_panel_scaled_##name(double *dst, int width, int lines, int64_t kc, const char *src, ptrdiff_t line,   \
                                            ptrdiff_t step, const double *scale) {                                            \
    rm_pack_panel_body(dst, width, lines, kc, src, line, step, FMT, 0, rm_no_weights, scale);                                 \
  }
RM_PACK_PANEL(f16, RM_F16)
RM_PACK_PANEL(bf16, RM_BF16)
RM_PACK_PANEL(f32, RM_F32)
RM_PACK_PANEL(f64, RM_F64)
#define RM_PACK_CASE(name, FMT)                                                           \
  case FMT:                                                                               \
    if (norm2)                                                                            \
      rm_pack_panel_norms_##name(dst, width, lines, kc, src, line, step, norm2, weights); \
    else                                                                                  \
      rm_pack_panel_scaled_##name(dst, width, lines, kc, src, line, step, scale);         \
    return;
RM_FN void rm_pack_panel(double *dst, int width, int lines, int64_t kc, const char *src, ptrdiff_t line, ptrdiff_t step, const int fmt,
                         double *norm2, rm_weights weights, const double *scale) {
  switch (fmt) {
    RM_PACK_CASE(f16, RM_F16)
    RM_PACK_CASE(bf16, RM_BF16)
    RM_PACK_CASE(f32, RM_F32)
    RM_PACK_CASE(f64, RM_F64)
    default: return;
  }
}

enum { RM_PACK_ROWS = 16 };

/* Terms [first, first + n) of all panels of a block: `lines` lines from src, panels of `unit` lines side by side, each kc long; the last
 * panel holds only the vectors it needs when `trim`. Where lines are neighbours in memory a few elements of all lines are packed before the
 * next ones, so that memory is read along its rows. */
RM_FN void rm_pack_block(double *dst, const int unit, const int trim, int64_t lines, int64_t kc, int64_t first, int64_t n,
                         const char *src, ptrdiff_t line, ptrdiff_t step, const int fmt, double *norm2, rm_weights weights, const double *scale) {
  int64_t rows = line == rm_size_of(fmt) ? RM_PACK_ROWS : n;
  for (int64_t k = 0; k < n; k += rows) {
    int64_t terms = n - k < rows ? n - k : rows;
    for (int64_t i = 0; i < lines; i += unit) {
      int here = lines - i < unit ? (int)(lines - i) : unit;
      int width = trim ? (here + RM_LANES - 1) / RM_LANES * RM_LANES : unit;
      rm_pack_panel(dst + i * kc + (first + k) * width, width, here, terms, src + i * line + k * step, line, step, fmt,
                    norm2 ? norm2 + i : 0, rm_weights_from(weights, first + k), scale ? scale + i : 0);
    }
  }
}

/* Whether the terms of patches are runs of two vectors or more, of lines one stride apart, and none is padding. */
RM_FN int rm_is_in_runs(const rm_patches *p) {
  const int last = RM_DIMS - 1;
  for (int d = 0; d < RM_DIMS; d++)
    if (p->lines.dim[d] != RM_NO_COORDINATE || p->terms.dim[d] != RM_NO_COORDINATE || (d < last && p->lines.count[d] != 1)) return 0;
  return rm_run_of_axis(&p->terms).n >= 2 * RM_LANES;
}

/* The same from an operand, lines [line, line + lines) and terms [k0, k0 + kc). Patches are laid out in `stage` first, a few terms
 * of all lines or one panel at a time, or as a window: rm_stage_bytes of it. */
RM_FN size_t rm_stage_bytes(const rm_patches *p, int unit, int64_t lines, int64_t kc) {
  if (!p) return 0;
  const size_t window = rm_window_bytes(p, lines, kc);
  const size_t by_lines = (size_t)RM_PACK_ROWS * (size_t)lines, by_terms = (size_t)unit * (size_t)kc;
  const size_t staged = 8 * (by_lines > by_terms ? by_lines : by_terms);
  return window > staged ? window : staged;
}
RM_FN void rm_pack_operand(double *dst, const int unit, const int trim, const rm_operand *o, int64_t line, int64_t lines,
                           int64_t k0, int64_t kc, const int fmt, double *norm2, rm_weights weights, const double *scale, char *stage) {
  const int size = rm_size_of(fmt);
  if (!o->patches) {
    rm_pack_block(dst, unit, trim, lines, kc, 0, kc, o->base + line * o->line + k0 * o->step, o->line, o->step, fmt, norm2, weights,
                  scale);
    return;
  }
  if (rm_is_in_runs(o->patches)) {
    const rm_axis *terms = &o->patches->terms;
    const rm_axis_run run = rm_run_of_axis(terms);
    const ptrdiff_t apart = o->patches->lines.stride[RM_DIMS - 1];
    for (int64_t k = 0, n; k < kc; k += n) {
      const int64_t left = run.n - (k0 + k) % run.n;
      ptrdiff_t at;
      rm_axis_offsets(terms, k0 + k, 1, &at);
      n = kc - k < left ? kc - k : left;
      rm_pack_block(dst, unit, trim, lines, kc, k, n, o->base + line * apart + at, apart, run.stride, fmt, norm2, weights, scale);
    }
    return;
  }
  rm_window window;
  if (kc && rm_window_of(&window, o->patches, lines)) {
    rm_pack_window(dst, unit, trim, &window, o, line, lines, k0, kc, fmt, norm2, scale, stage);
    return;
  }
  const int by_lines = o->patches->by_lines;
  const int64_t rows = by_lines ? RM_PACK_ROWS : kc, columns = by_lines ? lines : unit;
  for (int64_t k = 0; k < kc; k += rows) {
    const int64_t n = kc - k < rows ? kc - k : rows;
    for (int64_t j = 0; j < lines; j += columns) {
      const int64_t staged = lines - j < columns ? lines - j : columns;
      rm_patches_fill(o->patches, o->base, size, by_lines, line + j, staged, k0 + k, n, stage);
      for (int64_t i = 0; i < staged; i += unit) {
        const int here = staged - i < unit ? (int)(staged - i) : unit;
        const int width = trim ? (here + RM_LANES - 1) / RM_LANES * RM_LANES : unit;
        rm_pack_panel(dst + (j + i) * kc + k * width, width, here, n, stage + i * (by_lines ? size : n * size),
                      by_lines ? size : n * size, by_lines ? staged * size : size, fmt, norm2 ? norm2 + j + i : 0,
                      rm_weights_from(weights, k), scale ? scale + j + i : 0);
      }
    }
  }
}

#endif
