/* acospi: the fast kernels and their domain. */
#pragma once

#include "../acos/acos.h"
#include "acospi_b64.h"
#include "acospi_dd.h"

#define RM_ACOSPI_ODD 0

/* acos's domain; every result is 0 (for x = 1, exactly) or normal too. */
RM_FN vm64 rm_acospi_special(vf64 x, int format) { return rm_acos_special(x, format); }
RM_FN vm64 rm_acospi_decided(vf64 x, int format, vf64 *y) { return rm_acos_decided(x, format, y); }

RM_FAST_PHASE(acospi, ACOSPI, 1)
