/* The loops of pooling, compiled once per ISA: they add one more row to windows, element by element, in binary64. Buffers
 * have room for whole groups of RM_ROW_PAD numbers. */
#pragma once

#include <stdint.h>

struct rm_pool_kernels {
  /* best = x and at = id where x is greater, or is the first NaN. */
  void (*max)(int64_t n, const double *x, double id, double *best, double *at);
  /* sum + low += x: by a two-sum, its errors to low, and their magnitudes to size. */
  void (*add)(int64_t n, const double *x, double *sum, double *low, double *size);
};
