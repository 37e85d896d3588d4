/* Threads of one call. */
#ifndef RM_API_THREADS_H
#define RM_API_THREADS_H

#include <stdint.h>

/* How many threads a call with this many chunks of independent work may use: at least 1, at most the number set. Always 1 in
 * a forked child (an OpenMP pool does not survive fork) and inside another parallel region. */
int rm_threads_for(int64_t chunks);

#endif
