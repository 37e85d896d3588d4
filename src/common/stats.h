/* How many results each tier has decided, for the process. Counters are added to once per call or block. */
#ifndef RM_COMMON_STATS_H
#define RM_COMMON_STATS_H

#include <stdint.h>

/* The same, gathered on the way. */
typedef struct {
  int64_t fast, double_double, accumulator;
} rm_tiers;

void rm_stats_add(int64_t fast, int64_t double_double, int64_t accumulator);

#endif
