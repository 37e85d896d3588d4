/* A loop over the elements of a call. It computes blocks of the generator into a buffer that stays in the first-level cache
 * and makes contiguous results from them, which it spreads if the output is not contiguous. */
#pragma once

#include "../common/elements.h"
#include "kernels.h"
#include "../common/philox.h"

enum {
  RM_CHUNK_BLOCKS = RM_DEVICE ? RM_PHILOX_STEP : 256
}; /* blocks of a chunk, a multiple of RM_PHILOX_STEP; a device
                                                                  makes one element at a time */
enum { RM_CHUNK_WORDS = 4 * RM_CHUNK_BLOCKS }; /* elements of a chunk that have one word each */
enum { RM_CHUNK_DRAWS = 2 * RM_CHUNK_BLOCKS }; /* elements of a chunk that have one draw of 64 bits each */
enum { RM_CHUNK_PAD = 16 }; /* elements that a vector may read beyond the last */

/* Makes the results of elements [from, from + n) of the call, contiguous, from the random bytes of the first one on. At least
 * RM_LANES elements beyond the last may be read. fmt is a constant at every call; results that are no floating-point numbers
 * ignore it. */
typedef uint32_t rm_chunk_fn(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                             const int fmt);

/* The body of a loop, inlined once for each maker and format. An element takes `width` bytes of randomness, 4 or 8, and its
 * result has `size` bytes. */
RM_FN uint32_t rm_random_loop(const rm_random_problem *problem, int64_t from, int64_t n, const int width, const int size,
                              rm_chunk_fn *make, const int fmt) {
  const int per_block = 16 / width;
  uint64_t draws[RM_CHUNK_DRAWS + RM_CHUNK_PAD] __attribute__((aligned(64)));
  char results[8 * RM_CHUNK_WORDS] __attribute__((aligned(64)));
  uint32_t flags = 0;
  for (int i = 0; i < RM_CHUNK_PAD; i++) draws[RM_CHUNK_DRAWS + i] = 0;
  while (n > 0) {
    const uint64_t at = (uint64_t)(problem->first + from);
    const int skip = (int)(at % (unsigned)per_block);
    const int64_t room = (int64_t)RM_CHUNK_BLOCKS * per_block - skip;
    const int count = (int)(n < room ? n : room);
    const int blocks = (skip + count + per_block - 1) / per_block;
    rm_philox_fill(problem->seed, problem->stream, at / (unsigned)per_block,
                   (blocks + RM_PHILOX_STEP - 1) / RM_PHILOX_STEP * RM_PHILOX_STEP, draws);
    const int contiguous = problem->stride == size;
    char *out = contiguous ? problem->out + from * size : results;
    flags |= make(problem, from, count, (const char *)draws + skip * width, out, fmt);
    if (!contiguous)
      for (int i = 0; i < count; i++)
        __builtin_memcpy(problem->out + (from + i) * problem->stride, out + i * size, (size_t)size);
    from += count;
    n -= count;
  }
  return flags;
}

RM_FN uint32_t rm_word_at(const char *random, int64_t i) {
  uint32_t w;
  __builtin_memcpy(&w, random + 4 * i, 4);
  return w;
}
RM_FN uint64_t rm_draw_at(const char *random, int64_t i) {
  uint64_t d;
  __builtin_memcpy(&d, random + 8 * i, 8);
  return d;
}
RM_FN vi64 rm_load_draws(const char *random, int64_t i) { return vi64_load((const int64_t *)(const void *)(random + 8 * i)); }

/* Rounds a vector to the format and stores its first `count` lanes. */
RM_FN void rm_store_first_elements(char *out, vf64 v, int count, const int fmt) {
  char lanes[8 * RM_LANES];
  char *const p = count < RM_LANES ? lanes : out;
  rm_store_elements(p, v, fmt);
  if (count < RM_LANES) __builtin_memcpy(out, lanes, (size_t)(count * rm_size_of(fmt)));
}
