/* atanpi for f32 and the 16-bit formats, evaluated in binary64: atan (atan_b64.h) times 1/pi.
 *
 * That file derives 2^-41.3; the constant and the product add 2^-53 each: below 2^-41, the bound there. */
#pragma once

#include "../atan/atan_b64.h"
#include "../sin/sin_tables.h"

#define RM_ATANPI_B64_ERR RM_ATAN_B64_ERR

RM_FN vf64 rm_atanpi_eval(vf64 x) { return vf64_mul(rm_atan_eval(x), vf64_set1(RM_SIN_INV_PI)); }
