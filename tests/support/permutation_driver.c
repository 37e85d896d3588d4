/* The sort of a permutation with few bits of each draw, so that equal ones are common: permutation_driver <seed> <stream>
 * <first> <n> prints the numbers. Compiled with -DRM_CFG_PERMUTATION_BITS=...; the draws come from the library. */
#include <stdio.h>
#include <stdlib.h>

#include "../../include/repmath/random.h"
#include "../../src/random/permutation.c"

int rm_threads_for(int64_t chunks) { return chunks > 0; }

static uint32_t words64(const rm_random_problem *problem, int64_t from, int64_t n) {
  rm_random_words64(problem->seed, problem->stream, problem->first + from, n,
                    (uint64_t *)(void *)(problem->out + from * problem->stride), problem->stride);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const int64_t n = strtoll(argv[4], NULL, 10);
  int64_t *out = malloc((size_t)n * sizeof *out);
  const rm_random_problem problem = {.seed = strtoull(argv[1], NULL, 10),
                                     .stream = strtoull(argv[2], NULL, 10),
                                     .first = strtoll(argv[3], NULL, 10),
                                     .out = (char *)out,
                                     .stride = sizeof *out,
                                     .n = n};
  if (!out || !rm_permute(&problem, words64)) return 3;
  for (int64_t i = 0; i < n; i++) printf("%lld\n", (long long)out[i]);
  return 0;
}
