/* cosh in double-double, for the fast phase of f64 and the accurate phase of every format: the terms, the sum and the bound
 * of sinh_dd.h, |x| <= 670. */
#pragma once

#include "../sinh/sinh_dd.h"

/* hi + lo = cosh x within err. */
RM_FN void rm_cosh_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const rm_sinh_terms t = rm_sinh_cosh_terms_dd(x);
  rm_sinh_sum_dd(&t, t.b, t.bl, t.a, t.al, hi, lo, err);
}
