/* Walks the grids of an im2col view. It is also device code. */
#include "im2col_view.h"

typedef struct {
  int64_t index[RM_DIMS];
  ptrdiff_t offset;
  int64_t at[RM_COORDINATES];
} rm_im2col_place;

RM_STATIC rm_im2col_place rm_im2col_place_of(const rm_axis *axis, int64_t i) {
  rm_im2col_place p = {{0}, 0, {0}};
  for (int d = RM_DIMS - 1; d >= 0; d--) {
    p.index[d] = i % axis->count[d];
    i /= axis->count[d];
    p.offset += p.index[d] * axis->stride[d];
    if (axis->dim[d] != RM_NO_COORDINATE) p.at[axis->dim[d]] += p.index[d] * axis->step[d];
  }
  return p;
}

/* Moves index d by n, which stays within the axis; the indices after d are 0 and remain so. Carries go up. */
RM_STATIC void rm_im2col_advance(rm_im2col_place *p, const rm_axis *axis, int d, int64_t n) {
  for (;; d--, n = 1) {
    const int wraps = d > 0 && p->index[d] + n == axis->count[d];
    const int64_t by = wraps ? -p->index[d] : n;
    p->index[d] += by;
    p->offset += by * axis->stride[d];
    if (axis->dim[d] != RM_NO_COORDINATE) p->at[axis->dim[d]] += by * axis->step[d];
    if (!wraps) return;
  }
}

/* The last dimension with more than one index: along it an axis is walked in runs. */
RM_STATIC int rm_im2col_run_dimension(const rm_axis *axis) {
  int d = RM_DIMS - 1;
  while (d > 0 && axis->count[d] == 1) d--;
  return d;
}

RM_HOST_EXTERN void rm_axis_offsets(const rm_axis *axis, int64_t first, int64_t n, ptrdiff_t *at) {
  const int d = rm_im2col_run_dimension(axis);
  rm_im2col_place p = rm_im2col_place_of(axis, first);
  for (int64_t i = 0; i < n; i++) {
    at[i] = p.offset;
    if (i + 1 < n) rm_im2col_advance(&p, axis, d, 1);
  }
}

RM_HOST_EXTERN void rm_im2col_row(const rm_im2col *p, const char *base, int64_t row, int64_t k, int64_t n, const char **at) {
  const int d = rm_im2col_run_dimension(&p->k);
  const rm_im2col_place a = rm_im2col_place_of(&p->rows, row);
  rm_im2col_place b = rm_im2col_place_of(&p->k, k);
  for (int64_t q = 0; q < n; q++) {
    at[q] = base + a.offset + b.offset;
    for (int c = 0; c < RM_COORDINATES; c++) {
      const int64_t x = p->start[c] + a.at[c] + b.at[c];
      if (x < 0 || x >= p->size[c]) at[q] = 0;
    }
    if (q + 1 < n) rm_im2col_advance(&b, &p->k, d, 1);
  }
}

RM_HOST_EXTERN int rm_im2col_is_padded(const rm_im2col *p, int64_t row) {
  const rm_im2col_place a = rm_im2col_place_of(&p->rows, row);
  for (int c = 0; c < RM_COORDINATES; c++) {
    int64_t low = p->start[c] + a.at[c], high = low;
    for (int d = 0; d < RM_DIMS; d++) {
      const int64_t extent = p->k.dim[d] == c ? (p->k.count[d] - 1) * p->k.step[d] : 0;
      if (extent < 0) low += extent;
      else high += extent;
    }
    if (low < 0 || high >= p->size[c]) return 1;
  }
  return 0;
}

/* Runs are mostly short, as rows of small images and the padding beside them are: a call would take longer than the bytes.
 * Units may overlap at the end. */
#define RM_UNITS(bytes, unit, MOVE)                                  \
  {                                                                  \
    for (int64_t at = 0; at + (unit) <= (bytes); at += (unit)) MOVE; \
    const int64_t at = (bytes) - (unit);                             \
    MOVE;                                                            \
  }

RM_STATIC void rm_im2col_clear(char *dst, int64_t bytes) {
  if (bytes == 0) return;
  if (bytes > 64) __builtin_memset(dst, 0, (size_t)bytes);
  else if (bytes >= 8) RM_UNITS(bytes, 8, __builtin_memset(dst + at, 0, 8))
  else RM_UNITS(bytes, 2, __builtin_memset(dst + at, 0, 2))
}

RM_STATIC void rm_im2col_move(char *dst, const char *src, int64_t bytes) {
  if (bytes > 256) __builtin_memcpy(dst, src, (size_t)bytes);
  else if (bytes >= 16) RM_UNITS(bytes, 16, __builtin_memcpy(dst + at, src + at, 16))
  else RM_UNITS(bytes, 2, __builtin_memcpy(dst + at, src + at, 2))
}

/* n > 0 elements, `stride` bytes apart, as neighbours. */
RM_STATIC void rm_im2col_copy(char *dst, const char *src, int64_t n, ptrdiff_t stride, int size) {
  if (stride == size) {
    rm_im2col_move(dst, src, n * size);
  } else if (size == 4) {
    for (int64_t i = 0; i < n; i++) __builtin_memcpy(dst + 4 * i, src + i * stride, 4);
  } else if (size == 2) {
    for (int64_t i = 0; i < n; i++) __builtin_memcpy(dst + 2 * i, src + i * stride, 2);
  } else {
    for (int64_t i = 0; i < n; i++) __builtin_memcpy(dst + 8 * i, src + i * stride, 8);
  }
}

/* The t in [0, n) with 0 <= x + t step < size are [*low, *high). */
RM_STATIC void rm_im2col_inside(int64_t x, int64_t step, int64_t size, int64_t n, int64_t *low, int64_t *high) {
  int64_t a, b;
  if (step == 1) {
    a = -x, b = size - x;
  } else if (step > 0) {
    a = x < 0 ? (-x + step - 1) / step : 0;
    b = x < size ? (size - x + step - 1) / step : 0;
  } else {
    a = x >= size ? (x - size) / -step + 1 : 0;
    b = x >= 0 ? x / -step + 1 : 0;
  }
  a = a < 0 ? 0 : a > n ? n : a;
  b = b < a ? a : b > n ? n : b;
  *low = a, *high = b;
}

RM_HOST_EXTERN void rm_im2col_fill(const rm_im2col *p, const char *base, int size, int rows_adjacent, int64_t row,
                                   int64_t rows, int64_t k, int64_t depth, char *dst) {
  const rm_axis *inner = rows_adjacent ? &p->rows : &p->k, *outer = rows_adjacent ? &p->k : &p->rows;
  const int64_t first = rows_adjacent ? row : k, n = rows_adjacent ? rows : depth, outers = rows_adjacent ? depth : rows;
  const int run = rm_im2col_run_dimension(inner), outer_run = rm_im2col_run_dimension(outer), along = inner->dim[run];
  const ptrdiff_t stride = inner->stride[run];
  const rm_im2col_place begin = rm_im2col_place_of(inner, first);
  rm_im2col_place o = rm_im2col_place_of(outer, rows_adjacent ? k : row);
  for (int64_t q = 0; q < outers; q++) {
    rm_im2col_place i = begin;
    for (int64_t done = 0; done < n;) {
      int64_t length = inner->count[run] - i.index[run], low = 0, high;
      length = length < n - done ? length : n - done;
      high = length;
      for (int c = 0; c < RM_COORDINATES; c++) {
        const int64_t x = p->start[c] + o.at[c] + i.at[c];
        if (c == along) rm_im2col_inside(x, inner->step[run], p->size[c], length, &low, &high);
        else if (x < 0 || x >= p->size[c]) low = high;
        if (low == high) break;
      }
      char *at = dst + done * size;
      if (low == high) low = high = length; /* all padding */
      rm_im2col_clear(at, low * size);
      if (low < high) {
        if (base) rm_im2col_copy(at + low * size, base + o.offset + i.offset + low * stride, high - low, stride, size);
        else __builtin_memset(at + low * size, 0xff, (size_t)((high - low) * size));
      }
      rm_im2col_clear(at + high * size, (length - high) * size);
      done += length;
      if (done < n) rm_im2col_advance(&i, inner, run, length);
    }
    dst += n * size;
    if (q + 1 < outers) rm_im2col_advance(&o, outer, outer_run, 1);
  }
}
