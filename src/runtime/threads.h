/* How many threads a call may use, and a loop over elements that splits its work among them. */
#pragma once

#include <stdint.h>

/* How many threads a call with this many chunks of independent work may use: at least 1, at most the number set. It is always
 * 1 in a forked child (an OpenMP pool does not survive fork), inside another parallel region, and where the system has no
 * more threads. */
int rm_threads_for(int64_t chunks);

/* Computes elements [begin, end), of which there are some. Returns RM_FLAG_* bits. */
typedef uint32_t rm_part_fn(const void *context, int64_t begin, int64_t end);

/* Calls part over [0, n), split among threads where each has `grain` elements or more, at whole vectors and cache lines;
 * every thread is in the environment of env.h. Returns the flags of all. */
uint32_t rm_in_parts(int64_t n, int64_t grain, rm_part_fn *part, const void *context);
