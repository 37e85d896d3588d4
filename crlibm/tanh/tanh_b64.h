/* tanh for f32 and the 16-bit formats, evaluated in binary64.
 *
 * tanh |x| = E / (E + 2), E = e^(2|x|) - 1 within 2^-40.9 (expm1_b64.h). |x| is cut to 20: beyond, 1 - |tanh x| < 2^-56 and
 * every f32 or 16-bit result is +-1.
 *
 * E/(E+2) changes by 2/(E+2) <= 1 times E's relative error; E + 2 and the quotient add 2^-52 and 2^-49. Sum below 2^-40.8 <
 * RM_TANH_B64_ERR. */
#pragma once

#include "../expm1/expm1_b64.h"

#define RM_TANH_B64_ERR RM_BOUND(0x1p-40)

/* Of |x|: tanh is odd, the loop gives the sign back. */
RM_FN vf64 rm_tanh_eval(vf64 x) {
  vf64 a = vf64_min(vf64_set1(20.0), vf64_abs(x)), reciprocal;
  vf64 e = rm_expm1_core(vf64_add(a, a));
  return vf64_quotient(e, vf64_add(e, vf64_set1(2.0)), &reciprocal);
}
