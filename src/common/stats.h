/* Counters of how many results each tier has decided in this process. A call or block adds to them once. */
#pragma once

#include <stdint.h>

/* The same numbers, gathered on the way to rm_stats_add. */
typedef struct {
  int64_t fast, double_double, accumulator;
} rm_tiers;

void rm_stats_add(int64_t fast, int64_t double_double, int64_t accumulator);
