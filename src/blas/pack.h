/* Packing: `width` lines (rows of A, columns of B) become one panel of binary64 values, dst[k width + line], which a
 * microkernel reads in order. Missing lines are zero. Any stride and alignment is a matter of this file alone; `step` goes
 * along a line, `line` to the next one, in bytes. The format of the source is a constant at every call.
 *
 * Either norm2 is given: norm2[line] grows by the sum of squares of these kc elements (at most kc roundings of relative size
 * u, and for binary32 sources no other error: a square lies between 2^-298 and 2^256). Or scale is given: element k of the
 * line is multiplied by the power of two scale[line]. */
#ifndef RM_BLAS_PACK_H
#define RM_BLAS_PACK_H

#include <stddef.h>

#include "tile.h"

enum {
  RM_PACK_CHUNK = 32, /* elements of a line that are moved together: a chunk of a panel stays in L1 */
  RM_PACK_MAX_VECTORS = RM_NV > RM_MR / RM_LANES ? RM_NV : RM_MR / RM_LANES
};

RM_FN double rm_read_element(const char *p, const int fmt) {
  if (fmt == RM_F32) {
    float f;
    __builtin_memcpy(&f, p, 4);
    return (double)f;
  }
  double d;
  __builtin_memcpy(&d, p, 8);
  return d;
}
RM_FN vf64 rm_load_elements(const char *p, const int fmt) {
  return fmt == RM_F32 ? vf64_load_f32((const float *)(const void *)p) : vf64_load((const double *)(const void *)p);
}

/* Lines that are neighbours in memory: whole vectors. nv is a constant at every call. */
RM_FN void rm_pack_vectors(double *RM_RESTRICT dst, const int nv, int64_t kc, const char *src, ptrdiff_t step, const int fmt,
                           double *norm2, const double *scale) {
  const int size = fmt == RM_F32 ? 4 : 8;
  vf64 sum[RM_PACK_MAX_VECTORS], factor[RM_PACK_MAX_VECTORS];
  RM_UNROLL for (int v = 0; v < nv; v++) {
    sum[v] = norm2 ? vf64_load(norm2 + v * RM_LANES) : vf64_set1(0.0);
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
  if (norm2) RM_UNROLL for (int v = 0; v < nv; v++) vf64_store(norm2 + v * RM_LANES, sum[v]);
}

/* Any strides, any number of lines. */
RM_FN void rm_pack_elements(double *RM_RESTRICT dst, const int width, int lines, int64_t kc, const char *src, ptrdiff_t line,
                            ptrdiff_t step, const int fmt, double *norm2, const double *scale) {
  for (int64_t k0 = 0; k0 < kc; k0 += RM_PACK_CHUNK) {
    int64_t k1 = k0 + RM_PACK_CHUNK < kc ? k0 + RM_PACK_CHUNK : kc;
    for (int i = 0; i < lines; i++) {
      const char *p = src + i * line + k0 * step;
      if (scale)
        for (int64_t k = k0; k < k1; k++, p += step) dst[k * width + i] = rm_read_element(p, fmt) * scale[i];
      else
        for (int64_t k = k0; k < k1; k++, p += step) dst[k * width + i] = rm_read_element(p, fmt);
    }
    for (int i = lines; i < width; i++)
      for (int64_t k = k0; k < k1; k++) dst[k * width + i] = 0.0;
  }
  if (!norm2) return;
  for (int v = 0; v < width; v += RM_LANES) { /* two chains: the latency of one would be seen */
    vf64 even = vf64_load(norm2 + v), odd = vf64_set1(0.0);
    const double *p = dst + v;
    for (int64_t k = 0; k + 1 < kc; k += 2, p += 2 * width) {
      vf64 x = vf64_load(p), y = vf64_load(p + width);
      even = vf64_mad(x, x, even);
      odd = vf64_mad(y, y, odd);
    }
    if (kc % 2) {
      vf64 x = vf64_load(p);
      even = vf64_mad(x, x, even);
    }
    vf64_store(norm2 + v, vf64_add(even, odd));
  }
}

/* One panel of `width` (a multiple of RM_LANES, at most RM_NR or RM_MR) lines. */
RM_FN void rm_pack_panel(double *RM_RESTRICT dst, int width, int lines, int64_t kc, const char *src, ptrdiff_t line,
                         ptrdiff_t step, const int fmt, double *norm2, const double *scale) {
  if (line == (fmt == RM_F32 ? 4 : 8) && lines == width) {
    switch (width / RM_LANES) {
      case RM_MR / RM_LANES: rm_pack_vectors(dst, RM_MR / RM_LANES, kc, src, step, fmt, norm2, scale); return;
#if RM_LANES > 1
      case RM_NV: rm_pack_vectors(dst, RM_NV, kc, src, step, fmt, norm2, scale); return;
      case 2: rm_pack_vectors(dst, 2, kc, src, step, fmt, norm2, scale); return;
#endif
    }
  }
  switch (width) { /* a constant width addresses without multiplications */
    case RM_MR: rm_pack_elements(dst, RM_MR, lines, kc, src, line, step, fmt, norm2, scale); return;
    case RM_NR: rm_pack_elements(dst, RM_NR, lines, kc, src, line, step, fmt, norm2, scale); return;
    default: rm_pack_elements(dst, width, lines, kc, src, line, step, fmt, norm2, scale); return;
  }
}

#endif
