/* Draws are uniform, so their leading bits split them into buckets of a few each, which insertion sorts. Threads make draws and sort
 * ranges of buckets; only counting and moving to the buckets is sequential. */
#include "permutation.h"

#include <stdlib.h>
#include <string.h>

#include "../../include/repmath/random.h"
#include "../api/threads.h"
#include "integers.h"

/* A test of its own builds this file with fewer bits, to see equal ones. */
#ifndef RM_CFG_PERMUTATION_BITS
#define RM_CFG_PERMUTATION_BITS 64
#endif

typedef struct {
  uint64_t draw;
  int64_t number;
} pair;

enum { BUCKET = 8, MOST_BITS = 40, GRAIN = 1 << 14, SOME = 1 << 12 };
static const uint64_t USED = RM_CFG_PERMUTATION_BITS == 64 ? UINT64_MAX : ~(UINT64_MAX >> RM_CFG_PERMUTATION_BITS % 64);

typedef struct {
  uint64_t seed, stream;
  int64_t first;
} source;

/* Equal draws: the 128 bits that follow, then the numbers. */
static int more_bits_less(const source *s, int64_t a, int64_t b) {
  uint64_t x[2], y[2];
  rm_more_bits(s->seed, s->stream, s->first + a, x);
  rm_more_bits(s->seed, s->stream, s->first + b, y);
  return x[0] != y[0] ? x[0] < y[0] : x[1] != y[1] ? x[1] < y[1] : a < b;
}
static int less(const source *s, const pair *a, const pair *b) {
  return RM_LIKELY(a->draw != b->draw) ? a->draw < b->draw : more_bits_less(s, a->number, b->number);
}

static void sort_few(const source *s, pair *p, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const pair moving = p[i];
    int64_t k = i;
    for (; k > 0 && less(s, &moving, &p[k - 1]); k--) p[k] = p[k - 1];
    p[k] = moving;
  }
}

/* The number of leading bits that name a bucket: from 4 to 8 pairs a bucket on the average. */
static int bucket_bits(int64_t n) {
  int bits = 0;
  while (bits < MOST_BITS && n >> bits > BUCKET) bits++;
  return bits;
}
static uint64_t bucket_of(uint64_t draw, int bits) { return bits ? draw >> (64 - bits) : 0; }

/* Sorts buckets [from, to) of the pairs and writes their numbers. start: where each bucket begins. */
static void sort_buckets(const source *s, pair *pairs, const int64_t *start, int64_t from, int64_t to, char *out,
                         ptrdiff_t stride) {
  for (int64_t b = from; b < to; b++) sort_few(s, pairs + start[b], start[b + 1] - start[b]);
  for (int64_t i = start[from]; i < start[to]; i++) memcpy(out + i * stride, &pairs[i].number, sizeof pairs[i].number);
}

/* Draws from, ..., a few at a time: they cost less than memory for all. */
static int64_t some_draws(const source *s, int64_t from, int64_t n, uint64_t *draws) {
  const int64_t count = n - from < SOME ? n - from : SOME;
  rm_random_words64(s->seed, s->stream, s->first + from, count, draws, sizeof *draws);
  for (int64_t i = 0; i < count; i++) draws[i] &= USED;
  return count;
}

int rm_permute(uint64_t seed, uint64_t stream, int64_t first, int64_t n, char *out, ptrdiff_t stride) {
  const source s = {seed, stream, first};
  const int bits = bucket_bits(n);
  const int64_t buckets = INT64_C(1) << bits;
  if (n > INT64_MAX / 32) return 0;
  pair *pairs = malloc((size_t)n * sizeof *pairs);
  uint64_t draws[SOME];
  int64_t *start = calloc((size_t)buckets + 2, sizeof *start);
  const int done = pairs && start;
  if (done) {
    int64_t *end = start + 1; /* where the next pair of each bucket goes, and in the end where each bucket begins */
    for (int64_t i = 0, count; i < n; i += count) {
      count = some_draws(&s, i, n, draws);
      for (int64_t k = 0; k < count; k++) end[bucket_of(draws[k], bits) + 1]++;
    }
    for (int64_t b = 0; b < buckets; b++) end[b + 1] += end[b];
    for (int64_t i = 0, count; i < n; i += count) {
      count = some_draws(&s, i, n, draws);
      for (int64_t k = 0; k < count; k++) pairs[end[bucket_of(draws[k], bits)]++] = (pair){draws[k], i + k};
    }
    const int threads = n < 2 * GRAIN ? 1 : rm_threads_for(n / GRAIN);
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
    for (int t = 0; t < threads; t++)
      sort_buckets(&s, pairs, start, buckets / threads * t, t + 1 == threads ? buckets : buckets / threads * (t + 1), out,
                   stride);
  }
  free(pairs);
  free(start);
  return done;
}
