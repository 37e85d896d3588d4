/* The public pooling functions. They go through the results row by row: first over the rows of a window of the source, then
 * along them. In the gradient of an average the source is g, and the window of an element of x consists of the outputs whose
 * windows contain it. */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "accurate.h"
#include "../../../crlibm/fp/exact.h"

enum { BUFFERS = 4 };

/* A row of results: its batch and channel, and the coordinates of the two first axes. */
typedef struct {
  const char *plane;
  int64_t image, channel, r[2];
} position;
static position position_of(const rm_pool_problem *f, int64_t row) {
  position p;
  p.r[1] = row % f->axis[1].results;
  row /= f->axis[1].results;
  p.r[0] = row % f->axis[0].results;
  row /= f->axis[0].results;
  p.channel = row % f->channels;
  p.image = row / f->channels;
  p.plane = f->x + p.image * f->sx[0] + p.channel * f->sx[1];
  return p;
}
static ptrdiff_t offset_of(const position *p, const ptrdiff_t *s) {
  return p->image * s[0] + p->channel * s[1] + p->r[0] * s[2] + p->r[1] * s[3];
}

static void max_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_pool_problem *f = operation;
  const position p = position_of(f, row);
  const rm_pool_axis *d = &f->axis[0], *h = &f->axis[1], *w = &f->axis[2];
  const int format = f->format;
  double *x = rm_row_buffer(state, 0), *best = rm_row_buffer(state, 1), *at = rm_row_buffer(state, 2);
  int none = 1;
  for (int64_t a = 0; a < d->count[p.r[0]]; a++)
    for (int64_t b = 0; b < h->count[p.r[1]]; b++) {
      const int64_t i = d->first[p.r[0]] + a * d->step, j = h->first[p.r[1]] + b * h->step;
      const double id = (double)(i * h->sources + j);
      state->k->load(w->sources, rm_pool_element(f, p.plane, i, j, 0), f->sx[4], format, 0.0, none ? best : x);
      if (none)
        for (int64_t k = 0; k < w->sources; k++) at[k] = id;
      else state->k->pooling->max(w->sources, x, id, best, at);
      none = 0;
    }
  char *y = f->y + offset_of(&p, f->sy), *index = f->index ? f->index + offset_of(&p, f->si) : NULL;
  for (int64_t r = 0; r < w->results; r++) {
    const int64_t first = w->first[r], end = none ? first : first + w->count[r] * w->step;
    int64_t where = -1;
    uint64_t bits = rm_infinity_bits(format) | rm_sign_bit(format);
    if (first < end) {
      int64_t k = first;
      double v = best[first];
      for (int64_t c = first + w->step; c < end; c += w->step) {
        const double u = best[c];
        const int same = u == v || (rm_is_nan(u) && rm_is_nan(v));
        if (rm_pool_is_greater(u, v) || (same && at[c] < at[k])) v = u, k = c;
      }
      const int64_t line = (int64_t)at[k], i = line / h->sources, j = line % h->sources;
      where = line * w->sources + k;
      bits = rm_read_bits(rm_pool_element(f, p.plane, i, j, k), format);
      if (rm_is_nan(v)) {
        if (rm_is_signalling(bits, format)) state->flags |= RM_FLAG_INVALID;
        bits = rm_nan_bits(format);
      }
    }
    rm_write_bits(y + r * f->sy[4], bits, format);
    if (index) memcpy(index + r * f->si[4], &where, sizeof where);
  }
  state->tiers.fast += w->results;
}

static void average_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_pool_problem *f = operation;
  const position p = position_of(f, row);
  const rm_pool_axis *d = &f->axis[0], *h = &f->axis[1], *w = &f->axis[2];
  const int format = f->format;
  double *x = rm_row_buffer(state, 0), *sum = rm_row_buffer(state, 1), *low = rm_row_buffer(state, 2),
         *size = rm_row_buffer(state, 3);
  rm_pool_window t = {f, p.plane, {d->first[p.r[0]], h->first[p.r[1]], 0}, {0, 0, 0}};
  t.end[0] = t.first[0] + d->count[p.r[0]], t.end[1] = t.first[1] + h->count[p.r[1]];
  const int64_t rows = (t.end[0] - t.first[0]) * (t.end[1] - t.first[1]);
  int none = 1;
  for (int64_t i = t.first[0]; i < t.end[0]; i++)
    for (int64_t j = t.first[1]; j < t.end[1]; j++) {
      state->k->load(w->sources, rm_pool_element(f, p.plane, i, j, 0), f->sx[4], format, 0.0, none ? sum : x);
      if (none)
        for (int64_t k = 0; k < w->sources; k++) low[k] = size[k] = 0.0;
      else state->k->pooling->add(w->sources, x, sum, low, size);
      none = 0;
    }
  const int64_t part =
      f->backward ? (rows ? d->divisor[t.first[0]] * h->divisor[t.first[1]] : 1) : d->divisor[p.r[0]] * h->divisor[p.r[1]];
  const int uniform_rows = !f->backward || f->divisor || (d->same[p.r[0]] && h->same[p.r[1]]);
  char *y = f->y + offset_of(&p, f->sy);
  uint64_t bits = 0;
  for (int64_t r = 0; r < w->results; r++) {
    if (r && w->first[r] == w->first[r - 1] && w->count[r] == w->count[r - 1] &&
        (f->backward || f->divisor || w->divisor[r] == w->divisor[r - 1])) { /* the same sum */
      rm_write_bits(y + r * f->sy[4], bits, format);
      state->tiers.fast++;
      continue;
    }
    bits = 0;
    t.first[2] = w->first[r], t.end[2] = none ? t.first[2] : t.first[2] + w->count[r];
    const int empty = t.end[2] == t.first[2], uniform = uniform_rows && (!f->backward || f->divisor || w->same[r]);
    const int64_t divisor = f->divisor             ? f->divisor
                            : empty && f->backward ? 1
                                                   : part * w->divisor[f->backward ? t.first[2] : r];
    if (divisor == 0) { /* of an empty window: 0/0 */
      bits = rm_nan_bits(format);
      state->flags |= RM_FLAG_INVALID;
    } else if (!empty) {
      rm_pool_total total = {0.0, 0.0, 0.0};
      for (int64_t k = t.first[2]; k < t.end[2]; k++) rm_pool_add(&total, sum[k], low[k], size[k]);
      if (format != RM_F64 && rm_is_infinite(total.sum)) { /* of infinities of one sign: sums of binary32 do not overflow */
        bits = rm_signed_infinity(total.sum < 0.0, format);
        state->tiers.fast++;
      } else if (uniform ? !rm_pool_decide(&total, rows * (t.end[2] - t.first[2]), divisor, format, &bits, state)
                         : !rm_pool_decide_mixed(&t, &bits, state)) {
        bits = rm_pool_exactly(&t, divisor, uniform, state);
      }
    }
    rm_write_bits(y + r * f->sy[4], bits, format);
  }
}

static rm_status run(const rm_pool_call *call) {
  rm_pool_problem f;
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_pool_check(&f, call);
  if (status || f.images == 0) return status;
  const size_t room = (size_t)rm_pool_room(&f);
  int64_t *memory = malloc(room * sizeof *memory);
  if (!memory) return RM_ERR_MEMORY;
  rm_pool_set_tables(&f, memory);
  for (int k = 0; k < 3; k++)
    for (int64_t r = 0; r < rm_pool_entries(&f, k); r++) rm_pool_set_entry(&f, k, r);
  const int64_t rows = f.images * f.channels * f.axis[0].results * f.axis[1].results;
  status = rm_each_row(rows, rm_pool_entries(&f, 2), BUFFERS, call->average ? average_row : max_row, &f);
  free(memory);
  return status;
}

rm_status rm_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y,
                      const ptrdiff_t *strides_y, int64_t *index, const ptrdiff_t *strides_index) {
  return run(&(rm_pool_call){
      .format = format, .pool = pool, .x = x, .y = y, .index = index, .sx = strides_x, .sy = strides_y, .si = strides_index});
}
rm_status rm_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x,
                      const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y) {
  return run(&(rm_pool_call){format, 1, 0, include_pad, divisor, pool, x, y, NULL, strides_x, strides_y, NULL});
}
rm_status rm_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                               const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx) {
  return run(&(rm_pool_call){format, 1, 1, include_pad, divisor, pool, g, gx, NULL, strides_g, strides_gx, NULL});
}
