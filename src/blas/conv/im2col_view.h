/* Reads the elements of an im2col view (rm_im2col, views.h). */
#pragma once

#include "../gemm/views.h"

/* Writes the offset in bytes of each of n indices from the first on. */
RM_HOST_EXTERN void rm_axis_offsets(const rm_axis *axis, int64_t first, int64_t n, ptrdiff_t *at);

RM_FN ptrdiff_t rm_target_offset(const rm_axis *axis, ptrdiff_t stride, int64_t i) {
  ptrdiff_t at = i * stride;
  if (axis) rm_axis_offsets(axis, i, 1, &at);
  return at;
}

/* The number of the element at an address of C, where it is rounded at random. */
RM_FN int64_t rm_random_element(const rm_matmul_problem *p, const char *at) {
  return p->random.first + (at - p->origin) / rm_size_of(p->out_fmt);
}

/* The rounding of C[i,j]. */
RM_FN rm_mode rm_mode_of_element(const rm_matmul_problem *p, int64_t i, int64_t j) {
  if (!p->random.mode) return RM_NEAREST;
  rm_rounding_words words = rm_rounding_words_of(&p->random);
  const char *at = p->c.base + rm_target_offset(p->c.rows, p->c.row, i) + rm_target_offset(p->c.cols, p->c.col, j);
  return rm_random_mode(p->random.mode, rm_rounding_word(&words, rm_random_element(p, at)));
}

/* Indices that are one stride apart, from each multiple of n on. */
typedef struct {
  int64_t n;
  ptrdiff_t stride;
} rm_axis_run;
RM_FN rm_axis_run rm_run_of_axis(const rm_axis *axis) {
  rm_axis_run r = {1, 0};
  for (int d = RM_DIMS - 1; d >= 0; d--) {
    if (axis->count[d] == 1) continue;
    if (r.n > 1 && axis->stride[d] != (__int128)r.stride * r.n) break;
    if (r.n == 1) r.stride = axis->stride[d];
    r.n *= axis->count[d];
  }
  return r;
}

/* Writes the addresses of n elements of a row from the k-th on, NULL for padding. */
RM_HOST_EXTERN void rm_im2col_row(const rm_im2col *p, const char *base, int64_t row, int64_t k, int64_t n, const char **at);

/* Whether elements of the row may be padding. */
RM_HOST_EXTERN int rm_im2col_is_padded(const rm_im2col *p, int64_t row);

/* Whether any row may have padding. */
RM_FN int rm_im2col_may_pad(const rm_im2col *p) {
  for (int c = 0; c < RM_COORDINATES; c++) {
    int64_t low = p->start[c], high = low;
    for (int d = 0; d < 2 * RM_DIMS; d++) {
      const rm_axis *axis = d < RM_DIMS ? &p->rows : &p->k;
      const int at = d % RM_DIMS;
      const int64_t extent = axis->dim[at] == c ? (axis->count[at] - 1) * axis->step[at] : 0;
      if (extent < 0) low += extent;
      else high += extent;
    }
    if (low < 0 || high >= p->size[c]) return 1;
  }
  return 0;
}

/* Copies the elements of `rows` x `depth` from (row, k) on, +0 for padding: k after k, each `rows` elements, when
 * rows_adjacent, else row after row. size: bytes of an element. Without a base all bits of what is no padding are 1. */
RM_HOST_EXTERN void rm_im2col_fill(const rm_im2col *p, const char *base, int size, int rows_adjacent, int64_t row,
                                   int64_t rows, int64_t k, int64_t depth, char *dst);

/* A run of k in one row: its elements are `step` bytes apart from p on. */
typedef struct {
  const char *p;
  ptrdiff_t step;
} rm_run;
/* Returns n elements of a row from the k-th on; buffer has room for n elements of `size` bytes. */
RM_FN rm_run rm_run_of(const rm_operand *o, int64_t row, int64_t k, int64_t n, int size, char *buffer) {
  if (!o->im2col) return (rm_run){o->base + row * o->row_stride + k * o->k_stride, o->k_stride};
  rm_im2col_fill(o->im2col, o->base, size, 0, row, 1, k, n, buffer);
  return (rm_run){buffer, size};
}
