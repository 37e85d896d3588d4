/* acospi for f32 and the 16-bit formats, evaluated in binary64: acos (acos_b64.h) times 1/pi.
 *
 * That file derives 2^-42.05 + 2^-52; the constant and the product add 2^-53 each: below 2^-42, the bound there. */
#pragma once

#include "../acos/acos_b64.h"
#include "../sin/sin_tables.h"

#define RM_ACOSPI_B64_ERR RM_ACOS_B64_ERR

RM_FN vf64 rm_acospi_eval(vf64 x) { return vf64_mul(rm_acos_eval(x), vf64_set1(RM_SIN_INV_PI)); }
