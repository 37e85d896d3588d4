/* erf_backward(g, x) = g 2/sqrt(pi) exp(-x^2) for f32 and the 16-bit formats, evaluated in binary64.
 *
 * |x| is cut to 14: beyond, 2^128 2/sqrt(pi) exp(-196) < 2^-150, and any number below that will do. x^2 is exact unless cut.
 * Relative error: exp below 2^-44.5 for arguments up to 200 (z in sigmoid_b64.h), three roundings more. */
#pragma once

#include "../exp/exp_b64.h"
#include "erf_backward_tables.h"

#define RM_ERF_BACKWARD_B64_ERR RM_BOUND(0x1p-44)

RM_FN vf64 rm_erf_backward_eval(vf64 g, vf64 x) {
  vf64 a = vf64_min(vf64_set1(14.0), vf64_abs(x));
  return vf64_mul(vf64_mul(g, vf64_set1(RM_ERF_SLOPE)), rm_exp_eval(vf64_neg(vf64_mul(a, a))));
}
