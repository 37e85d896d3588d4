/* xlogy(x, y) = x log y, and 0 for x = 0 and every y that is not NaN: the fast kernels and their domain. Also the fast
 * phase that xlog1py shares with it. */
#pragma once

#include "../log/log.h"
#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "xlogy_b64.h"
#include "xlogy_dd.h"

/* x times a function of y with the domain of rm_<of>_special: *zero are the lanes of x = 0, whose result is +0. An
 * infinite x has an infinite or NaN product, which is left undecided. */
#define RM_FACTOR_FAST_FORMAT(name, NAME, of, eval, fmt, FMT)                                                    \
  RM_FN vm64 rm_##name##_fast_##fmt(const vf64 *x, vf64 *y) {                                                    \
    const vm64 zero = vf64_eq(x[0], vf64_set1(0.0));                                                             \
    vf64 v = rm_##name##_##eval(x[0], x[1]);                                                                     \
    vm64 undecided = vm64_or(vf64_undecided_any(v, RM_##NAME##_B64_ERR, FMT), vf64_overflows(v, FMT));           \
    *y = vf64_select(zero, vf64_set1(0.0), v);                                                                   \
    return vm64_or(vm64_andnot(vm64_or(undecided, rm_##of##_special(x[1], FMT)), zero), vf64_unord(x[1], x[1])); \
  }
#define RM_FACTOR_FAST_PHASE(name, NAME, of)                                                                        \
  RM_SHARED_EVAL(name, 2)                                                                                           \
  RM_FACTOR_FAST_FORMAT(name, NAME, of, shared, f16, RM_F16)                                                        \
  RM_FACTOR_FAST_FORMAT(name, NAME, of, shared, bf16, RM_BF16)                                                      \
  RM_FACTOR_FAST_FORMAT(name, NAME, of, eval, f32, RM_F32)                                                          \
  RM_FN vm64 rm_##name##_fast_f64(const vf64 *x, vf64 *y) {                                                         \
    const vm64 zero = vf64_eq(x[0], vf64_set1(0.0));                                                                \
    vf64 hi, lo, err, v;                                                                                            \
    rm_##name##_dd(x[0], x[1], &hi, &lo, &err);                                                                     \
    vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);                                                           \
    *y = vf64_select(zero, vf64_set1(0.0), vf64_copysign(v, hi));                                                   \
    return vm64_or(vm64_andnot(vm64_or(undecided, rm_##of##_special(x[1], RM_F64)), zero), vf64_unord(x[1], x[1])); \
  }
RM_FACTOR_FAST_PHASE(xlogy, XLOGY, log)

/* Lanes with a known result, put into *r, where neither is NaN and x is not 0: NaN for y < 0, which is invalid; for an
 * infinite x, and y = 0 or infinity, an infinity with the sign of x (y - 1), or NaN for y = 1. */
RM_FN vm64 rm_xlogy_decided(vf64 x, vf64 y, int format, vf64 *r) {
  (void)format;
  const vf64 nought = vf64_set1(0.0), infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vm64 negative = vf64_lt(y, nought), far = vm64_or(vf64_is_infinite(x), vf64_is_infinite(y));
  vf64 limit = vf64_mul(vf64_copysign(infinity, x), vf64_sub(y, vf64_set1(1.0)));
  limit = vf64_select(vm64_or(negative, vf64_unord(limit, limit)), vf64_nan(), limit);
  const vm64 known = vm64_andnot(vm64_or(vm64_or(negative, far), vf64_eq(y, nought)), vf64_unord(x, y));
  *r = vf64_select(known, limit, *r);
  return known;
}
