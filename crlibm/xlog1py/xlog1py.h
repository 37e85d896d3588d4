/* xlog1py(x, y) = x log(1 + y), and 0 for x = 0 and every y that is not NaN: the fast kernels and their domain. */
#pragma once

#include "../log1p/log1p.h"
#include "../xlogy/xlogy.h"
#include "xlog1py_b64.h"
#include "xlog1py_dd.h"

RM_FACTOR_FAST_PHASE(xlog1py, XLOG1PY, log1p)

/* As rm_xlogy_decided: NaN for y < -1; for an infinite x or y, an infinity with the sign of x y, or NaN for y = 0. */
RM_FN vm64 rm_xlog1py_decided(vf64 x, vf64 y, int format, vf64 *r) {
  (void)format;
  const vf64 infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vm64 invalid = vf64_lt(y, vf64_set1(-1.0)), far = vm64_or(vf64_is_infinite(x), vf64_is_infinite(y));
  vf64 limit = vf64_mul(vf64_copysign(infinity, x), y);
  limit = vf64_select(vm64_or(invalid, vf64_unord(limit, limit)), vf64_nan(), limit);
  const vm64 known = vm64_andnot(vm64_or(invalid, far), vf64_unord(x, y));
  *r = vf64_select(known, limit, *r);
  return known;
}
