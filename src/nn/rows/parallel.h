/* Threads over the rows of composite operators: each row is independent of the others, and each thread has a workspace of its
 * own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../../crlibm/fp/bits.h"
#include "../../../include/repmath/core.h"
#include "../../common/elements.h"
#include "../../common/stats.h"
#include "kernels.h"

/* Why a result is missing: no precision decided its rounding (decide.h), or memory ran out. */
enum { RM_ROW_UNDECIDED = 1, RM_ROW_NO_MEMORY = 2 };
RM_FN rm_status rm_row_status(int failure) {
  return failure & RM_ROW_NO_MEMORY ? RM_ERR_MEMORY : failure ? RM_ERR_UNDECIDED : RM_OK;
}

/* The workspace of a thread. work: `buffers` rows of room for n numbers; undecided: the indices of a row's undecided
 * results. */
typedef struct {
#if !RM_DEVICE
  const struct rm_nn_kernels *k;
#endif
  double *work;
  int64_t *undecided;
  size_t pitch; /* numbers from one buffer to the next */
  int buffers; /* one more follows, for results that are not stored next to each other */
  rm_tiers tiers;
  uint32_t flags;
  int loaded; /* what is the same for all rows is in its buffers; 0 at first */
  int deferred; /* on a device: the row is left to another kernel */
  int failure; /* RM_ROW_ bits: why a result is missing */
  int limbs; /* the precision at which balls begin, where results share a sum that costs more than they do: that of the last
                of them; else 0 */
} rm_row_state;

/* RM_ROW(state, f): the function f of kernels.h. On a device it is the one that src/cuda/rows_fast.h or rows_accurate.h
 * defines, whichever the file of the operator includes. */
#if RM_DEVICE
#define RM_ROW(state, f) RM_CAT(rm_rows_, f)
#define RM_ROW_FIRST rm_rows_first
#define RM_ROW_SYNC() rm_rows_sync() /* all threads of a row are here before one goes on */
#define RM_ROW_FN RM_FN
#else
#define RM_ROW(state, f) (state)->k->f
#define RM_ROW_FIRST rm_row_first
#define RM_ROW_SYNC() ((void)0)
#define RM_ROW_FN static inline
#endif

/* The first element equal to value, which is there. */
RM_FN int64_t rm_row_first(int64_t n, const double *x, double value) {
  int64_t i = 0;
  while (i < n - 1 && x[i] != value) i++;
  return i;
}

RM_ROW_FN double *rm_row_buffer(const rm_row_state *s, int i) { return s->work + (size_t)i * s->pitch; }

typedef void rm_row_fn(const void *operation, int64_t row, rm_row_state *state);

/* Applies f to every row, each of n elements. Returns RM_ERR_MEMORY, with nothing written, where there is no workspace, else
 * rm_row_status of all rows. Sets the floating-point environment, and adds flags and counts. */
rm_status rm_each_row(int64_t rows, int64_t n, int buffers, rm_row_fn *f, const void *operation);

/* Rows of elements: row and stride are the bytes between rows and between the elements of one. */
typedef struct {
  char *base;
  ptrdiff_t row, stride;
} rm_row_array;

/* The arrays of a call, whether they are read or written. */
static inline rm_row_array rm_row_array_of(const void *base, ptrdiff_t row, ptrdiff_t stride) {
  const rm_row_array rows = {(char *)(uintptr_t)base, row, stride};
  return rows;
}
/* One row of elements. */
static inline rm_row_array rm_single_row(const void *base, ptrdiff_t stride) { return rm_row_array_of(base, 0, stride); }

RM_ROW_FN char *rm_row_at(const rm_row_array *a, int64_t row) { return a->base + row * a->row; }

/* Where to store the results of a row next to each other, and the copy of n of them, from the result `from` on, into the
 * output where they are elsewhere. On a device they always are, so that a deferred row (rm_row_defer, called before anything
 * that takes long or is rare) stays as it was. */
#if RM_DEVICE
RM_FN char *rm_row_out(const rm_row_state *s, const rm_row_array *out, int64_t row, int size) {
  (void)out, (void)row, (void)size;
  return (char *)rm_row_buffer(s, s->buffers);
}
RM_HOST_EXTERN void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n,
                                  int format);
RM_FN int rm_row_defer(rm_row_state *s);
#else
static inline char *rm_row_out(const rm_row_state *s, const rm_row_array *out, int64_t row, int size) {
  return out->stride == size ? rm_row_at(out, row) : (char *)rm_row_buffer(s, s->buffers);
}
void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n, int format);
static inline int rm_row_defer(rm_row_state *s) {
  (void)s;
  return 0;
}
#endif

/* n results with the same bits, next to each other. */
RM_STATIC void rm_row_fill(char *out, int64_t n, uint64_t bits, int format) {
#if RM_DEVICE
  for (int64_t i = 0; i < n; i++) rm_write_bits(out + i * rm_size_of(format), bits, format);
#else
  const int size = rm_size_of(format), count = 8 / size;
  unsigned char several[8];
  for (int k = 0; k < count; k++) rm_write_bits((char *)several + k * size, bits, format);
  const int64_t whole = n / count * count;
  for (int64_t i = 0; i < whole; i += count) __builtin_memcpy(out + i * size, several, sizeof several);
  __builtin_memcpy(out + whole * size, several, (size_t)(n - whole) * (size_t)size);
#endif
}

/* Says that nothing is known of n results, where these are given as balls. */
RM_FN void rm_row_unknown(const rm_row_balls *b, const char *out, int64_t n, int size) {
  for (int64_t i = 0; b && i < n; i++) {
    const int64_t at = (out - b->origin) / size + i;
    b->radius[at] = rm_from_bits64(UINT64_C(0x7ff) << 52);
#if !RM_DEVICE
    if (b->rounding) rm_row_leave(b, at);
#endif
  }
}

#if !RM_DEVICE
/* What rm_balls_of_next has asked of this call: the balls, for results at `origin`, or NULL. */
const rm_row_balls *rm_row_balls_asked(rm_row_balls *b, const void *origin);
#endif

/* Whether out may be written row by row while x is read likewise: they are one array, or share no byte, and no two elements
 * of out share one. */
int rm_rows_are_apart(rm_row_array out, int64_t rows, int64_t n, int size, rm_row_array x, int64_t n_x);
