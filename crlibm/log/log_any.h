/* log in double-double for the accurate phases: any positive number, also those outside the domain of the fast phase. */
#pragma once

#include "../fp/exact.h"
#include "log_dd.h"

/* hi + lo = log(x 2^shift) within err, for positive finite x below 2^1024 and a shift of 0 or 1.
 *
 * x = m 2^e with m in [2^52, 2^53): as rm_log_dd of m, with e + shift more than its k. The sum is between -1074 and 1025: k
 * LN2_HI is below 2^10 as log_dd.h asks. Where it is not 0, k LN2_LO is below k 2^-43 and rounds by less than 2^-94 |log|.
 * Where log(1 + x), asinh x or acosh x is this log of x or of 2x but for less than 1/x, x >= 2^1021, err has room for
 * that. */
RM_FN void rm_log_any_dd(double x, int shift, double *hi, double *lo, double *err) {
  int e;
  vf64 k, rh, rl;
  vi64 j;
  rm_log_reduce_exactly((double)rm_decompose(x, &e), &k, &j, &rh, &rl);
  rm_log_sum_dd(k + (e + shift), j, rh, rl, hi, lo, err);
}
