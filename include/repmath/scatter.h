/* repmath: exact sums into rows that an index chooses. Every result is the exact sum, rounded once (spec.md, section 4).
 *
 * Contribution i is the row src[i, 0..cols), its destination the row index[i] of out. Indices count from 0; a negative
 * one is out of range. The order of the contributions, the threads and the layout change no bit. */
#ifndef REPMATH_SCATTER_H
#define REPMATH_SCATTER_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For every row r that the index names:
 *   rm_index_add     out[r, j] = RN(out[r, j] + sum of src[i, j] over the i with index[i] = r); other rows are left as they
 *                    are
 *   rm_segment_sum   out[r, j] = RN(sum of src[i, j] over the i with index[i] = r); other rows become +0, and out is not read
 *
 * out is rows x cols, src is n x cols, both in `format` (RM_FORMAT_...). Strides are in BYTES, of any sign; any alignment is
 * allowed. A stride of 0 repeats a row or column of src. No two elements of out may share bytes, and out must not overlap
 * index or src (RM_ERR_OVERLAP). cols = 1 adds single elements, as scatter_add over a flat destination. An index outside [0,
 * rows) is RM_ERR_INDEX, argument 8; the index is checked before anything is written.
 *
 * The workspace, on the heap, takes at most 8 (rows + n + 1) bytes, for one column 24 (rows + n + 1). RM_ERR_MEMORY: there is
 * no memory for it. */
RM_API rm_status rm_index_add(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                              int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                              ptrdiff_t col_src);
RM_API rm_status rm_segment_sum(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                                int64_t n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                                ptrdiff_t col_src);

#ifdef __cplusplus
}
#endif
#endif
