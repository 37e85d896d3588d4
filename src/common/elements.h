/* Elements of any format as binary64, which holds them all exactly. The format is a constant at every hot call. */
#pragma once

#include <stddef.h>

#include "../../crlibm/fp/round.h"
#include "../../crlibm/simd/simd.h"

/* Each format is read as its own type: from several copies of a few bytes into wider variables GCC 12.2 at -O3 for AVX-512
 * made vectors with wrong elements (test_matmul_blocks_full_of_open_elements saw it; -fno-tree-slp-vectorize made it
 * right). */
RM_FN uint64_t rm_read_bits(const char *p, const int fmt) {
  uint64_t d;
  uint32_t s;
  uint16_t h;
  switch (fmt) {
    case RM_F64: RM_READ_WORD(d, p, 8); return d;
    case RM_F32: RM_READ_WORD(s, p, 4); return s;
    default: RM_READ_WORD(h, p, 2); return h;
  }
}
RM_FN double rm_read_element(const char *p, const int fmt) {
  float f;
  double d;
  switch (fmt) {
    case RM_F32: RM_READ_WORD(f, p, 4); return (double)f;
    case RM_F64: RM_READ_WORD(d, p, 8); return d;
    default: return rm_to_double(rm_read_bits(p, fmt), fmt);
  }
}
RM_FN void rm_write_bits(char *p, uint64_t bits, const int fmt) { RM_WRITE_WORD(p, bits, (size_t)rm_size_of(fmt)); }

/* RM_LANES neighbours in memory. */
RM_FN vf64 rm_load_elements(const char *at, const int fmt) {
  const void *p = at;
  switch (fmt) {
    case RM_F16: return vf64_load_f16((const uint16_t *)p);
    case RM_BF16: return vf64_load_bf16((const uint16_t *)p);
    case RM_F32: return vf64_load_f32((const float *)p);
    default: return vf64_load((const double *)p);
  }
}
RM_FN void rm_store_elements(char *at, vf64 v, const int fmt) {
  void *p = at;
  switch (fmt) {
    case RM_F16: vf64_store_f16((uint16_t *)p, v); break;
    case RM_BF16: vf64_store_bf16((uint16_t *)p, v); break;
    case RM_F32: vf64_store_f32((float *)p, v); break;
    default: vf64_store((double *)p, v);
  }
}
