/* The public pooling functions. They go through the results row by row: first over the rows of a window of the source, then
 * along them. In the gradient of an average the source is g, and the window of an element of x consists of the outputs whose
 * windows contain it. */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "accurate.h"
#include "../../../crlibm/fp/exact.h"

/* Averages of small planes: those of several channels lie one after the other in a row of at most TOGETHER numbers, where the
 * windows of plane q along the last axis are those of the first, q planes further. */
enum { BUFFERS = 9, TOGETHER = 128 };

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
  p.channel = row % f->blocks * f->planes;
  p.image = row / f->blocks;
  p.plane = f->x + p.image * f->sx[0] + p.channel * f->sx[1];
  return p;
}
static ptrdiff_t offset_of(const position *p, const ptrdiff_t *s) {
  return p->image * s[0] + p->channel * s[1] + p->r[0] * s[2] + p->r[1] * s[3];
}

/* The bits of a number that the format has, or of an infinity. */
static uint64_t bits_of(double v, int format) {
  const double size = __builtin_fabs(v);
  if (format == RM_F64) return rm_bits64(v);
  if (format != RM_F16) {
    const float narrow = (float)v;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return format == RM_F32 ? bits : bits >> 16;
  }
  const uint64_t sign = rm_bits64(v) >> 63 << 15;
  if (size < 0x1p-14) return sign | (uint64_t)(size * 0x1p24);
  return sign | (rm_is_infinite(size) ? 0x7c00 : (rm_bits64(size) >> 42) - (UINT64_C(1008) << 10));
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
      const int64_t line = (int64_t)at[k];
      where = f->across ? line : line * w->sources + k;
      if (!rm_is_nan(v)) {
        bits = bits_of(v, format);
      } else {
        bits = rm_read_bits(rm_pool_element(f, p.plane, line / h->sources, line % h->sources, k), format);
        if (rm_is_signalling(bits, format)) state->flags |= RM_FLAG_INVALID;
        bits = rm_nan_bits(format);
      }
    }
    rm_write_bits(y + r * f->sy[4], bits, format);
    if (index) memcpy(index + r * f->si[4], &where, sizeof where);
  }
  state->tiers.fast += w->results;
}

/* A row of averages: the window's rows have been added up, element by element. */
typedef struct {
  rm_pool_window window;
  const double *sum, *low, *size;
  int64_t part, rows, none; /* the divisor's part by the two first axes; rows of a window; an element that is 0 */
  int64_t results;          /* of all planes of the row */
  const char *plane;        /* the first of them */
  int uniform;              /* as far as the two first axes go, a window's divisors are one */
} average;

/* What result r is divided by; 0: it is 0/0. */
static int64_t divisor_of(const rm_pool_problem *f, const average *a, int64_t r, int empty) {
  const rm_pool_axis *w = &f->axis[2];
  if (f->divisor) return f->divisor;
  return empty && f->backward ? 1 : a->part * w->divisor[f->backward ? w->first[r] : r];
}
static int is_uniform(const rm_pool_problem *f, const average *a, int64_t r) {
  return a->uniform && (!f->backward || f->divisor || f->axis[2].same[r]);
}
static int same_window(const rm_pool_problem *f, const rm_pool_axis *a, int64_t r) {
  return r && a->first[r] == a->first[r - 1] && a->count[r] == a->count[r - 1] &&
         (f->backward || f->divisor || a->divisor[r] == a->divisor[r - 1]);
}

/* A sum that is NaN, of elements below binary64, whose sums do not overflow: what is not finite decides alone. */
static uint64_t of_classes(const rm_pool_window *t, rm_row_state *state) {
  const int format = t->pool->format;
  uint32_t classes = 0;
  for (int64_t a = t->first[0]; a < t->end[0]; a++)
    for (int64_t b = t->first[1]; b < t->end[1]; b++)
      for (int64_t c = t->first[2]; c < t->end[2]; c++) {
        const uint64_t bits = rm_read_bits(rm_pool_element(t->pool, t->plane, a, b, c), format);
        const double v = rm_to_double(bits, format);
        if (rm_is_nan(v)) classes |= rm_is_signalling(bits, format) ? RM_ACC_SNAN : RM_ACC_QNAN;
        else if (rm_is_infinite(v)) classes |= v < 0.0 ? RM_ACC_NINF : RM_ACC_PINF;
      }
  state->tiers.fast++;
  return rm_superacc_round_classes(classes, format, &state->flags);
}

/* Result r, to be stored at y + r f->sy[4]. */
static uint64_t average_of(const rm_pool_problem *f, average *a, const char *y, int64_t r, rm_row_state *state) {
  const rm_pool_axis *w = &f->axis[2];
  const int format = f->format;
  rm_pool_window *const t = &a->window;
  const int64_t q = f->planes > 1 ? r / w->results : 0, begin = w->first[r];
  t->plane = a->plane + q * f->sx[1];
  t->first[2] = begin - q * w->sources, t->end[2] = a->rows ? t->first[2] + w->count[r] : t->first[2];
  const int empty = t->end[2] == t->first[2], uniform = is_uniform(f, a, r);
  const int64_t divisor = divisor_of(f, a, r, empty);
  uint64_t bits = 0;
  (void)y;
  if (divisor == 0) { /* of an empty window: 0/0 */
    state->flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (empty) return 0;
  rm_pool_total total = {0.0, 0.0, 0.0};
  for (int64_t k = begin; k < begin + w->count[r]; k++) rm_pool_add(&total, a->sum[k], a->low[k], a->size[k]);
  if (format != RM_F64 && rm_is_infinite(total.sum)) { /* of infinities of one sign: sums of binary32 do not overflow */
    state->tiers.fast++;
    return rm_signed_infinity(total.sum < 0.0, format);
  }
  if (format != RM_F64 && rm_is_nan(total.sum)) return of_classes(t, state);
  if (uniform ? !rm_pool_decide(&total, a->rows * (t->end[2] - t->first[2]), divisor, format, &bits, state)
              : !rm_pool_decide_mixed(t, &bits, state))
    bits = rm_pool_exactly(t, divisor, uniform, state);
  return bits;
}

/* The row of results, next to each other in out: in vectors, as far as these decide. Returns how many they leave, whose
 * places are then in state->undecided. */
static int64_t average_vectors(const rm_pool_problem *f, const average *a, char *out, rm_row_state *state) {
  const rm_pool_axis *w = &f->axis[2];
  const int64_t n = a->results;
  const double *const from[3] = {a->sum, a->low, a->size};
  const rm_pool_totals to = {rm_row_buffer(state, 4), rm_row_buffer(state, 5), rm_row_buffer(state, 6)};
  double *const divisor = rm_row_buffer(state, 7), *const slack = rm_row_buffer(state, 8);
  int64_t longest = 1;
  const int64_t padded = (n + RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD;
  const int64_t each = f->across ? 1 : n; /* windows along channels have one divisor */
  for (int64_t r = 0; r < each; r++) {
    longest = w->count[r] > longest ? w->count[r] : longest;
    const int64_t by = divisor_of(f, a, r, w->count[r] == 0);
    const int far = by <= 0 || by >= INT64_C(1) << 20 || !is_uniform(f, a, r);
    divisor[r] = far ? (f->format == RM_F64 ? 0.0 : 1.0) : (double)by, slack[r] = far ? -1.0 : by & (by - 1) ? 0x1p-51 : 0.0;
  }
  for (int64_t r = each; r < n; r++) divisor[r] = divisor[0], slack[r] = slack[0];
  for (int64_t r = n; r < padded; r++) divisor[r] = 1.0, slack[r] = to.sum[r] = to.low[r] = to.size[r] = 0.0;
  const struct rm_pool_kernels *const k = state->k->pooling;
  k->join(n, longest, w->first, w->count, a->none, from, a->rows == 1, to);
  const double bound = 0x1.2p-52 * (double)(a->rows * longest + 2);
  if (f->format == RM_F64) {
    const int64_t left = k->rounded(n, bound, divisor, to, out, state->undecided);
    state->tiers.fast += n - left;
    return left;
  }
  k->quotients(n, bound, divisor, slack, to);
  for (int64_t r = 0; r < n; r++)
    if (slack[r] < 0.0) to.size[r] = rm_from_bits64(rm_infinity_bits(RM_F64)); /* left to average_of */
  const rm_row_store store = {.n = n, .u = to.sum, .v = to.size, .fmt = f->format, .out = out, .undecided = state->undecided};
  const int64_t left = state->k->store(RM_ROW_GIVEN, &store);
  state->tiers.fast += n - left;
  return left;
}

/* n elements that are next to each other, `step` bytes apart. */
static void put_apart(char *to, ptrdiff_t step, const char *from, int64_t n, int bytes) {
  if (bytes == 8)
    for (int64_t k = 0; k < n; k++) memcpy(to + k * step, from + 8 * k, 8);
  else if (bytes == 4)
    for (int64_t k = 0; k < n; k++) memcpy(to + k * step, from + 4 * k, 4);
  else
    for (int64_t k = 0; k < n; k++) memcpy(to + k * step, from + 2 * k, 2);
}

/* A row of results, and those after it that have the same windows. */
static void average_row(const void *operation, int64_t row, rm_row_state *state) {
  const rm_pool_problem *f = operation;
  const position p = position_of(f, row);
  const rm_pool_axis *d = &f->axis[0], *h = &f->axis[1], *w = &f->axis[2];
  const int format = f->format, bytes = rm_size_of(format);
  if (same_window(f, h, p.r[1])) return;
  const int64_t planes = rm_pool_min(f->planes, f->channels - p.channel), sources = planes * w->sources;
  double *x = rm_row_buffer(state, 0), *sum = rm_row_buffer(state, 1), *low = rm_row_buffer(state, 2),
         *size = rm_row_buffer(state, 3);
  average a = {.window = {f, p.plane, {d->first[p.r[0]], h->first[p.r[1]], 0}, {0, 0, 0}},
               .sum = sum,
               .low = low,
               .size = size,
               .none = sources,
               .results = planes * w->results,
               .plane = p.plane};
  rm_pool_window *const t = &a.window;
  t->end[0] = t->first[0] + d->count[p.r[0]], t->end[1] = t->first[1] + h->count[p.r[1]];
  a.rows = (t->end[0] - t->first[0]) * (t->end[1] - t->first[1]);
  int none = 1;
  for (int64_t i = t->first[0]; i < t->end[0]; i++)
    for (int64_t j = t->first[1]; j < t->end[1]; j++) {
      const char *const from = rm_pool_element(f, p.plane, i, j, 0);
      for (int64_t q = 0; q < planes; q++) /* whole vectors are written: the next plane's numbers replace what is beyond */
        state->k->load(w->sources, from + q * f->sx[1], f->sx[4], format, 0.0, (none ? sum : x) + q * w->sources);
      if (none)
        for (int64_t k = 0; k < sources; k++) low[k] = size[k] = 0.0;
      else state->k->pooling->add(sources, x, sum, low, size);
      none = 0;
    }
  sum[sources] = low[sources] = size[sources] = 0.0;
  a.part = f->backward ? (a.rows ? d->divisor[t->first[0]] * h->divisor[t->first[1]] : 1)
                       : d->divisor[p.r[0]] * h->divisor[p.r[1]];
  a.uniform = !f->backward || f->divisor || (d->same[p.r[0]] && h->same[p.r[1]]);
  const int here = f->sy[4] == bytes && planes == 1;
  char *const y = f->y + offset_of(&p, f->sy), *const out = here ? y : (char *)rm_row_buffer(state, BUFFERS);
  const int vectors = a.rows != 0;
  const int64_t left = vectors ? average_vectors(f, &a, out, state) : a.results;
  for (int64_t i = 0; i < left; i++) {
    const int64_t r = vectors ? state->undecided[i] : i;
    if (same_window(f, w, r) && (!vectors || (i && state->undecided[i - 1] == r - 1))) { /* the same sum */
      memcpy(out + r * bytes, out + (r - 1) * bytes, (size_t)bytes);
      state->tiers.fast++;
    } else {
      rm_write_bits(out + r * bytes, average_of(f, &a, y, r, state), format);
    }
  }
  for (int64_t r = p.r[1]; r == p.r[1] || (r < h->results && same_window(f, h, r)); r++) {
    if (r > p.r[1]) state->tiers.fast += a.results;
    for (int64_t q = 0; q < planes; q++) {
      char *const to = y + (r - p.r[1]) * f->sy[3] + q * f->sy[1], *const made = out + q * w->results * bytes;
      if (f->sy[4] != bytes) put_apart(to, f->sy[4], made, w->results, bytes);
      else if (to != made) memcpy(to, made, (size_t)(w->results * bytes));
    }
  }
}

/* The tables of the last axis for all planes of a row, from those of one. */
static void repeat_tables(rm_pool_problem *f) {
  rm_pool_axis *const a = &f->axis[2];
  const int64_t divisors = f->backward ? a->sources : a->results;
  for (int64_t q = 1; q < f->planes; q++) {
    for (int64_t r = 0, to = q * a->results; r < a->results; r++, to++) {
      a->first[to] = a->first[r] + q * a->sources, a->count[to] = a->count[r];
      if (f->backward) a->same[to] = a->same[r];
    }
    memcpy(a->divisor + q * divisors, a->divisor, (size_t)divisors * sizeof *a->divisor);
  }
}

/* Channels that are next to each other in memory, in pools of at most two axes, become the last axis, along which windows are
 * one element long: rows are contiguous then. The places of maxima are those of the other two axes. */
static void turn_to_channels(rm_pool_problem *f, int dims) {
  enum { FEWEST = 8 };
  const int size = rm_size_of(f->format);
  if (dims > 2 || f->channels < FEWEST || f->sx[1] != size || f->sx[4] == size) return;
  rm_pool *const p = &f->windows;
  for (int k = 0; k < 2; k++) {
    p->in[k] = p->in[k + 1], p->out[k] = p->out[k + 1], p->kernel[k] = p->kernel[k + 1], p->stride[k] = p->stride[k + 1];
    p->dilation[k] = p->dilation[k + 1], p->padding[k] = p->padding[k + 1];
    f->axis[k] = f->axis[k + 1];
  }
  p->in[2] = p->out[2] = f->channels, p->kernel[2] = p->stride[2] = p->dilation[2] = 1, p->padding[2] = 0;
  f->axis[2].sources = f->axis[2].results = f->channels, f->axis[2].step = 1;
  ptrdiff_t *const strides[] = {f->sx, f->sy, f->si};
  for (int k = 0; k < 3; k++) {
    ptrdiff_t *const s = strides[k], channel = s[1];
    s[1] = 0, s[2] = s[3], s[3] = s[4], s[4] = channel;
  }
  f->channels = 1, f->across = 1;
}

static rm_status run(const rm_pool_call *call) {
  rm_pool_problem f;
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_pool_check(&f, call);
  if (status || f.images == 0) return status;
  turn_to_channels(&f, call->pool->dims);
  const int64_t width = rm_pool_entries(&f, 2);
  f.planes = call->average && width <= TOGETHER / 4 ? rm_pool_min(TOGETHER / width, f.channels) : 1;
  f.blocks = rm_pool_ceil_div(f.channels, f.planes);
  const size_t room = (size_t)(rm_pool_room(&f) + 4 * width * (f.planes - 1));
  int64_t *memory = malloc(room * sizeof *memory);
  if (!memory) return RM_ERR_MEMORY;
  rm_pool_set_tables(&f, memory);
  rm_pool_axis *const last = &f.axis[2];
  last->count = last->first + f.planes * width;
  last->divisor = last->count + f.planes * width, last->same = last->divisor + f.planes * width;
  for (int k = 0; k < 3; k++)
    for (int64_t r = 0; r < rm_pool_entries(&f, k); r++) rm_pool_set_entry(&f, k, r);
  repeat_tables(&f);
  const int64_t rows = f.images * f.blocks * f.axis[0].results * f.axis[1].results;
  status = rm_each_row(rows, width * f.planes, BUFFERS, call->average ? average_row : max_row, &f);
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
