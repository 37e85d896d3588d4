/* Rows of composite operators: each is one independent piece of work, given to a thread with a workspace of its own. */
#ifndef RM_NN_ROWS_PARALLEL_H
#define RM_NN_ROWS_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "../../../include/repmath/core.h"
#include "../../common/stats.h"
#include "kernels.h"

/* A result was left open by the widest evaluation (decide.h), or by want of memory. */
enum { RM_ROW_UNDECIDED = 1, RM_ROW_NO_MEMORY = 2 };
RM_FN rm_status rm_row_status(int undecided) {
  return undecided & RM_ROW_NO_MEMORY ? RM_ERR_MEMORY : undecided ? RM_ERR_UNDECIDED : RM_OK;
}

/* What a thread carries along. work: `buffers` rows of room for n numbers; open: indices of a row. */
typedef struct {
#if !RM_DEVICE
  const struct rm_nn_kernels *k;
#endif
  double *work;
  int64_t *open;
  size_t pitch; /* numbers from one buffer to the next */
  int buffers;  /* one more follows, for results that are not stored next to each other */
  rm_tiers tiers;
  uint32_t flags;
  int loaded; /* what is the same for all rows is in its buffers; 0 at first */
  int left;   /* on a device: the row is left to another kernel */
  int undecided; /* RM_ROW_ bits: a result could not be had */
  int limbs;     /* what balls begin with, where results share a sum that costs more than they do: what the last of them took; else 0 */
} rm_row_state;

/* RM_ROW(state, f): the function f of kernels.h. On a device it is the one that src/cuda/rows_block.h or rows_team.h defines, whichever the file of the
 * operator includes. */
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

/* f for every row, each of n elements; RM_ERR_MEMORY, and nothing done, without a workspace; else rm_row_status of all rows.
 * Puts the environment right, adds flags and counts. */
rm_status rm_each_row(int64_t rows, int64_t n, int buffers, rm_row_fn *f, const void *operation);

/* Rows of elements: bytes between rows and between the elements of one. */
typedef struct {
  char *base;
  ptrdiff_t row, stride;
} rm_row_array;

RM_ROW_FN char *rm_row_at(const rm_row_array *a, int64_t row) { return a->base + row * a->row; }

/* Where to store n results next to each other, and, once they are there, bringing them to their places. On a device that is never
 * their place at once: a row that is left (rm_row_left, before anything that takes long or is seldom) is as it was. from: the first of n results there. */
#if RM_DEVICE
RM_FN char *rm_row_out(const rm_row_state *s, const rm_row_array *out, int64_t row, int size) {
  (void)out, (void)row, (void)size;
  return (char *)rm_row_buffer(s, s->buffers);
}
RM_HOST_EXTERN void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n, int format);
RM_FN int rm_row_left(rm_row_state *s);
#else
static inline char *rm_row_out(const rm_row_state *s, const rm_row_array *out, int64_t row, int size) {
  return out->stride == size ? rm_row_at(out, row) : (char *)rm_row_buffer(s, s->buffers);
}
void rm_row_spread(const rm_row_state *s, int64_t from, const rm_row_array *out, int64_t row, int64_t n, int format);
static inline int rm_row_left(rm_row_state *s) {
  (void)s;
  return 0;
}
#endif

/* Whether out may be written row by row while x is read so: they are one array, or share no byte, and no two elements of out share
 * one. */
int rm_rows_are_apart(rm_row_array out, int64_t rows, int64_t n, int size, rm_row_array x, int64_t n_x);

#endif
