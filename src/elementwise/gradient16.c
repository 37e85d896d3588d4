/* The loop of the gradients in the 16-bit formats over a table of derivatives (table16.h), compiled once per ISA.
 *
 * d is the derivative at x, D = RN24(d) the table's normal number, |D - d| <= 2^-24 |D|; g is an f32 number, P = RN24(g D).
 * When |g D| >= 2^-126, |P - g D| <= 2^-24 |P| and |g D - g d| <= 2^-24 |g D| <= 2^-24 (1 + 2^-24) |P|: so |P - g d| <
 * 2^-22.99 |P|. Else the two are at most 2^-150, half a unit of f32, each: one unit for bf16; in f16 it is a zero of P's sign.
 *   f16    P (1 -+ 2^-22), each rounded by at most 2^-24 of itself, enclose g d. Where both round to the same number, so
 *          does g d.
 *   bf16   |P| < 2^24 units: a number within 2^-22 |P| of P is within four units. Where the bits that are dropped are further
 *          than that from half of what they count, g d rounds as P does.
 * The other lanes, infinite and NaN results, and x whose D is not a normal number (then D is NaN, and P) go to the function's
 * loop. */
#include "../../crlibm/simd/simd.h"
#include "table16.h"

extern rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2];

#if RM_HAS_VU16
#define RM_GRADIENT16_ERR RM_BOUND(0x1p-22)

enum { BLOCK = 256, LINE = 32, GROUP = 2 * RM_LANES, QUEUE = 64 }; /* elements; LINE: of the cache */

struct open {
  int count;
  uint16_t g[QUEUE + 2 * GROUP], x[QUEUE + 2 * GROUP];
  int64_t at[QUEUE + 2 * GROUP];
};

RM_COLD uint32_t flush(struct open *open, rm_map_fn *kernel, uint16_t *out) {
  uint16_t y[QUEUE + 2 * GROUP];
  const char *const in[] = {(const char *)open->g, (const char *)open->x};
  const ptrdiff_t strides[] = {sizeof *y, sizeof *y};
  const uint32_t flags = kernel(open->count, in, strides, (char *)y, sizeof *y);
  for (int k = 0; k < open->count; k++) __builtin_memcpy(out + open->at[k], y + k, sizeof *y);
  open->count = 0;
  return flags;
}

RM_COLD uint32_t some(rm_map_fn *kernel, int64_t n, const uint16_t *g, const uint16_t *x, uint16_t *y) {
  const char *const in[] = {(const char *)g, (const char *)x};
  const ptrdiff_t strides[] = {sizeof *y, sizeof *y};
  return kernel(n, in, strides, (char *)y, sizeof *y);
}

#define RM_GRADIENT16(fmt)                                                                                                  \
  RM_LOCAL uint32_t contiguous_##fmt(const float *slope, rm_map_fn *kernel, int64_t n, const uint16_t *g, const uint16_t *x, \
                                     uint16_t *y) {                                                                         \
    uint32_t flags = 0;                                                                                                     \
    int64_t i = 0;                                                                                                          \
    struct open open;                                                                                                       \
    open.count = 0;                                                                                                         \
    for (; i + 2 * GROUP <= n; i += 2 * GROUP) {                                                                            \
      vu16 y0, y1;                                                                                                          \
      if (i + BLOCK + LINE <= n) __builtin_prefetch(y + i + BLOCK, 1); /* as in lookup.c */                                 \
      const vf32 p0 = vf32_mul(vf32_load_##fmt(g + i), vf32_gather(slope, x + i));                                          \
      const vf32 p1 = vf32_mul(vf32_load_##fmt(g + i + GROUP), vf32_gather(slope, x + i + GROUP));                          \
      const uint32_t m0 = vf32_round_##fmt(p0, (float)RM_GRADIENT16_ERR, &y0);                                              \
      const uint32_t m1 = vf32_round_##fmt(p1, (float)RM_GRADIENT16_ERR, &y1);                                              \
      uint32_t mask = m0 | m1 << GROUP;                                                                                     \
      if (RM_UNLIKELY(mask)) { /* y may be g or x: they are read before the stores */                                       \
        if (__builtin_popcount(mask) > GROUP) {                                                                             \
          flags |= some(kernel, 2 * GROUP, g + i, x + i, y + i);                                                            \
          continue;                                                                                                         \
        }                                                                                                                   \
        for (; mask; mask &= mask - 1, open.count++) {                                                                      \
          const int64_t at = open.at[open.count] = i + __builtin_ctz(mask);                                                 \
          __builtin_memcpy(open.g + open.count, g + at, sizeof *g);                                                         \
          __builtin_memcpy(open.x + open.count, x + at, sizeof *x);                                                         \
        }                                                                                                                   \
      }                                                                                                                     \
      vu16_store(y + i, y0);                                                                                                \
      vu16_store(y + i + GROUP, y1);                                                                                        \
      if (RM_UNLIKELY(open.count >= QUEUE)) flags |= flush(&open, kernel, y);                                               \
    }                                                                                                                       \
    if (i < n) flags |= some(kernel, n - i, g + i, x + i, y + i);                                                           \
    if (open.count) flags |= flush(&open, kernel, y);                                                                       \
    return flags;                                                                                                           \
  }                                                                                                                         \
                                                                                                                            \
  RM_LOCAL uint32_t gradient_##fmt(const struct rm_table16 *table, rm_map_fn *kernel, int64_t n, const char *const *x,      \
                                   const ptrdiff_t *sx, char *y, ptrdiff_t sy) {                                            \
    const ptrdiff_t size = sizeof(uint16_t);                                                                                \
    if (sx[0] == size && sx[1] == size && sy == size)                                                                       \
      return contiguous_##fmt(table->slope, kernel, n, (const uint16_t *)(const void *)x[0],                                \
                              (const uint16_t *)(const void *)x[1], (uint16_t *)(void *)y);                                 \
    uint32_t flags = 0;                                                                                                     \
    for (int64_t i = 0; i < n; i += BLOCK) {                                                                                \
      uint16_t in[2][BLOCK], out[BLOCK];                                                                                    \
      const int count = n - i < BLOCK ? (int)(n - i) : BLOCK;                                                               \
      for (int k = 0; k < 2; k++)                                                                                           \
        for (int j = 0; j < count; j++) __builtin_memcpy(in[k] + j, x[k] + (i + j) * sx[k], sizeof *out);                   \
      flags |= contiguous_##fmt(table->slope, kernel, count, in[0], in[1], out);                                            \
      for (int j = 0; j < count; j++) __builtin_memcpy(y + (i + j) * sy, out + j, sizeof *out);                             \
    }                                                                                                                       \
    return flags;                                                                                                           \
  }

RM_GRADIENT16(f16)
RM_GRADIENT16(bf16)

rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2] = {gradient_f16, gradient_bf16};
#else
rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2] = {0, 0};
#endif
