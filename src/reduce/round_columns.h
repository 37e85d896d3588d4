/* Rounds approximate numbers, RM_LANES at a time, and tells which of them are undecided. It is also device code. */
#pragma once

#include <stddef.h>

#include "../../crlibm/simd/machine.h"

/* RN of binary64 numbers. p is aligned as one of them: a device needs that. */
RM_FN void rm_store_columns(void *p, vf64 v, const int fmt) {
  switch (fmt) {
    case RM_F16: vf64_store_f16((uint16_t *)p, vf64_to_odd16(v)); return;
    case RM_BF16: vf64_store_bf16((uint16_t *)p, vf64_to_odd16(v)); return;
    case RM_F32: vf64_store_f32((float *)p, v); return;
    default: vf64_store((double *)p, v); return;
  }
}

/* The lanes in which two vectors, stored to p and q, differ. */
RM_FN uint32_t rm_columns_differ(const unsigned char *p, const unsigned char *q, const int size) {
  uint32_t differ = 0;
  for (int l = 0; l < RM_LANES; l++) {
    uint64_t a = 0, b = 0;
    __builtin_memcpy(&a, p + l * size, (size_t)size);
    __builtin_memcpy(&b, q + l * size, (size_t)size);
    differ |= (uint32_t)(a != b) << l;
  }
  return differ;
}

/* RN of numbers within err of c + r, where c = RN(c + r); the lanes in which that is undecided or not finite.
 *
 * err = 0: c + r itself, rounded to odd on the way to the narrower formats. Else both ends of an interval that holds the
 * number are rounded; rounding is monotonic. binary64: [c + (r - e), c + (r + e)], e also covers the rounding of r -+ e,
 * 2^-53 (|r| + e). The others: [c - e, c + e], e also covers r, at most 2^-53 |c|, and the rounding of c -+ e, 2^-53 (|c| +
 * e). */
RM_FN uint32_t rm_round_columns(vf64 c, vf64 r, vf64 err, const int fmt, unsigned char *out) {
  const vm64 exact = vf64_eq(err, vf64_set1(0.0));
  const vf64 value = fmt == RM_F64 ? c : vf64_to_odd(c, r);
  if (RM_LIKELY(vm64_none(vm64_not(exact)))) {
    rm_store_columns(out, value, fmt);
    return vm64_bits(vf64_not_finite(value, fmt));
  }
  vf64 low, high;
  if (fmt == RM_F64) {
    const vf64 e = vf64_mad(vf64_abs(r), vf64_set1(0x1p-52), err);
    low = vf64_add(c, vf64_sub(r, e)), high = vf64_add(c, vf64_add(r, e));
  } else {
    const vf64 e = vf64_mad(vf64_abs(c), vf64_set1(0x1p-51), err);
    low = vf64_sub(c, e), high = vf64_add(c, e);
  }
  low = vf64_select(exact, value, low), high = vf64_select(exact, value, high);
  const uint32_t infinite = vm64_bits(vf64_not_finite(low, fmt));
  rm_store_columns(out, low, fmt);
  if (fmt == RM_F64 || fmt == RM_F32) {
    if (fmt == RM_F32) low = vf64_round_f32(low), high = vf64_round_f32(high);
    return infinite | vm64_bits(vm64_not(vi64_eq(vf64_bits(low), vf64_bits(high))));
  }
  unsigned char other[8 * RM_LANES] __attribute__((aligned(8)));
  rm_store_columns(other, high, fmt);
  return infinite | rm_columns_differ(out, other, rm_size_of(fmt));
}

/* The same for c that adding terms one after the other gave. Terms of formats below binary64 are below 2^128, so that up to
 * 2^40 of them overflow nowhere: an infinite c is the sum of terms of which some are this infinity, and none is the other one
 * or NaN. It raises no exception. Such lanes are decided by the exact branch, whatever the errors of additions beside
 * infinities are. */
RM_FN uint32_t rm_round_sums(vf64 c, vf64 r, vf64 err, const int fmt, unsigned char *out) {
  const uint32_t undecided = rm_round_columns(c, r, err, fmt, out);
  if (RM_LIKELY(!undecided) || fmt == RM_F64) return undecided;
  const vm64 infinite = vf64_is_infinite(c);
  if (vm64_none(infinite)) return undecided;
  const vf64 zero = vf64_set1(0.0);
  return rm_round_columns(c, vf64_select(infinite, zero, r), vf64_select(infinite, zero, err), fmt, out) &
         ~vm64_bits(infinite);
}
