/* entr in double-double: xlogy of -x and x (xlogy_dd.h), with its error. */
#pragma once

#include "../xlogy/xlogy_dd.h"

RM_FN void rm_entr_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) { rm_xlogy_dd(vf64_neg(x), x, hi, lo, err); }
