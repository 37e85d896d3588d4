/* Elements of strided arrays of any alignment. */
#ifndef RM_REDUCE_STRIDED_H
#define RM_REDUCE_STRIDED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float rm_read_f32(const void *base, int64_t i, ptrdiff_t stride) {
  float v;
  memcpy(&v, (const char *)base + i * stride, sizeof v);
  return v;
}
static inline double rm_read_f64(const void *base, int64_t i, ptrdiff_t stride) {
  double v;
  memcpy(&v, (const char *)base + i * stride, sizeof v);
  return v;
}
static inline void rm_write_f32(void *base, int64_t i, ptrdiff_t stride, float v) {
  memcpy((char *)base + i * stride, &v, sizeof v);
}
static inline void rm_write_f64(void *base, int64_t i, ptrdiff_t stride, double v) {
  memcpy((char *)base + i * stride, &v, sizeof v);
}

#endif
