/* What rm_index_add and rm_segment_sum are asked to do. */
#ifndef RM_REDUCE_SCATTER_ARGS_H
#define RM_REDUCE_SCATTER_ARGS_H

#include "../../include/repmath/core.h"
#include "scatter.h"

/* Sets *p from the arguments of rm_index_add (add 1) or rm_segment_sum and checks them, but does not read the index. */
rm_status rm_scatter_job(rm_scatter_problem *p, int add, int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out,
                         ptrdiff_t col_out, int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src,
                         ptrdiff_t row_src, ptrdiff_t col_src);

#endif
