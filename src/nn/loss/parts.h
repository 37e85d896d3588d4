/* The sums of blocks of a loss's terms, as numbers of dd_ball.h. */
#pragma once

#include "../../../crlibm/enclosure/dd_ball.h"

/* *part = the sum of n terms t + low, each within its err; low NULL: 0. Unknown, an error of infinity, where one is not
 * finite. */
void rm_loss_part(rm_dd_ball *part, int64_t n, const double *t, const double *low, const double *err);
