/* rsqrt for f32 and the 16-bit formats, evaluated in binary64: one operation of the SIMD vocabulary, whose error simd.h
 * states. */
#pragma once

#include "../simd/undecided.h"

#define RM_RSQRT_B64_ERR RM_BOUND(0x1p-40)

RM_FN vf64 rm_rsqrt_eval(vf64 x) { return vf64_rsqrt(x); }
