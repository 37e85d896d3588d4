/* erf: the fast kernels and their domain. */
#pragma once

#include "erf_b64.h"
#include "erf_dd.h"
#include "../simd/fast_phase.h"

#define RM_ERF_ODD 0 /* rm_erf_eval takes the sign along, rm_erf_dd does not */

/* f32 and the 16-bit formats: NaN only. A subnormal result is that of a subnormal x = n 2^-149 (2^-24 for f16), for which the
 * evaluation is RN(x c_1), c_1 = RN(2/sqrt(pi)), off by less than 2^-51 relatively; no n below 2^23 has n 2/sqrt(pi) that
 * close to a midpoint (erf_gen.py checks all of them). The 16-bit formats round twice there, through f32: for them n < 2^7
 * (bf16) or 2^10 (f16), and the nearest midpoint is 7 10^-7 away relatively, more than half a unit of f32 (2^-17 units of
 * bf16, 2^-24 of f16). */
RM_FN vm64 rm_erf_special(vf64 x, int format) { return vf64_special_odd(x, format); }

RM_NONE_DECIDED(erf, 1)

RM_FAST_PHASE_B64(erf, ERF, 1)
RM_FAST_PHASE_DD(erf, 1, 1)
