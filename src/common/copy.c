#include "copy.h"

#include "../../crlibm/config.h"

/* Four loads before four stores: a compiler may not move a load before a store that it cannot tell apart from it. */
#define RM_COPY(type)                                                                                     \
  for (; i + 4 <= n; i += 4, from += 4 * stride, to += 4 * step) {                                        \
    type a, b, c, d;                                                                                      \
    __builtin_memcpy(&a, from, sizeof a), __builtin_memcpy(&b, from + stride, sizeof b);                  \
    __builtin_memcpy(&c, from + 2 * stride, sizeof c), __builtin_memcpy(&d, from + 3 * stride, sizeof d); \
    __builtin_memcpy(to, &a, sizeof a), __builtin_memcpy(to + step, &b, sizeof b);                        \
    __builtin_memcpy(to + 2 * step, &c, sizeof c), __builtin_memcpy(to + 3 * step, &d, sizeof d);         \
  }                                                                                                       \
  for (; i < n; i++, from += stride, to += step) __builtin_memcpy(to, from, sizeof(type));

/* One element at all n places, which are neighbours: what is there is copied behind itself. */
static void fill(char *to, const char *from, size_t bytes, size_t size) {
  for (size_t have = 0; have < bytes;) {
    const size_t more = have == 0 ? size : have < bytes - have ? have : bytes - have;
    __builtin_memcpy(to + have, have == 0 ? from : to, more);
    have += more;
  }
}

void rm_copy_elements(char *to, ptrdiff_t step, const char *from, ptrdiff_t stride, int64_t n, int size) {
  int64_t i = 0;
  if (stride == size && step == size) {
    __builtin_memcpy(to, from, (size_t)n * (size_t)size);
    return;
  }
  if (stride == 0 && step == size && n > 16) {
    fill(to, from, (size_t)n * (size_t)size, (size_t)size);
    return;
  }
  switch (size) {
    case 2: RM_COPY(uint16_t) break;
    case 4: RM_COPY(uint32_t) break;
    default: RM_COPY(uint64_t)
  }
}
