/* cosh for f32 and the 16-bit formats, evaluated in binary64: (b cosh r + a sinh r)/2 with the terms of sinh_b64.h.
 *
 * Relative error for |x| <= 90, |a| < b, |b sinh r| < 2^-5 b cosh r: cosh r 2^-45.65; sinh r 2^-48.4; s, 1/s 2^-53; r, whose
 * error counts tanh x < 1 times, 2^-45.7; a, b, products, the final operation 2^-50.5. Sum below 2^-44.5 <
 * RM_COSH_B64_ERR. */
#pragma once

#include "../sinh/sinh_b64.h"

#define RM_COSH_B64_ERR RM_BOUND(0x1p-44)

/* For |x| <= 90. */
RM_FN vf64 rm_cosh_eval(vf64 x) {
  vf64 a, b, c, d;
  rm_sinh_cosh_terms(x, &a, &b, &c, &d);
  return vf64_mad(b, c, vf64_mul(a, d));
}
