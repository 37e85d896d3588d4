#include "exact.h"

#define RM_DEFINE_FEED(fmt, FMT, uint)                                                                                      \
  RM_LOCAL uint bits_##fmt(const void *base, int64_t i, ptrdiff_t stride) {                                                 \
    uint v;                                                                                                                 \
    __builtin_memcpy(&v, (const char *)base + i * stride, sizeof v);                                                        \
    return v;                                                                                                               \
  }                                                                                                                         \
  RM_SHARED void rm_superacc_add_array_##fmt(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx) {            \
    for (int64_t i = 0; i < n; i++) {                                                                                       \
      const uint64_t a = bits_##fmt(x, i, sx);                                                                              \
      if (RM_UNLIKELY(rm_is_signalling(a, FMT)))                                                                                     \
        acc->classes |= RM_ACC_SNAN;                                                                                        \
      else                                                                                                                  \
        rm_superacc_add(acc, rm_to_double(a, FMT));                                                                         \
    }                                                                                                                       \
  }                                                                                                                         \
  RM_SHARED void rm_superacc_add_products_##fmt(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx,           \
                                                const void *y, ptrdiff_t sy) {                                              \
    for (int64_t i = 0; i < n; i++) {                                                                                       \
      const uint64_t a = bits_##fmt(x, i, sx), b = bits_##fmt(y, i, sy);                                                    \
      if (RM_UNLIKELY(rm_is_signalling(a, FMT) || rm_is_signalling(b, FMT)))                                                                  \
        acc->classes |= RM_ACC_SNAN;                                                                                        \
      else                                                                                                                  \
        rm_superacc_add_product(acc, rm_to_double(a, FMT), rm_to_double(b, FMT));                                           \
    }                                                                                                                       \
  }
RM_DEFINE_FEED(f16, RM_F16, uint16_t)
RM_DEFINE_FEED(bf16, RM_BF16, uint16_t)
RM_DEFINE_FEED(f32, RM_F32, uint32_t)
RM_DEFINE_FEED(f64, RM_F64, uint64_t)
