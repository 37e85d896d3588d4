/* asinpi for f32 and the 16-bit formats, evaluated in binary64: asin (asin_b64.h) times 1/pi.
 *
 * That file derives 2^-41.05 + 2^-52; the constant and the product add 2^-53 each: below 2^-41, the bound there. */
#pragma once

#include "../asin/asin_b64.h"
#include "../sin/sin_tables.h"

#define RM_ASINPI_B64_ERR RM_ASIN_B64_ERR

RM_FN vf64 rm_asinpi_eval(vf64 x) { return vf64_mul(rm_asin_eval(x), vf64_set1(RM_SIN_INV_PI)); }
