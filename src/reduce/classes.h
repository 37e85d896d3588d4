/* The infinities and NaNs among neighbours in memory, in the compiler's vectors, compiled once per ISA. The highest bit of a
 * difference says whether it is negative, as in exact.inl: there are no comparisons, since base has none without signs. */
#pragma once

#include "../common/elements.h"
#include "kernels.h"
#include "superaccumulator.h"

#define RM_DEFINE_CLASSES(name, word, WIDTH, FMT)                                                                       \
  static uint32_t name(int64_t n, const char *x) {                                                                      \
    enum { RM_WORDS = (RM_LANES > 1 ? 8 * RM_LANES : 16) / (WIDTH), RM_GROUP = 8 * RM_WORDS };                          \
    typedef word words __attribute__((vector_size((WIDTH) * RM_WORDS)));                                                \
    const word infinity = (word)rm_infinity_bits(FMT), quieted = (word)rm_nan_bits(FMT), sign = (word)rm_sign_bit(FMT); \
    words quiet = {0}, signalling = {0}, positive = {0}, negative = {0};                                                \
    for (int64_t i = 0; i < n; i += RM_GROUP) {                                                                         \
      words b[8], other = {0};                                                                                          \
      if (RM_UNLIKELY(n - i < RM_GROUP)) __builtin_memset(b, 0, sizeof b);                                              \
      if (RM_LIKELY(n - i >= RM_GROUP)) __builtin_memcpy(b, x + i * (WIDTH), sizeof b);                                 \
      else __builtin_memcpy(b, x + i * (WIDTH), (size_t)(n - i) * (WIDTH));                                             \
      for (int k = 0; k < 8; k++) { /* quiet NaNs, and whether there is anything else */                                \
        const words size = b[k] & (word)~sign, low = size - quieted;                                                    \
        quiet |= ~low;                                                                                                  \
        other |= low & ~(size - infinity);                                                                              \
      }                                                                                                                 \
      word any = 0;                                                                                                     \
      for (int l = 0; l < RM_WORDS; l++) any |= other[l];                                                               \
      for (int k = 0; any & sign && k < 8; k++) {                                                                       \
        const words size = b[k] & (word)~sign, infinite = (size ^ infinity) - 1;                                        \
        signalling |= (infinity - size) & (size - quieted);                                                             \
        positive |= infinite & ~b[k];                                                                                   \
        negative |= infinite & b[k];                                                                                    \
      }                                                                                                                 \
    }                                                                                                                   \
    word q = 0, s = 0, p = 0, m = 0;                                                                                    \
    for (int l = 0; l < RM_WORDS; l++) q |= quiet[l], s |= signalling[l], p |= positive[l], m |= negative[l];           \
    return (q & sign ? RM_ACC_QNAN : 0u) | (s & sign ? RM_ACC_SNAN : 0u) | (p & sign ? RM_ACC_PINF : 0u) |              \
           (m & sign ? RM_ACC_NINF : 0u);                                                                               \
  }
RM_DEFINE_CLASSES(rm_classes_f16, uint16_t, 2, RM_F16)
RM_DEFINE_CLASSES(rm_classes_bf16, uint16_t, 2, RM_BF16)
RM_DEFINE_CLASSES(rm_classes_f32, uint32_t, 4, RM_F32)
RM_DEFINE_CLASSES(rm_classes_f64, uint64_t, 8, RM_F64)
#undef RM_DEFINE_CLASSES
