/* Sorts draws. Draws are uniform, so their leading bits split them evenly. First they are split into parts that the
 * second-level cache holds, few enough that all can be written at once; then each part into buckets of a few draws, which an
 * insertion sort orders. Threads take parts. */
#include "permutation.h"

#include <stdlib.h>
#include <string.h>

#include "../runtime/threads.h"
#include "permutation_order.h"

enum { BUCKET = 4, PART = 1 << 12, MAX_PART_BITS = 11, SOME = 1 << 12, GRAIN = 1 << 15 };

static void sort_few(const rm_draw_source *s, rm_drawn *p, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const rm_drawn moving = p[i];
    int64_t k = i;
    for (; k > 0 && rm_drawn_less(s, &moving, &p[k - 1]); k--) p[k] = p[k - 1];
    p[k] = moving;
  }
}

/* How many leading bits leave at most `size` of n in a group, on the average. */
static int leading_bits(int64_t n, int64_t size, int limit) {
  int bits = 0;
  while (bits < limit && n >> bits > size) bits++;
  return bits;
}
static uint64_t leading(uint64_t draw, int bits) { return bits ? draw >> (64 - bits) : 0; }

/* Counts to beginnings: start[g + 2] holds the count of group g, then start[g + 1] where it begins; when all have been
 * moved, that is where it ends, and start[g] where it begins. start[0] = start[1] = 0. */
static void begin(int64_t *start, int64_t groups) {
  for (int64_t g = 0; g < groups; g++) start[g + 2] += start[g + 1];
}

/* Sorts a part, whose draws have `known` leading bits in common, and writes its numbers. moved and start: room for the
 * part. */
static void sort_part(const rm_draw_source *s, const rm_drawn *part, int64_t n, int known, rm_drawn *moved, int64_t *start,
                      char *out, ptrdiff_t stride) {
  const int bits = leading_bits(n, BUCKET, 64 - known);
  const int64_t buckets = INT64_C(1) << bits;
  memset(start, 0, ((size_t)buckets + 2) * sizeof *start);
  for (int64_t i = 0; i < n; i++) start[leading(part[i].draw << known, bits) + 2]++;
  begin(start, buckets);
  for (int64_t i = 0; i < n; i++) moved[start[leading(part[i].draw << known, bits) + 1]++] = part[i];
  for (int64_t b = 0; b < buckets; b++) sort_few(s, moved + start[b], start[b + 1] - start[b]);
  for (int64_t i = 0; i < n; i++) memcpy(out + i * stride, &moved[i].number, sizeof moved[i].number);
}

/* Makes a few draws, beginning with number `from`: making them twice costs less than memory for all. */
static int64_t some_draws(const rm_draw_source *s, rm_random_fn *words64, int64_t from, int64_t n, uint64_t *draws) {
  const int64_t count = n - from < SOME ? n - from : SOME;
  const rm_random_problem here = {
      .seed = s->seed, .stream = s->stream, .first = s->first + from, .out = (char *)draws, .stride = sizeof *draws};
  words64(&here, 0, count);
  for (int64_t i = 0; i < count; i++) draws[i] = rm_draw_used(draws[i]);
  return count;
}

int rm_permute(const rm_random_problem *problem, rm_random_fn *words64) {
  const int64_t n = problem->n;
  const rm_draw_source s = {problem->seed, problem->stream, problem->first};
  const int bits = leading_bits(n, PART, MAX_PART_BITS);
  const int64_t parts = INT64_C(1) << bits;
  int64_t start[(1 << MAX_PART_BITS) + 2] = {0}, longest = 0;
  uint64_t draws[SOME];
  if (n > RM_PERMUTATION_MAX) return 0;
  for (int64_t i = 0, count; i < n; i += count) {
    count = some_draws(&s, words64, i, n, draws);
    for (int64_t k = 0; k < count; k++) start[leading(draws[k], bits) + 2]++;
  }
  for (int64_t p = 0; p < parts; p++) longest = start[p + 2] > longest ? start[p + 2] : longest;
  begin(start, parts);
  int threads = n < 2 * GRAIN ? 1 : rm_threads_for(n / GRAIN);
  if (threads > parts) threads = (int)parts;
  /* What a thread needs: a part, and its buckets' beginnings. */
  const size_t each = (size_t)longest * sizeof(rm_drawn) + ((size_t)longest + 3) * sizeof(int64_t);
  rm_drawn *pairs = malloc((size_t)n * sizeof *pairs);
  char *work = malloc((size_t)threads * each);
  const int done = pairs && work;
  if (done) {
    for (int64_t i = 0, count; i < n; i += count) {
      count = some_draws(&s, words64, i, n, draws);
      for (int64_t k = 0; k < count; k++) pairs[start[leading(draws[k], bits) + 1]++] = (rm_drawn){draws[k], i + k};
    }
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
    for (int t = 0; t < threads; t++) {
      rm_drawn *moved = (rm_drawn *)(void *)(work + (size_t)t * each);
      for (int64_t p = parts / threads * t; p < (t + 1 == threads ? parts : parts / threads * (t + 1)); p++)
        sort_part(&s, pairs + start[p], start[p + 1] - start[p], bits, moved, (int64_t *)(void *)(moved + longest),
                  problem->out + start[p] * problem->stride, problem->stride);
    }
  }
  free(pairs);
  free(work);
  return done;
}
