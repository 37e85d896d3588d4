/* Compiled for speed, unlike partials.c: each is a loop that every compiler makes vectors of. No sum depends on how many
 * lanes there are. */
#include "join.h"

#include <string.h>

void rm_join_block(int64_t parts, int n, const double *sums, ptrdiff_t step, double *restrict c, double *restrict size) {
  for (int i = 0; i < n; i++) c[i] = sums[i] + 0.0, size[i] = __builtin_fabs(sums[i]); /* a sum of zeros is +0 */
  for (int64_t p = 1; p < parts; p++) {
    const double *from = (const double *)(const void *)((const char *)sums + p * step);
    for (int i = 0; i < n; i++) c[i] += from[i], size[i] += __builtin_fabs(from[i]);
  }
}

void rm_add_bounds(int n, double u, double root, const double *roots, double *restrict err) {
  for (int i = 0; i < n; i++) err[i] = err[i] * u + root * roots[i];
}

int rm_round_block_f32(int n, const double *c, const double *err, float *restrict low, uint32_t *restrict differs) {
  enum { INFINITE = 0x7f800000 };
  float high[RM_JOIN_BLOCK];
  uint32_t a[RM_JOIN_BLOCK], b[RM_JOIN_BLOCK], any = 0;
  for (int i = 0; i < n; i++) {
    const double e = __builtin_fabs(c[i]) * 0x1p-52 + err[i];
    low[i] = (float)(c[i] - e);
    high[i] = (float)(c[i] + e);
  }
  memcpy(a, low, (size_t)n * sizeof *a), memcpy(b, high, (size_t)n * sizeof *b);
  for (int i = 0; i < n; i++) {
    differs[i] = (a[i] ^ b[i]) | (uint32_t)((a[i] & INFINITE) == INFINITE);
    any |= differs[i];
  }
  return any != 0;
}
