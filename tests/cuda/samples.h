/* Elements of every format for the programs of this folder. */
#ifndef RM_TESTS_SAMPLES_H
#define RM_TESTS_SAMPLES_H

#include <repmath/random.h>

#include <math.h>

#include "device.h"

static const int widths[] = {2, 2, 4, 8}; /* bytes by format */

static void put(char *at, int format, double x) {
  const float f = static_cast<float>(x);
  uint32_t bits;
  memcpy(&bits, &f, 4);
  const uint16_t high = static_cast<uint16_t>(bits >> 16);
  if (format == RM_FORMAT_F64) memcpy(at, &x, 8);
  if (format == RM_FORMAT_F32) memcpy(at, &f, 4);
  if (format == RM_FORMAT_BF16) memcpy(at, &high, 2);
  if (format == RM_FORMAT_F16) {
    if (x - x == 0.0 && fabs(x) < 65504) rm_random_uniform(format, 0, 0, 0, 1, x, x, at, 2);
    else {
      const uint16_t special = x != x ? 0x7e00 : x < 0 ? 0xfc00 : 0x7c00;
      memcpy(at, &special, 2);
    }
  }
}

/* Rows of numbers that are near, far from each other, alike, short (ties), infinite, NaN or any bits. */
enum { WIDE, NEAR_0, ALIKE, SHORT, FAR, INFINITE, BITS, KINDS };
static void fill(char *at, int format, int kind, int64_t n, ptrdiff_t stride, uint64_t stream) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t w;
    double u;
    rm_random_words32(kind, stream, i, 1, &w, 4);
    rm_random_uniform(RM_FORMAT_F64, kind, stream, i, 1, -1, 1, &u, 8);
    const double x = kind == WIDE     ? 20 * u
                     : kind == NEAR_0 ? ldexp(u, -14)
                     : kind == ALIKE  ? 1.25
                     : kind == SHORT  ? static_cast<int>(w % 16) * 0.25 - 2
                     : kind == FAR    ? ldexp(u, static_cast<int>(w % 14))
                                      : (w % 8 == 0    ? INFINITY
                                         : w % 8 < 4   ? -INFINITY
                                         : w % 64 == 5 ? NAN
                                                       : u);
    if (kind == BITS) memcpy(at + i * stride, &w, static_cast<size_t>(widths[format] < 4 ? widths[format] : 4));
    else put(at + i * stride, format, kind == INFINITE && stream % 2 && x > 1 ? -INFINITY : x);
  }
}

#endif
