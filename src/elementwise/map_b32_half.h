/* The loop of a 16-bit format over an evaluation in binary32: 4 RM_LANES elements at once, a test of the results or of the arguments,
 * and a queue of the elements that it leaves undecided for the function's loop in binary64. */
#pragma once

#include "../../crlibm/simd/simd.h"
#include "kernels.h"

#if RM_HAS_VU16

enum {
  RM_BLOCK16 = 256,
  RM_LINE16 = 32,
  RM_AHEAD16 = 1024,
  RM_GROUP16 = 2 * RM_LANES,
  RM_QUEUE16 = 64
}; /* elements; LINE: of the cache */
enum { RM_ROOM16 = RM_QUEUE16 + 2 * RM_GROUP16 };

/* y[0], y[1]: the results of 2 RM_GROUP16 elements, from element i of the arguments x on; bit k of what it returns says that element
 * i + k is undecided. `context` is the loop's. */
typedef uint32_t rm_step16(const void *context, const uint16_t *const *x, int64_t i, vu16 *y);

struct rm_undecided16 {
  int count;
  uint16_t x[2][RM_ROOM16];
  int64_t at[RM_ROOM16];
};

RM_COLD uint32_t rm_flush16(struct rm_undecided16 *undecided, rm_map_fn *wider, uint16_t *out) {
  uint16_t y[RM_ROOM16];
  const char *const in[] = {(const char *)undecided->x[0], (const char *)undecided->x[1]};
  const ptrdiff_t strides[] = {sizeof *y, sizeof *y};
  const uint32_t flags = wider(undecided->count, in, strides, (char *)y, sizeof *y);
  for (int k = 0; k < undecided->count; k++) __builtin_memcpy(out + undecided->at[k], y + k, sizeof *y);
  undecided->count = 0;
  return flags;
}

/* Elements i, ..., i + n - 1 by the other loop. */
RM_COLD uint32_t rm_some16(rm_map_fn *wider, int arity, int64_t i, int64_t n, const uint16_t *const *x, uint16_t *y) {
  const char *const in[] = {(const char *)(x[0] + i), arity > 1 ? (const char *)(x[1] + i) : NULL};
  const ptrdiff_t strides[] = {sizeof *y, sizeof *y};
  return wider(n, in, strides, (char *)(y + i), sizeof *y);
}

/* y may be one of x. */
RM_FN uint32_t rm_contiguous16(rm_step16 *step, const void *context, rm_map_fn *wider, int arity, int64_t n,
                               const uint16_t *const *x, uint16_t *y) {
  uint32_t flags = 0;
  int64_t i = 0;
  struct rm_undecided16 undecided;
  undecided.count = 0;
  for (; i + 2 * RM_GROUP16 <= n; i += 2 * RM_GROUP16) {
    vu16 v[2];
    if (i + RM_AHEAD16 + RM_LINE16 <= n) { /* as in lookup.c */
      RM_UNROLL for (int k = 0; k < arity; k++) __builtin_prefetch(x[k] + i + RM_AHEAD16);
      __builtin_prefetch(y + i + RM_BLOCK16, 1);
    }
    uint32_t mask = step(context, x, i, v);
    if (RM_UNLIKELY(mask)) { /* the arguments are read before the stores */
      if (__builtin_popcount(mask) > RM_GROUP16) {
        flags |= rm_some16(wider, arity, i, 2 * RM_GROUP16, x, y);
        continue;
      }
      for (; mask; mask &= mask - 1, undecided.count++) {
        const int64_t at = undecided.at[undecided.count] = i + __builtin_ctz(mask);
        for (int k = 0; k < arity; k++) __builtin_memcpy(undecided.x[k] + undecided.count, x[k] + at, sizeof *y);
      }
    }
    vu16_store(y + i, v[0]);
    vu16_store(y + i + RM_GROUP16, v[1]);
    if (RM_UNLIKELY(undecided.count >= RM_QUEUE16)) flags |= rm_flush16(&undecided, wider, y);
  }
  if (i < n) flags |= rm_some16(wider, arity, i, n - i, x, y);
  if (undecided.count) flags |= rm_flush16(&undecided, wider, y);
  return flags;
}

/* As rm_map_fn, by `run`, rm_contiguous16 of a function and format. */
typedef uint32_t rm_run16(const void *context, rm_map_fn *wider, int64_t n, const uint16_t *const *x, uint16_t *y);
RM_STATIC uint32_t rm_map16(rm_run16 *run, const void *context, rm_map_fn *wider, int arity, int64_t n, const char *const *x,
                            const ptrdiff_t *sx, char *y, ptrdiff_t sy) {
  const uint16_t *in[2] = {(const uint16_t *)(const void *)x[0], arity > 1 ? (const uint16_t *)(const void *)x[1] : NULL};
  uint16_t buffer[3][RM_BLOCK16];
  if (sy == sizeof **buffer && sx[0] == sy && (arity == 1 || sx[1] == sy))
    return run(context, wider, n, in, (uint16_t *)(void *)y);
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i += RM_BLOCK16) {
    const int count = n - i < RM_BLOCK16 ? (int)(n - i) : RM_BLOCK16;
    for (int k = 0; k < arity; k++) {
      for (int j = 0; j < count; j++) __builtin_memcpy(buffer[k] + j, x[k] + (i + j) * sx[k], sizeof **buffer);
      in[k] = buffer[k];
    }
    flags |= run(context, wider, count, in, buffer[2]);
    for (int j = 0; j < count; j++) __builtin_memcpy(y + (i + j) * sy, buffer[2] + j, sizeof **buffer);
  }
  return flags;
}

#endif
