/* The loop of a 16-bit format over an evaluation in binary32: 4 RM_LANES elements at once, a test of the results or of the
 * arguments, and a queue of the elements that it leaves undecided for the function's loop in binary64. */
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

/* y[0], y[1]: the results of 2 RM_GROUP16 elements, from element i of the arguments x on; bit k of what it returns says that
 * element i + k is undecided. `context` is the loop's. */
typedef uint32_t rm_step16(const void *context, const uint16_t *const *x, int64_t i, vu16 *y);

struct rm_undecided16 {
  int count;
  uint16_t x[2][RM_ROOM16];
  int64_t at[RM_ROOM16];
};

RM_COLD uint32_t rm_flush16(struct rm_undecided16 *undecided, rm_map_fn *wider, uint16_t *out) {
  uint16_t y[RM_ROOM16];
  const char *const in[] = {(const char *)undecided->x[0], (const char *)undecided->x[1]};
  const uint32_t flags = wider(undecided->count, in, (char *)y);
  for (int k = 0; k < undecided->count; k++) __builtin_memcpy(out + undecided->at[k], y + k, sizeof *y);
  undecided->count = 0;
  return flags;
}

/* Elements i, ..., i + n - 1 by the other loop. */
RM_COLD uint32_t rm_some16(rm_map_fn *wider, int arity, int64_t i, int64_t n, const uint16_t *const *x, uint16_t *y) {
  const char *const in[] = {(const char *)(x[0] + i), arity > 1 ? (const char *)(x[1] + i) : NULL};
  return wider(n, in, (char *)(y + i));
}

/* As in special.h: arguments of which the other loop has been asked, some that came twice in a block, and their results. */
enum { RM_KNOWN16 = 8 };
struct rm_known16 {
  int count; /* ever */
  uint16_t x[2][RM_KNOWN16], y[RM_KNOWN16];
};

/* Of 2 RM_GROUP16 elements x the results that are known, put into y; which they are. */
RM_NOINLINE uint32_t rm_know16(const struct rm_known16 *known, int arity, const uint16_t (*x)[2 * RM_GROUP16], uint16_t *y) {
  const int held = known->count < RM_KNOWN16 ? known->count : RM_KNOWN16;
  uint32_t found = 0;
  for (int e = 0; e < held; e++) {
    uint32_t others = 0;
    for (int k = 0; k < arity; k++) {
      const struct rm_inputs16 one = {known->x[k][e], known->x[k][e], 0, {0, 0, 0}};
      others |= vu16_outside(x[k], one);
    }
    uint32_t same = ~others;
    if (2 * RM_GROUP16 < 32) same &= (UINT32_C(1) << 2 * RM_GROUP16 % 32) - 1;
    if (!same) continue;
    found |= same;
    const uint16_t first = known->x[0][e], second = known->x[1][e], value = known->y[e];
    if (arity == 1)
      for (int k = 0; k < 2 * RM_GROUP16; k++) y[k] = x[0][k] == first ? value : y[k];
    else
      for (int k = 0; k < 2 * RM_GROUP16; k++) y[k] = x[0][k] == first && x[1][k] == second ? value : y[k];
  }
  return found;
}

RM_FN void rm_learn16(struct rm_known16 *known, int arity, uint16_t x0, uint16_t x1, const uint16_t *y) {
  const int at = known->count++ % RM_KNOWN16;
  known->x[0][at] = x0;
  known->x[1][at] = arity > 1 ? x1 : 0;
  __builtin_memcpy(known->y + at, y, sizeof *y); /* elements may lie anywhere */
}

/* As rm_map_fn, by a step with its context. */
RM_FN uint32_t rm_map16(rm_step16 *step, const void *context, rm_map_fn *wider, int arity, int64_t n, const char *const *args,
                        char *to) {
  const uint16_t *const x[2] = {(const uint16_t *)(const void *)args[0],
                                arity > 1 ? (const uint16_t *)(const void *)args[1] : NULL};
  uint16_t *const y = (uint16_t *)(void *)to;
  uint32_t flags = 0;
  int64_t i = 0;
  struct rm_undecided16 undecided;
  struct rm_known16 known;
  undecided.count = known.count = 0;
  for (; i + 2 * RM_GROUP16 <= n; i += 2 * RM_GROUP16) {
    vu16 v[2];
    if (i + RM_AHEAD16 + RM_LINE16 <= n) { /* as in lookup.c */
      RM_UNROLL for (int k = 0; k < arity; k++) __builtin_prefetch(x[k] + i + RM_AHEAD16);
      __builtin_prefetch(y + i + RM_BLOCK16, 1);
    }
    uint32_t mask = step(context, x, i, v);
    if (RM_UNLIKELY(mask)) { /* the arguments are read before the stores */
      uint16_t in[2][2 * RM_GROUP16], out[2 * RM_GROUP16];
      for (int k = 0; k < arity; k++) __builtin_memcpy(in[k], x[k] + i, sizeof in[k]);
      vu16_store(out, v[0]);
      vu16_store(out + RM_GROUP16, v[1]);
      mask &= ~rm_know16(&known, arity, (const uint16_t (*)[2 * RM_GROUP16]) in, out);
      if (__builtin_popcount(mask) > RM_GROUP16) {
        const int first = __builtin_ctz(mask), last = 31 - __builtin_clz(mask);
        const int again = in[0][first] == in[0][last] && (arity == 1 || in[1][first] == in[1][last]);
        flags |= rm_some16(wider, arity, i, 2 * RM_GROUP16, x, y);
        if (again) rm_learn16(&known, arity, in[0][first], in[1][first], y + i + first);
        continue;
      }
      for (; mask; mask &= mask - 1, undecided.count++) {
        const int at = __builtin_ctz(mask);
        undecided.at[undecided.count] = i + at;
        for (int k = 0; k < arity; k++) undecided.x[k][undecided.count] = in[k][at];
      }
      __builtin_memcpy(y + i, out, sizeof out);
      if (RM_UNLIKELY(undecided.count >= RM_QUEUE16)) {
        const int64_t at = undecided.at[0];
        flags |= rm_flush16(&undecided, wider, y);
        rm_learn16(&known, arity, undecided.x[0][0], undecided.x[1][0], y + at);
      }
      continue;
    }
    vu16_store(y + i, v[0]);
    vu16_store(y + i + RM_GROUP16, v[1]);
  }
  if (i < n) flags |= rm_some16(wider, arity, i, n - i, x, y);
  if (undecided.count) flags |= rm_flush16(&undecided, wider, y);
  return flags;
}

#endif
