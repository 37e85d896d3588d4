/* What the digest programs share: they print one line a case, "<case> <sha256 of the result's bytes>". Compilers,
 * instruction sets and architectures must print the same text. */
#ifndef RM_TESTS_DIGEST_H
#define RM_TESTS_DIGEST_H

#include <stdlib.h>

#include "sha256.h"

/* Results are read by integers of their width, lowest byte first, so that the text does not depend on byte order either. */
static inline void print_digest(const char *what, const char *format, const char *set, const void *y, int64_t n, int size) {
  struct sha256 s;
  char text[65];
  sha256_begin(&s);
  for (int64_t i = 0; i < n; i++) {
    const unsigned char *p = (const unsigned char *)y + i * size;
    uint64_t v = 0;
    uint16_t h;
    uint32_t w;
    if (size == 2) memcpy(&h, p, 2), v = h;
    else if (size == 4) memcpy(&w, p, 4), v = w;
    else memcpy(&v, p, 8);
    unsigned char out[8];
    for (int k = 0; k < size; k++) out[k] = (unsigned char)(v >> (8 * k));
    sha256_feed(&s, out, (size_t)size);
  }
  sha256_end(&s, text);
  printf("%s_%s.%s %s\n", what, format, set, text);
}

static inline void *allocate(int64_t bytes) {
  void *p = malloc((size_t)bytes);
  if (!p) exit(2);
  return p;
}

#endif
