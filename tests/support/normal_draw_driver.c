/* Normal random numbers of arrays of draws, for test_normal_draw.py: the accurate phase, or where RM_TEST_STEP is
 * defined the vector steps of one instruction set with the lanes that they leave open. */
#if defined(RM_TEST_STEP)
#include "../../crlibm/ndtri/normal_draw.h"

void rm_test_normal_step(int format, int64_t n, const uint64_t *k, void *y, uint8_t *open);
void rm_test_normal_step(int format, int64_t n, const uint64_t *k, void *y, uint8_t *open) {
  for (int64_t i = 0; i + RM_LANES <= n; i += RM_LANES) {
    const vi64 draw = vf64_bits(vf64_load((const double *)(const void *)(k + i)));
    vm64 m;
    vf64 v;
    if (format == RM_F16) {
      m = rm_normal_fast_f16(draw, &v);
      vf64_store_f16((uint16_t *)y + i, v);
    } else if (format == RM_BF16) {
      m = rm_normal_fast_bf16(draw, &v);
      vf64_store_bf16((uint16_t *)y + i, v);
    } else if (format == RM_F32) {
      m = rm_normal_fast_f32(draw, &v);
      vf64_store_f32((float *)y + i, v);
    } else {
      m = rm_normal_fast_f64(draw, &v);
      vf64_store((double *)y + i, v);
    }
    for (int j = 0; j < RM_LANES; j++) open[i + j] = vm64_bits(m) >> j & 1u;
  }
}
#else
#include "../../crlibm/ndtri/normal_draw_accurate.h"

uint32_t rm_test_normal_accurate(int format, int rule, int64_t n, const uint64_t *k, uint64_t *y);
uint32_t rm_test_normal_accurate(int format, int rule, int64_t n, const uint64_t *k, uint64_t *y) {
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i++) y[i] = rm_normal_accurate(k[i], format, rule, &flags);
  return flags;
}
#endif
