/* Elements of strided arrays of any alignment. */
#ifndef RM_REDUCE_STRIDED_H
#define RM_REDUCE_STRIDED_H

#include <stddef.h>
#include <stdint.h>

#include "../../crlibm/config.h"

RM_FN float rm_read_f32(const void *base, int64_t i, ptrdiff_t stride) {
  float v;
  __builtin_memcpy(&v, (const char *)base + i * stride, sizeof v);
  return v;
}
RM_FN double rm_read_f64(const void *base, int64_t i, ptrdiff_t stride) {
  double v;
  __builtin_memcpy(&v, (const char *)base + i * stride, sizeof v);
  return v;
}
RM_FN void rm_write_f32(void *base, int64_t i, ptrdiff_t stride, float v) {
  __builtin_memcpy((char *)base + i * stride, &v, sizeof v);
}
RM_FN void rm_write_f64(void *base, int64_t i, ptrdiff_t stride, double v) {
  __builtin_memcpy((char *)base + i * stride, &v, sizeof v);
}

#endif
