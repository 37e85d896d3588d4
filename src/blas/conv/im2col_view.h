/* Reading operands that are given by coordinates (rm_patches, views.h). */
#ifndef RM_BLAS_CONV_IM2COL_VIEW_H
#define RM_BLAS_CONV_IM2COL_VIEW_H

#include "../gemm/views.h"

/* The offset in bytes of each of n indices from the first on. */
RM_HOST_EXTERN void rm_axis_offsets(const rm_axis *axis, int64_t first, int64_t n, ptrdiff_t *at);

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

/* Element (line, term), or NULL for padding. */
RM_HOST_EXTERN const char *rm_patches_at(const rm_patches *p, const char *base, int64_t line, int64_t term);

/* The elements of `lines` x `terms` from (line, term) on, +0 for padding: term after term, each `lines` elements, when by_lines, else
 * line after line. size: bytes of an element. */
RM_HOST_EXTERN void rm_patches_fill(const rm_patches *p, const char *base, int size, int by_lines, int64_t line, int64_t lines,
                               int64_t term, int64_t terms, char *dst);

/* A run of terms of one line: `step` bytes apart from p on. */
typedef struct {
  const char *p;
  ptrdiff_t step;
} rm_run;
/* n terms of a line from the k-th on; buffer has room for n elements of `size` bytes. */
RM_FN rm_run rm_run_of(const rm_operand *o, int64_t line, int64_t k, int64_t n, int size, char *buffer) {
  if (!o->patches) return (rm_run){o->base + line * o->line + k * o->step, o->step};
  rm_patches_fill(o->patches, o->base, size, 0, line, 1, k, n, buffer);
  return (rm_run){buffer, size};
}

#endif
