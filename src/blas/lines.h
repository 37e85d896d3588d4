/* Facts about one row of A or one column of B, gathered only when some element needs them: the weight of the lowest set bit,
 * and whether NaNs are among the terms. */
#ifndef RM_BLAS_LINES_H
#define RM_BLAS_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "../reduce/superaccumulator.h"

typedef struct {
  int16_t granule; /* every finite element is a multiple of 2^granule; RM_NO_GRANULE when all are zero */
  uint8_t known, classes; /* classes: RM_ACC_QNAN, RM_ACC_SNAN */
} rm_line;

enum { RM_NO_GRANULE = 4000 };

/* Exponent of the lowest set bit of a finite number; RM_NO_GRANULE for zero. */
RM_FN int rm_granule32(uint32_t b) {
  uint32_t e = (b >> 23) & 0xff, m = (b & 0x7fffffu) | ((uint32_t)(e != 0) << 23);
  return m ? (int)(e ? e : 1) - 150 + rm_ctz64(m) : RM_NO_GRANULE;
}
RM_FN int rm_granule64(uint64_t b) {
  uint64_t e = (b >> 52) & 0x7ff, m = (b & 0xfffffffffffffu) | ((uint64_t)(e != 0) << 52);
  return m ? (int)(e ? e : 1) - 1075 + rm_ctz64(m) : RM_NO_GRANULE;
}

RM_SHARED void rm_line_scan_f32(rm_line *line, int64_t k, const char *p, ptrdiff_t step);
RM_SHARED void rm_line_scan_f64(rm_line *line, int64_t k, const char *p, ptrdiff_t step);

RM_FN const rm_line *rm_line_of(rm_line *line, int64_t k, const char *p, ptrdiff_t step, int fmt) {
  if (!line->known) {
    if (fmt == RM_F32)
      rm_line_scan_f32(line, k, p, step);
    else
      rm_line_scan_f64(line, k, p, step);
  }
  return line;
}

/* The flags of an element that is NaN: invalid when a NaN signalled, or when none came in, so that it was made here. */
RM_FN uint32_t rm_nan_flags(uint32_t classes) {
  return (classes & RM_ACC_SNAN) || !(classes & RM_ACC_QNAN) ? RM_FLAG_INVALID : 0;
}

#endif
