#include "lines.h"

#include "../reduce/strided.h"

RM_SHARED void rm_line_scan_f32(rm_line *line, int64_t k, const char *p, ptrdiff_t step) {
  int granule = RM_NO_GRANULE;
  uint32_t classes = 0;
  for (int64_t i = 0; i < k; i++) {
    uint32_t b = rm_bits32(rm_read_f32(p, i, step));
    if (RM_UNLIKELY((~b & 0x7f800000u) == 0)) {
      if (b & 0x7fffffu) classes |= rm_is_signalling(b, RM_F32) ? RM_ACC_SNAN : RM_ACC_QNAN;
      continue;
    }
    int g = rm_granule32(b);
    granule = g < granule ? g : granule;
  }
  *line = (rm_line){(int16_t)granule, 1, (uint8_t)classes};
}

RM_SHARED void rm_line_scan_f64(rm_line *line, int64_t k, const char *p, ptrdiff_t step) {
  int granule = RM_NO_GRANULE;
  uint32_t classes = 0;
  for (int64_t i = 0; i < k; i++) {
    uint64_t b = rm_bits64(rm_read_f64(p, i, step));
    if (RM_UNLIKELY((~b & 0x7ff0000000000000u) == 0)) {
      if (b & 0xfffffffffffffu) classes |= rm_is_signalling(b, RM_F64) ? RM_ACC_SNAN : RM_ACC_QNAN;
      continue;
    }
    int g = rm_granule64(b);
    granule = g < granule ? g : granule;
  }
  *line = (rm_line){(int16_t)granule, 1, (uint8_t)classes};
}
