/* gelu(x) = x Phi(x) for f32 and the 16-bit formats, evaluated in binary64.
 *
 * |gelu x| = (|x|/2) 2 Phi(x) by ndtr_b64.h: the product adds 2^-53 to erfc's bound, 2^-40.1 < RM_GELU_B64_ERR. */
#pragma once

#include "../ndtr/ndtr_b64.h"

#define RM_GELU_B64_ERR RM_BOUND(0x1p-40)

/* |gelu x|: the loop gives it the sign of x. */
RM_FN vf64 rm_gelu_eval(vf64 x) { return vf64_mul(vf64_mul(vf64_abs(x), vf64_set1(0.5)), rm_ndtr_twice_eval(x)); }
