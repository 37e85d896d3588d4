/* Vectors of numbers in two parts with their exponents apart, rounded to a format: results of any size, subnormal ones and
 * those beyond the range among them, for values whose terms would leave the range of binary64.
 *
 * A value is within err of (h + l) 2^e: 1 <= |h| < 2, h = RN(h + l), and err = 0 says that it is this number. It has the sign
 * of h, as err is below 1/4. */
#pragma once

#include "../../crlibm/simd/machine.h"
#include "elements.h"

#define RM_ONE_FIELD (INT64_C(1023) << 52)
#define RM_INF_FIELD (INT64_C(0x7ff) << 52)

/* A subnormal number, or 0, 2^1022 times as large: by its bits, since operations on such numbers may be slow. */
RM_FN vf64 rm_enlarge(vf64 x) {
  const vi64 size = vf64_bits(vf64_abs(x));
  return vf64_copysign(vf64_sub(vf64_from_bits(vi64_or(size, vi64_set1(RM_ONE_FIELD))), vf64_set1(1.0)), x);
}
/* x 2^e, for a number x and an e within which all of this is normal. */
RM_FN vf64 rm_scale_by(vf64 x, vi64 e) { return vf64_from_bits(vi64_add(vf64_bits(x), vi64_sll(e, 52))); }
/* e, or the nearer end of [-limit, limit]. */
RM_FN vi64 rm_cut_exponent(vi64 e, int64_t limit) {
  const vm64 inside = vi64_ltu(vi64_add(e, vi64_set1(limit)), vi64_set1(2 * limit + 1));
  const vm64 above = vi64_ltu(e, vi64_set1(INT64_MAX));
  const vf64 end = vf64_select(above, vf64_from_bits(vi64_set1(limit)), vf64_from_bits(vi64_set1(-limit)));
  return vf64_bits(vf64_select(inside, vf64_from_bits(e), end));
}

/* The lanes of binary64 whose e is not from -1022 to 1023.
 *
 * Above, the value is 2^1024 (1 - 2^-54) or more where both of the test's ends are 1 or more, and infinite. Below, results
 * are multiples of G 2^e, G = 2^(-1074-e): at least 2^-51. |h| + 2^52 G counts in units of G, from which t is the nearest
 * multiple, ties to even, and d = |h| - t is exact: |h| and t are multiples of 2^-52. The value rounds as |h| does where
 * |d| + |l| + err is below G/2; that holds for the rounded sums where it holds, since G/2 - |d| is a multiple of 2^-52.
 * Where |d| is G/2, the side is that of l, if err is less; l = 0 = err is a tie. */
RM_COLD vm64 rm_round_scaled_ends(vf64 h, vf64 l, vi64 e, vf64 err, vm64 inside, vm64 open, vf64 *y) {
  const vf64 zero = vf64_set1(0.0), size = vf64_abs(h), low = vf64_abs(l);
  const vi64 sign = vi64_and(vf64_bits(h), vi64_set1(INT64_MIN));
  const vm64 above = vm64_andnot(vi64_ltu(e, vi64_set1(INT64_MAX)), inside);
  const vf64 infinity = vf64_copysign(vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52)), h);
  /* Below 2^-1079 every number rounds to 0, as it does at 2^-1079: e is from -1079 to -1023. */
  const vi64 cut = rm_cut_exponent(vi64_add(e, vi64_set1(1051)), 28), at = vi64_sub(cut, vi64_set1(1051));
  const vi64 unit = vi64_sll(vi64_sub(vi64_set1(1), at), 52);
  const vf64 half = vf64_from_bits(vi64_sll(vi64_sub(vi64_set1(-52), at), 52));
  const vf64 sum = vf64_add(vf64_from_bits(unit), size), d = vf64_sub(size, vf64_sub(sum, vf64_from_bits(unit)));
  const vf64 side = vf64_from_bits(vi64_xor(vf64_bits(l), sign)), off = vf64_abs(d);
  vi64 count = vi64_sub(vf64_bits(sum), unit);
  const vm64 tie = vf64_eq(off, half), known = vm64_or(vf64_lt(err, low), vf64_eq(err, zero));
  const vm64 up = vm64_and(tie, vm64_and(vf64_lt(zero, d), vf64_lt(zero, side)));
  const vm64 down = vm64_and(tie, vm64_and(vf64_lt(d, zero), vf64_lt(side, zero)));
  count = vf64_bits(vf64_select(up, vf64_from_bits(vi64_add(count, vi64_set1(1))), vf64_from_bits(count)));
  count = vf64_bits(vf64_select(down, vf64_from_bits(vi64_sub(count, vi64_set1(1))), vf64_from_bits(count)));
  const vm64 sure = vm64_or(vf64_lt(vf64_add(off, vf64_add(low, err)), half), vm64_and(tie, known));
  *y = vf64_select(inside, *y, vf64_select(above, infinity, vf64_from_bits(vi64_or(count, sign))));
  return vm64_or(vm64_and(open, vm64_or(inside, above)), vm64_not(vm64_or(sure, vm64_or(inside, above))));
}

/* *y = the value rounded to binary64; returns the lanes in which that is open. The rounding of the test's ends is in err. */
RM_FN vm64 rm_round_scaled_f64(vf64 h, vf64 l, vi64 e, vf64 err, vf64 *y) {
  const vf64 to = vf64_add(h, vf64_add(l, err));
  const vm64 inside = vi64_ltu(vi64_add(e, vi64_set1(1022)), vi64_set1(2046));
  vm64 open = vf64_ne(to, vf64_add(h, vf64_sub(l, err)));
  *y = rm_scale_by(to, e);
  /* What is less than 1 at the least exponent is subnormal. */
  open = vm64_or(open, vm64_and(vf64_lt(vf64_abs(to), vf64_set1(1.0)), vi64_eq(e, vi64_set1(-1022))));
  if (RM_UNLIKELY(!vm64_none(vm64_not(inside)))) open = rm_round_scaled_ends(h, l, e, err, inside, open, y);
  return open;
}

/* *y = a number that rm_store_elements rounds to a format below binary64 as the value: rounded to odd, where the sign of the
 * second part is known, with an exponent within binary64. */
RM_FN vm64 rm_round_scaled_below(vf64 h, vf64 l, vi64 e, vf64 err, const int fmt, vf64 *y) {
  const vf64 odd = rm_scale_by(vf64_to_odd(h, l), rm_cut_exponent(e, 500));
  *y = fmt == RM_F32 ? odd : vf64_to_odd16(odd);
  return vm64_not(vm64_or(vf64_lt(err, vf64_abs(l)), vf64_eq(err, vf64_set1(0.0))));
}
