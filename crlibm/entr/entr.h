/* entr(x) = -x log x, 0 for x = 0 and -infinity for x < 0: the fast kernels and their domain. */
#pragma once

#include "../log/log.h"
#include "../simd/fast_phase.h"
#include "entr_b64.h"
#include "entr_dd.h"

/* v where x > 0, and what is known elsewhere: neither raises an exception. */
RM_FN vf64 rm_entr_known(vf64 x, vf64 v) {
  const vf64 zero = vf64_set1(0.0), below = vf64_from_bits(vi64_set1((int64_t)0xfff0000000000000u));
  return vf64_select(vf64_lt(x, zero), below, vf64_select(vf64_eq(x, zero), zero, v));
}

#define RM_ENTR_FAST_FORMAT(eval, fmt, FMT)                                                              \
  RM_FN vm64 rm_entr_fast_##fmt(const vf64 *x, vf64 *y) {                                                \
    const vf64 v = rm_entr_##eval(x[0]);                                                                 \
    const vm64 undecided = vm64_or(vf64_undecided_any(v, RM_ENTR_B64_ERR, FMT), vf64_overflows(v, FMT)); \
    *y = rm_entr_known(x[0], v);                                                                         \
    return vm64_andnot(vm64_or(undecided, rm_log_special(x[0], FMT)), vf64_le(x[0], vf64_set1(0.0)));    \
  }
RM_SHARED_EVAL(entr, 1)
RM_ENTR_FAST_FORMAT(shared, f16, RM_F16)
RM_ENTR_FAST_FORMAT(shared, bf16, RM_BF16)
RM_ENTR_FAST_FORMAT(eval, f32, RM_F32)

RM_FN vm64 rm_entr_fast_f64(const vf64 *x, vf64 *y) {
  vf64 hi, lo, err, v;
  rm_entr_dd(x[0], &hi, &lo, &err);
  const vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);
  *y = rm_entr_known(x[0], vf64_copysign(v, hi));
  return vm64_andnot(vm64_or(undecided, rm_log_special(x[0], RM_F64)), vf64_le(x[0], vf64_set1(0.0)));
}

RM_NONE_DECIDED(entr, 1)
