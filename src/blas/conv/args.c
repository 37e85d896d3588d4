/* Convolutions as implicit GEMMs: products of an im2col view (rm_im2col, views.h) and a matrix.
 *
 * Forward: C[position, channel] = sum over taps of x at (position, tap) w[channel, tap]. The gradient with respect to w sums
 * the same elements of x over positions. The gradient with respect to x is one such
 * product for each residue r of its coordinates i = r + stride q: for each r the
 * taps with r + padding - tap dilation divisible by the stride are an arithmetic progression, and g is read at
 * (r + padding - tap dilation)/stride + q, a convolution of stride 1. */
#include "args.h"

#include <stdlib.h>

#include "../../../crlibm/fp/round.h"
#include "im2col_view.h"

enum { S = 3, MAX_RANK = S + 2 };

typedef __int128 int128; /* byte offsets of absurd arguments do not fit 64 bits */

/* A convolution with three spatial dimensions, those beyond dims of size 1; counts are those of one group. */
typedef struct {
  int64_t batch, groups, channels_in, channels_out, in[S], kernel[S], stride[S], dilation[S], padding[S], out[S];
} geometry;

/* x, w or y: strides of the first two axes and of the spatial ones, 0 beyond dims. */
typedef struct {
  char *base;
  ptrdiff_t outer, channel, spatial[S];
} tensor;

static rm_status prepare(geometry *g, const rm_conv *c) {
  const int64_t limit = INT32_MAX; /* of any size: products of two fit 64 bits */
  if (!c) return RM_STATUS(RM_ERR_NULL, 2);
  const rm_status bad = RM_STATUS(RM_ERR_SIZE, 2);
  if (c->dims < 1 || c->dims > S || c->batch < 0 || c->batch > limit || c->groups < 1 || c->groups > limit) return bad;
  if (c->channels_in < 0 || c->channels_in > limit || c->channels_out < 0 || c->channels_out > limit) return bad;
  if (c->channels_in % c->groups || c->channels_out % c->groups) return bad;
  *g = (geometry){c->batch,
                  c->groups,
                  c->channels_in / c->groups,
                  c->channels_out / c->groups,
                  {1, 1, 1},
                  {1, 1, 1},
                  {1, 1, 1},
                  {1, 1, 1},
                  {0, 0, 0},
                  {1, 1, 1}};
  int128 taps = g->channels_in > g->channels_out ? g->channels_in : g->channels_out, positions = c->batch;
  for (int j = 0; j < c->dims; j++) {
    if (c->in[j] < 0 || c->in[j] > limit || c->kernel[j] < 1 || c->kernel[j] > limit || c->stride[j] < 1 ||
        c->stride[j] > limit || c->dilation[j] < 1 || c->dilation[j] > limit || c->padding_low[j] < 0 ||
        c->padding_low[j] > limit || c->padding_high[j] < -limit || c->padding_high[j] > limit)
      return bad;
    g->in[j] = c->in[j], g->kernel[j] = c->kernel[j], g->stride[j] = c->stride[j], g->dilation[j] = c->dilation[j];
    g->padding[j] = c->padding_low[j];
    const int64_t room = c->in[j] + c->padding_low[j] + c->padding_high[j] - c->dilation[j] * (c->kernel[j] - 1) - 1;
    g->out[j] = room < 0 ? 0 : room / c->stride[j] + 1;
    taps *= c->kernel[j];
    positions *= g->out[j] > c->in[j] ? g->out[j] : c->in[j];
    if (taps > INT64_MAX / 16 || positions > INT64_MAX / 16) return bad;
  }
  return RM_OK;
}

rm_status rm_conv_sizes(const rm_conv *conv, int64_t out[3]) {
  geometry g;
  if (!conv) return RM_STATUS(RM_ERR_NULL, 1);
  if (!out) return RM_STATUS(RM_ERR_NULL, 2);
  rm_status status = prepare(&g, conv);
  if (status) return RM_STATUS(RM_ERR_SIZE, 1);
  for (int j = 0; j < conv->dims; j++) out[j] = g.out[j];
  return RM_OK;
}

/* One array argument: its sizes, for the checks. */
typedef struct {
  int rank;
  int64_t size[MAX_RANK];
  const void *base;
  const ptrdiff_t *strides;
  int position; /* among the arguments; its strides are the next one */
} argument;

static argument array(const rm_conv *c, int64_t outer, int64_t channels, const int64_t *spatial, const void *base,
                      const ptrdiff_t *strides, int position) {
  argument a = {c->dims + 2, {outer, channels, 1, 1, 1}, base, strides, position};
  for (int j = 0; j < c->dims; j++) a.size[j + 2] = spatial[j];
  return a;
}

static int is_empty(const argument *a) {
  for (int i = 0; i < a->rank; i++)
    if (a->size[i] == 0) return 1;
  return 0;
}

static rm_status check_array(const argument *a) {
  if (is_empty(a)) return RM_OK;
  if (!a->base) return RM_STATUS(RM_ERR_NULL, a->position);
  return a->strides ? RM_OK : RM_STATUS(RM_ERR_NULL, a->position + 1);
}

static tensor tensor_of(const argument *a) {
  tensor t = {(char *)(uintptr_t)a->base, 0, 0, {0, 0, 0}};
  if (is_empty(a)) return t;
  t.outer = a->strides[0], t.channel = a->strides[1];
  for (int j = 2; j < a->rank; j++) t.spatial[j - 2] = a->strides[j];
  return t;
}

static rm_grid grid_of(const argument *a) { return (rm_grid){a->base, a->rank, a->size, a->strides}; }

static int spans_meet(const argument *a, int size_a, const argument *b, int size_b) {
  if (is_empty(a) || is_empty(b)) return 0;
  const rm_grid ga = grid_of(a), gb = grid_of(b);
  return rm_spans_meet(&ga, size_a, &gb, size_b);
}

static int may_overlap_itself(const argument *a, int size) {
  const rm_grid g = grid_of(a);
  return !is_empty(a) && rm_grid_may_overlap_itself(&g, size);
}

static rm_status check_arrays(int size, int size_out, const argument *x, const argument *w, const argument *bias,
                              const argument *out) {
  rm_status status = check_array(x);
  if (!status) status = check_array(w);
  if (!status) status = check_array(out);
  if (status) return status;
  const int meets = spans_meet(out, size_out, x, size) || spans_meet(out, size_out, w, size) ||
                    (bias->base && spans_meet(out, size_out, bias, size));
  return meets || may_overlap_itself(out, size_out) ? RM_STATUS(RM_ERR_OVERLAP, out->position) : RM_OK;
}

/* ------------------------------------------------------------------------------------------------ operands from geometry */

/* The axis (outer, spatial...), outer an index without a coordinate; or with that index last. */
static rm_axis axis_of(int64_t outer, ptrdiff_t outer_stride, const int64_t *count, const ptrdiff_t *stride,
                       const int64_t *step, int outer_last) {
  rm_axis a;
  const int at = outer_last ? S : 0, first = outer_last ? 0 : 1;
  a.count[at] = outer, a.stride[at] = outer_stride, a.step[at] = 0, a.dim[at] = RM_NO_COORDINATE;
  for (int j = 0; j < S; j++) {
    a.count[first + j] = count[j], a.stride[first + j] = stride[j];
    a.step[first + j] = step ? step[j] : 0, a.dim[first + j] = step ? j : RM_NO_COORDINATE;
  }
  return a;
}

static int64_t axis_size(const rm_axis *a) { return a->count[0] * a->count[1] * a->count[2] * a->count[3]; }

/* Whether the axis is one stride. */
static int is_uniform(const rm_axis *a, ptrdiff_t *stride) {
  const rm_axis_run run = rm_run_of_axis(a);
  *stride = run.stride;
  return run.n == axis_size(a);
}

static rm_axis plain_axis(int64_t n, ptrdiff_t stride) {
  return (rm_axis){
      {1, 1, 1, n}, {0, 0, 0, stride}, {0}, {RM_NO_COORDINATE, RM_NO_COORDINATE, RM_NO_COORDINATE, RM_NO_COORDINATE}};
}

static ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

/* Returns an operand without padding, by plain strides where that is possible. */
static rm_operand operand_of(rm_im2col *view, const char *base, const rm_axis *rows, const rm_axis *k) {
  rm_operand o = {base, 0, 0, 0};
  if (axis_size(k) == 0 || (is_uniform(rows, &o.row_stride) && is_uniform(k, &o.k_stride))) return o;
  *view = (rm_im2col){*rows, *k, {0, 0, 0}, {1, 1, 1}, 0};
  view->rows_adjacent = magnitude(rows->stride[S]) < magnitude(k->stride[S]);
  o.im2col = view;
  return o;
}

/* Sets the rows or columns of the result. */
static void target_side(const rm_axis *axis, ptrdiff_t *stride, const rm_axis **by_axis) {
  *by_axis = is_uniform(axis, stride) ? 0 : axis;
}

/* Returns the operand of elements at (position, feature), which are row and k or the other way round. */
static rm_operand padded_operand(rm_im2col *view, const char *base, const rm_axis *rows, const rm_axis *k,
                                 const int64_t *start, const int64_t *size, int rows_adjacent) {
  if (axis_size(k) == 0) return (rm_operand){base, 0, 0, 0};
  *view = (rm_im2col){*rows, *k, {start[0], start[1], start[2]}, {size[0], size[1], size[2]}, rows_adjacent};
  return (rm_operand){base, 0, 0, view};
}

static int channels_last(const tensor *t, const int64_t *spatial) {
  for (int j = S - 1; j >= 0; j--)
    if (spatial[j] > 1) return magnitude(t->channel) < magnitude(t->spatial[j]);
  return 1;
}

/* ------------------------------------------------------------------------------------------------ convolution and
 * gradients */

/* dst[n, o, q] = sum over c, t of src at (n, c, start + q move + t step) w[o, c, t], plus the bias: forward, and one residue
 * of the gradient with respect to x. */
typedef struct {
  int64_t batch, groups, from, to; /* channels of a group */
  int64_t positions[S], taps[S], start[S], move[S], step[S], size[S];
  tensor src, w, dst; /* w.outer: along `to`, w.channel: along `from` */
  ptrdiff_t next_w, stride_bias;
  const char *bias;
} correlation;

static rm_status correlate(const rm_conv_runner *runner, int format, const geometry *g, const correlation *c) {
  const int last = channels_last(&c->src, c->size), rows_are_positions = channels_last(&c->dst, c->positions);
  ptrdiff_t by_position[S], by_tap[S];
  const char *base = c->src.base;
  for (int j = 0; j < S; j++) {
    by_position[j] = c->move[j] * c->src.spatial[j];
    by_tap[j] = c->step[j] * c->src.spatial[j];
    base += c->start[j] * c->src.spatial[j];
  }
  const rm_axis positions = axis_of(c->batch, c->src.outer, c->positions, by_position, c->move, 0);
  const rm_axis taps = axis_of(c->from, c->src.channel, c->taps, by_tap, c->step, last);
  const rm_axis channels = plain_axis(c->to, c->w.outer),
                weights = axis_of(c->from, c->w.channel, c->taps, c->w.spatial, 0, last);
  const rm_axis where = axis_of(c->batch, c->dst.outer, c->positions, c->dst.spatial, 0, 0);
  rm_im2col px, pw;
  const rm_operand x = padded_operand(&px, base, &positions, &taps, c->start, c->size, !last);
  rm_operand w = operand_of(&pw, c->w.base, &channels, &weights);
  rm_matmul_problem p = rm_problem_of(format, g->groups);
  const ptrdiff_t next_x = c->from * c->src.channel;
  ptrdiff_t next_w = c->next_w;
  char *memory = runner->copy ? runner->copy(&w, rm_size_of(format), c->to, axis_size(&weights), c->groups, &next_w) : NULL;
  p.k = axis_size(&taps);
  p.c.base = c->dst.base;
  p.next_c = c->to * c->dst.channel;
  p.bias.base = (char *)(uintptr_t)c->bias;
  p.next_bias = c->to * c->stride_bias;
  if (rows_are_positions) {
    p.m = axis_size(&positions), p.n = c->to;
    p.a = x, p.b = w, p.next_a = next_x, p.next_b = next_w;
    target_side(&where, &p.c.row, &p.c.rows);
    p.c.col = c->dst.channel, p.bias.col = c->stride_bias;
  } else {
    p.m = c->to, p.n = axis_size(&positions);
    p.a = w, p.b = x, p.next_a = next_w, p.next_b = next_x;
    target_side(&where, &p.c.col, &p.c.cols);
    p.c.row = c->dst.channel, p.bias.row = c->stride_bias;
  }
  const rm_status status = runner->run(&p, runner->context);
  free(memory);
  return status;
}

static rm_status start(geometry *g, int format, const rm_conv *conv) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  return prepare(g, conv);
}

static argument bias_array(int64_t channels, const void *bias, const ptrdiff_t *stride, int position) {
  return (argument){1, {channels}, bias, stride, position};
}

/* The arrays of a call that goes from x to y, or with `back` from y to x; the bias is of the side that it goes to. */
typedef struct {
  argument from, w, to;
} arrays;

static rm_status prepare_call(geometry *g, arrays *a, int back, const rm_conv_call *call) {
  enum { AT_FROM = 3, AT_W = 5, AT_BIAS = 7, AT_TO = 9 };
  const rm_conv *conv = call->conv;
  const rm_status status = start(g, call->format, conv);
  if (status) return status;
  const int64_t channels[] = {conv->channels_in, conv->channels_out}, *const sizes[] = {g->in, g->out};
  a->from = array(conv, conv->batch, channels[back], sizes[back], call->from, call->strides_from, AT_FROM);
  a->w = array(conv, conv->channels_out, g->channels_in, g->kernel, call->w, call->strides_w, AT_W);
  a->to = array(conv, conv->batch, channels[!back], sizes[!back], call->to, call->strides_to, AT_TO);
  const argument b = bias_array(channels[!back], call->bias, &call->stride_bias, AT_BIAS);
  const int size = rm_size_of(call->format);
  return check_arrays(size, size, &a->from, &a->w, &b, &a->to);
}

/* Channels, taps and positions are the caller's. */
static correlation correlation_of(const geometry *g, const arrays *a, const rm_conv_call *call) {
  return (correlation){.batch = g->batch,
                       .groups = g->groups,
                       .src = tensor_of(&a->from),
                       .w = tensor_of(&a->w),
                       .dst = tensor_of(&a->to),
                       .stride_bias = call->stride_bias,
                       .bias = call->bias};
}

rm_status rm_conv_forward_by(const rm_conv_runner *runner, const rm_conv_call *call) {
  geometry g;
  arrays a;
  const rm_status status = prepare_call(&g, &a, 0, call);
  if (status || is_empty(&a.to)) return status;
  correlation c = correlation_of(&g, &a, call);
  c.from = g.channels_in, c.to = g.channels_out;
  c.next_w = g.channels_out * c.w.outer;
  for (int j = 0; j < S; j++) {
    c.positions[j] = g.out[j], c.taps[j] = g.in[j] ? g.kernel[j] : 0, c.size[j] = g.in[j];
    c.start[j] = -g.padding[j], c.move[j] = g.stride[j], c.step[j] = g.dilation[j];
  }
  return correlate(runner, call->format, &g, &c);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

/* Sets dimension j of one residue r of the gradient with respect to x. Returns the first tap; c->taps[j] is 0 when there is
 * none. */
static int64_t residue(const geometry *g, int j, int64_t r, correlation *c, int64_t *increment) {
  const int64_t s = g->stride[j], d = g->dilation[j], every = s / gcd(s, d);
  int64_t tap = 0;
  while (tap < every && tap < g->kernel[j] && (r + g->padding[j] - tap * d) % s) tap++;
  const int some = tap < every && tap < g->kernel[j];
  *increment = every;
  c->taps[j] = some ? (g->kernel[j] - tap + every - 1) / every : 0;
  c->positions[j] = (g->in[j] - r + s - 1) / s;
  c->size[j] = g->out[j];
  c->start[j] = some ? (r + g->padding[j] - tap * d) / s : 0;
  c->move[j] = 1;
  c->step[j] = -(every * d / s);
  return some ? tap : 0;
}

rm_status rm_conv_grad_input_by(const rm_conv_runner *runner, const rm_conv_call *call) {
  geometry g;
  arrays a;
  rm_status status = prepare_call(&g, &a, 1, call);
  if (status || is_empty(&a.to)) return status;
  const tensor x = tensor_of(&a.to), weights = tensor_of(&a.w);
  const int nothing = is_empty(&a.from) || is_empty(&a.w);
  int64_t residues[S], r[S];
  for (int j = 0; j < S; j++) residues[j] = g.stride[j] < g.in[j] ? g.stride[j] : g.in[j];
  for (r[0] = 0; r[0] < residues[0]; r[0]++)
    for (r[1] = 0; r[1] < residues[1]; r[1]++)
      for (r[2] = 0; r[2] < residues[2]; r[2]++) {
        correlation c = correlation_of(&g, &a, call);
        c.from = nothing ? 0 : g.channels_out, c.to = g.channels_in;
        c.w.outer = weights.channel, c.w.channel = weights.outer;
        c.next_w = g.channels_out * weights.outer;
        for (int j = 0; j < S; j++) {
          int64_t increment;
          const int64_t tap = residue(&g, j, r[j], &c, &increment);
          c.w.base += tap * weights.spatial[j];
          c.w.spatial[j] = increment * weights.spatial[j];
          c.dst.base += r[j] * x.spatial[j];
          c.dst.spatial[j] = g.stride[j] * x.spatial[j];
        }
        status = correlate(runner, call->format, &g, &c);
        if (status) return status;
      }
  return RM_OK;
}

rm_status rm_conv_grad_weight_by(const rm_conv_runner *runner, int format, const rm_conv *conv, const void *x,
                                 const ptrdiff_t *strides_x, const void *gy, const ptrdiff_t *strides_g, void *gw,
                                 const ptrdiff_t *strides_gw) {
  enum { AT_X = 3, AT_G = 5, AT_GW = 7 };
  geometry g;
  rm_status status = start(&g, format, conv);
  if (status) return status;
  const argument ax = array(conv, conv->batch, conv->channels_in, g.in, x, strides_x, AT_X),
                 ag = array(conv, conv->batch, conv->channels_out, g.out, gy, strides_g, AT_G), none = bias_array(0, 0, 0, 0),
                 aw = array(conv, conv->channels_out, g.channels_in, g.kernel, gw, strides_gw, AT_GW);
  const int size = rm_size_of(format);
  status =
      check_arrays(size, runner->size_out > 0 ? runner->size_out : size, &ax, &ag, &none, runner->size_out < 0 ? &none : &aw);
  if (status || is_empty(&aw)) return status;
  const tensor tx = tensor_of(&ax), tg = tensor_of(&ag), tw = tensor_of(&aw);
  const int nothing = is_empty(&ax) || is_empty(&ag), last = channels_last(&tx, g.in);
  int64_t begin[S], count[S];
  ptrdiff_t by_position[S], by_tap[S];
  const char *base = tx.base;
  for (int j = 0; j < S; j++) {
    count[j] = nothing ? 0 : g.out[j];
    begin[j] = -g.padding[j];
    by_position[j] = g.stride[j] * tx.spatial[j];
    by_tap[j] = g.dilation[j] * tx.spatial[j];
    base += begin[j] * tx.spatial[j];
  }
  const rm_axis channels = plain_axis(g.channels_out, tg.channel), sums = axis_of(g.batch, tg.outer, count, tg.spatial, 0, 0);
  const rm_axis positions = axis_of(g.batch, tx.outer, count, by_position, g.stride, 0);
  const rm_axis taps = axis_of(g.channels_in, tx.channel, g.kernel, by_tap, g.dilation, last);
  const rm_axis where = axis_of(g.channels_in, tw.channel, g.kernel, tw.spatial, 0, last);
  rm_im2col px, pg;
  rm_matmul_problem p = rm_problem_of(format, g.groups);
  p.m = g.channels_out, p.n = axis_size(&taps), p.k = axis_size(&positions);
  p.a = operand_of(&pg, tg.base, &channels, &sums), p.next_a = g.channels_out * tg.channel;
  p.b = padded_operand(&px, base, &taps, &positions, begin, g.in, last), p.next_b = g.channels_in * tx.channel;
  p.c.base = tw.base, p.c.row = tw.outer, p.next_c = g.channels_out * tw.outer;
  target_side(&where, &p.c.col, &p.c.cols);
  return runner->run(&p, runner->context);
}
