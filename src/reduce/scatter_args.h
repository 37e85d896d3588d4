/* Argument checks of rm_index_add and rm_segment_sum. */
#pragma once

#include "../../include/repmath/core.h"
#include "scatter.h"

/* Checks the arguments, but does not read the index. Statuses name those of rm_index_add and rm_segment_sum. */
rm_status rm_scatter_check(const rm_scatter_problem *p);
