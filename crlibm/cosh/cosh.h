/* cosh: the fast kernels and their domain. */
#pragma once

#include "cosh_b64.h"
#include "cosh_dd.h"
#include "../sinh/sinh.h"

#define RM_COSH_ODD 0

/* The lanes of sinh: the results overflow alike. */
RM_FN vm64 rm_cosh_special(vf64 x, int format) { return rm_sinh_special(x, format); }

/* No special lane has a result that is known at once. */
RM_NONE_DECIDED(cosh, 1)

RM_FAST_PHASE(cosh, COSH, 1)
