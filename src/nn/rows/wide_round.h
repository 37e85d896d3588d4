/* Ziv's rounding test of vectors of binary64 numbers in two parts, and their places. */
#pragma once

#include <stddef.h>

#include "../../../crlibm/simd/undecided.h"

/* The lanes in which h + l, within err, is undecided, too small for the argument about underflow without being `known`, or
 * not finite. The test's own rounding is in err. An exact zero is +0. */
RM_FN vm64 rm_wide_round(vf64 h, vf64 l, vf64 err, vm64 known, vf64 *y) {
  const vm64 ends = vf64_undecided_f64(h, l, vf64_mul(err, vf64_set1(RM_BOUND(1.0))), y);
  *y = vf64_add(*y, vf64_set1(0.0));
  const vf64 size = vf64_abs(*y);
  const vm64 small = vm64_not(vm64_or(known, vf64_le(vf64_set1(0x1p-960), size)));
  return vm64_or(vm64_or(ends, small), vm64_not(vf64_le(size, vf64_set1(0x1p1020))));
}

/* Stores a vector of results, and the indices of undecided ones. */
RM_FN int64_t rm_wide_put(vf64 y, vm64 undecided, int64_t i, int64_t n, char *out, int64_t *index) {
  int64_t count = 0;
  if (i + RM_LANES <= n) {
    vf64_store((double *)(void *)(out + i * 8), y);
  } else {
    double tail[RM_LANES];
    vf64_store(tail, y);
    __builtin_memcpy(out + i * 8, tail, (size_t)(n - i) * sizeof *tail);
  }
  if (__builtin_expect(vm64_none(undecided), 1)) return 0;
  const uint32_t bits = vm64_bits(undecided);
  for (int k = 0; k < RM_LANES && i + k < n; k++)
    if (bits >> k & 1) index[count++] = i + k;
  return count;
}
