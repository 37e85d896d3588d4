/* Memory that begins at a multiple of 64 bytes, a cache line and the widest vector. C's aligned_alloc and POSIX's function
 * are not on every system; this is made of malloc, whose address lies in front of what is returned. */
#ifndef REPMATH_ALIGNED_H
#define REPMATH_ALIGNED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { RM_ALIGNMENT = 64 };

/* NULL where there is no such memory. */
static inline void *rm_aligned_alloc(size_t bytes) {
  const size_t more = RM_ALIGNMENT - 1 + sizeof(void *);
  void *whole = bytes <= SIZE_MAX - more ? malloc(bytes + more) : NULL;
  if (!whole) return NULL;
  char *first = (char *)whole + sizeof(void *);
  first += -(uintptr_t)first & (RM_ALIGNMENT - 1);
  ((void **)(void *)first)[-1] = whole;
  return first;
}

static inline void rm_aligned_free(void *memory) {
  if (memory) free(((void **)memory)[-1]);
}

#endif
