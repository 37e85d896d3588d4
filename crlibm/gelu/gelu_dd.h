/* gelu in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * As in gelu_b64.h, by ndtr_dd.h, whose bound is erfc's. In the product with |x|/2 the low part rounds by 2^-71 twice more:
 * RM_GELU_DD_ERR times the result is added. */
#pragma once

#include "../ndtr/ndtr_dd.h"

#define RM_GELU_DD_ERR RM_BOUND(0x1p-70)

/* hi + lo = |gelu x| within err, for x >= -36.5 and |x| 0 or at least 2^-960. */
RM_FN void rm_gelu_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 m = vf64_mul(vf64_abs(x), vf64_set1(0.5));
  vf64 h, l;
  rm_ndtr_twice_dd(x, &h, &l, err);
  *hi = vf64_mul(m, h);
  *lo = vf64_mad(m, l, vf64_mul_err(m, h, *hi));
  *err = vf64_mad(m, *err, vf64_mul(*hi, vf64_set1(RM_GELU_DD_ERR)));
}
