/* The counters of tiers, and the public functions that read and reset them. */
#include "stats.h"

#include <stdatomic.h>

#include "../../include/repmath/reductions.h"

static _Atomic uint64_t fast_count, double_double_count, accumulator_count;

void rm_stats_add(int64_t fast, int64_t double_double, int64_t accumulator) {
  if (fast) atomic_fetch_add_explicit(&fast_count, (uint64_t)fast, memory_order_relaxed);
  if (double_double) atomic_fetch_add_explicit(&double_double_count, (uint64_t)double_double, memory_order_relaxed);
  if (accumulator) atomic_fetch_add_explicit(&accumulator_count, (uint64_t)accumulator, memory_order_relaxed);
}

void rm_get_reduction_stats(rm_reduction_stats *out) {
  if (!out) return;
  out->fast = atomic_load_explicit(&fast_count, memory_order_relaxed);
  out->double_double = atomic_load_explicit(&double_double_count, memory_order_relaxed);
  out->accumulator = atomic_load_explicit(&accumulator_count, memory_order_relaxed);
}

void rm_reset_reduction_stats(void) {
  atomic_store(&fast_count, 0);
  atomic_store(&double_double_count, 0);
  atomic_store(&accumulator_count, 0);
}
