/* Scaling for the double-double engine: each row of A and column of B gets a power of two 2^shift so that its elements are
 * below 2^-h in magnitude, with 2^(2h) >= 2K. Then every exact partial sum of K products is at most K 2^(-2h) <= 1/2. */
#pragma once

#include "pack.h"

enum { RM_VECTOR_FINITE, RM_VECTOR_ZERO, RM_VECTOR_NONFINITE };

/* largest[i] grows to max |x|, and nan[i] becomes NaN where the row holds a NaN or an infinity: RM_LANES rows, of which the
 * last ones may be missing. */
RM_FN void rm_max_group(double *largest, double *nan, int rows, int64_t k, const char *src, ptrdiff_t row_stride,
                        ptrdiff_t k_stride, const int fmt) {
  const int size = rm_size_of(fmt);
  const vf64 zero = vf64_set1(0.0);
  if (row_stride == size && rows == RM_LANES) {
    vf64 m = vf64_load(largest), w = vf64_load(nan);
    for (int64_t q = 0; q < k; q++) {
      vf64 x = rm_load_elements(src + q * k_stride, fmt);
      m = vf64_max(vf64_abs(x), m);
      w = vf64_mad(x, zero, w);
    }
    vf64_store(largest, m);
    vf64_store(nan, w);
    return;
  }
  for (int i = 0; i < RM_LANES; i++) {
    const char *p = src + i * row_stride;
    double ms[RM_LANES], ws[RM_LANES];
    vf64 m = zero, w = zero;
    int64_t q = 0;
    if (i >= rows) continue;
    if (k_stride == size)
      for (; q + RM_LANES <= k; q += RM_LANES) {
        vf64 x = rm_load_elements(p + q * size, fmt);
        m = vf64_max(vf64_abs(x), m);
        w = vf64_mad(x, zero, w);
      }
    vf64_store(ms, m);
    vf64_store(ws, w);
    for (int l = 0; l < RM_LANES; l++) {
      largest[i] = ms[l] > largest[i] ? ms[l] : largest[i];
      nan[i] += ws[l];
    }
    for (; q < k; q++) {
      double x = rm_read_element(p + q * k_stride, fmt), y = __builtin_fabs(x);
      largest[i] = y > largest[i] ? y : largest[i];
      nan[i] += x * 0.0;
    }
  }
}

/* h of the head of this file: the least with 2^(2h) >= 2K. */
RM_FN int rm_scale_room(int64_t k) {
  int h = 1;
  while (h < 31 && (INT64_C(1) << (2 * h)) < 2 * k) h++;
  return h;
}

/* For `rows` rows of an operand from the first on, padded to `count`: factor[i] = 2^shift[i], and the kind of each row.
 * Shifts above 1023 are cut (a row of subnormals is then scaled less than it could be); those below -1022 are subnormal
 * powers of two, still exact. A row that is zero or not finite is left as it is: its elements are decided by other means. */
RM_FN void rm_scale_vectors(double *factor, double *shift, uint8_t *kind, const rm_operand *o, int64_t first, int64_t rows,
                            int64_t count, int64_t k, const int fmt) {
  const int size = rm_size_of(fmt);
  const int64_t piece = o->im2col ? RM_KC2 : k;
  char stage[RM_LANES * RM_KC2 * 8];
  int h = rm_scale_room(k);
  for (int64_t g = 0; g < count; g += RM_LANES) {
    double largest[RM_LANES] = {0}, nan[RM_LANES] = {0};
    const int here = rows - g < RM_LANES ? (int)(rows - g < 0 ? 0 : rows - g) : RM_LANES;
    for (int64_t at = 0; at < k && here > 0; at += piece) {
      const int64_t n = k - at < piece ? k - at : piece;
      const char *src = stage;
      ptrdiff_t row_stride = n * size, k_stride = size;
      if (o->im2col) rm_im2col_fill(o->im2col, o->base, size, 0, first + g, here, at, n, stage);
      else src = o->base + (first + g) * o->row_stride + at * o->k_stride, row_stride = o->row_stride, k_stride = o->k_stride;
      rm_max_group(largest, nan, here, n, src, row_stride, k_stride, fmt);
    }
    for (int i = 0; i < RM_LANES; i++) {
      uint64_t b = rm_bits64(largest[i]);
      int e = (int)(b >> 52) - 1023, s = 0; /* largest < 2^(e+1) */
      if (b != 0 && b >> 52 == 0) e = -1011 - __builtin_clzll(b); /* a subnormal m 2^-1074: clz = 63 - log2 m */
      kind[g + i] = nan[i] != 0.0 ? RM_VECTOR_NONFINITE : b == 0 ? RM_VECTOR_ZERO : RM_VECTOR_FINITE;
      if (kind[g + i] == RM_VECTOR_FINITE) s = -(e + 1 + h) < 1023 ? -(e + 1 + h) : 1023;
      /* The shift is kept as the bits of an integer vector. */
      shift[g + i] = rm_from_bits64((uint64_t)(int64_t)s);
      factor[g + i] = s >= -1022 ? rm_pow2(s) : rm_from_bits64(UINT64_C(1) << (s + 1074));
    }
  }
}
