/* Checks the arguments of pooling. */
#include "args.h"

#include "../../common/overlap.h"

/* Positions of the arguments: an average has its own ones before its arrays, each of which is followed by its strides. */
enum { FORMAT = 1, POOL, MAX_X, INCLUDE_PAD = MAX_X, DIVISOR, AVERAGE_X };

static rm_status check(int format, const rm_pool *p, int average) {
  const int64_t limit = INT64_C(1) << 40;
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (!p) return RM_STATUS(RM_ERR_NULL, POOL);
  int ok = p->dims >= 1 && p->dims <= 3 && p->batch >= 0 && p->channels >= 0 && p->batch < limit && p->channels < limit;
  for (int k = 0; ok && k < p->dims; k++) {
    ok = p->in[k] >= 0 && p->in[k] < limit && p->out[k] >= 0 && p->out[k] < limit;
    if (ok && !p->adaptive)
      ok = p->kernel[k] >= 1 && p->stride[k] >= 1 && p->dilation[k] >= 1 && p->padding[k] >= 0 && p->kernel[k] < limit &&
           p->stride[k] < limit && p->dilation[k] < limit && p->padding[k] < limit && (!average || p->dilation[k] == 1) &&
           (p->out[k] == 0 || p->stride[k] <= (INT64_C(1) << 60) / p->out[k]);
  }
  return ok ? RM_OK : RM_STATUS(RM_ERR_SIZE, POOL);
}

/* Strides of up to five axes: those that a pool of fewer dimensions lacks come first and are 1 long. */
static void spread(ptrdiff_t *to, const ptrdiff_t *s, int dims) {
  for (int k = 0; k < 2; k++) to[k] = s[k];
  for (int k = 0; k < 3; k++) to[2 + k] = k < 3 - dims ? 0 : s[2 + k - (3 - dims)];
}

rm_status rm_pool_check(rm_pool_problem *problem, const rm_pool_call *c) {
  const int format = c->format, average = c->average, backward = c->backward;
  const int at_x = average ? AVERAGE_X : MAX_X, at_y = at_x + 2, at_index = at_x + 4;
  const rm_pool *const given = c->pool;
  problem->images = 0;
  const rm_status status = check(format, given, average);
  if (status) return status;
  if (c->divisor < 0) return RM_STATUS(RM_ERR_RANGE, DIVISOR);
  rm_pool p = *given;
  const int skip = 3 - p.dims;
  for (int k = 2; k >= 0; k--) {
    const int from = k - skip;
    p.in[k] = from < 0 ? 1 : given->in[from], p.out[k] = from < 0 ? 1 : given->out[from];
    p.kernel[k] = from < 0 ? 1 : given->kernel[from], p.stride[k] = from < 0 ? 1 : given->stride[from];
    p.dilation[k] = from < 0 ? 1 : given->dilation[from], p.padding[k] = from < 0 ? 0 : given->padding[from];
  }
  int64_t n_in = p.batch * p.channels, n_out = n_in;
  for (int k = 0; k < 3; k++) {
    if (p.adaptive && p.in[k] > 0 && p.out[k] == 0) n_out = 0;
    n_in *= p.in[k], n_out *= p.out[k];
  }
  if ((backward ? n_in : n_out) == 0) return RM_OK;
  if ((backward ? n_out : n_in) && !c->x) return RM_STATUS(RM_ERR_NULL, at_x);
  if (!c->y) return RM_STATUS(RM_ERR_NULL, at_y);
  const int64_t source[5] = {p.batch, p.channels, backward ? p.out[0] : p.in[0], backward ? p.out[1] : p.in[1],
                             backward ? p.out[2] : p.in[2]};
  const int64_t result[5] = {p.batch, p.channels, backward ? p.in[0] : p.out[0], backward ? p.in[1] : p.out[1],
                             backward ? p.in[2] : p.out[2]};
  rm_pool_problem f = {.format = format,
                       .backward = backward,
                       .include_pad = c->include_pad,
                       .divisor = c->divisor,
                       .windows = p,
                       .images = p.batch,
                       .channels = p.channels,
                       .x = c->x,
                       .y = c->y,
                       .index = (char *)c->index};
  for (int k = 0; k < 3; k++) {
    f.axis[k].sources = source[2 + k], f.axis[k].results = result[2 + k];
    f.axis[k].step = backward || p.adaptive ? 1 : p.dilation[k];
  }
  spread(f.sx, c->sx, p.dims);
  spread(f.sy, c->sy, p.dims);
  if (c->index) spread(f.si, c->si, p.dims);
  const int size = rm_size_of(format);
  const rm_grid gx = {f.x, 5, source, f.sx}, gy = {f.y, 5, result, f.sy}, gi = {f.index, 5, result, f.si};
  const int has_source = (backward ? n_out : n_in) != 0;
  if (rm_grid_may_overlap_itself(&gy, size) || (has_source && rm_spans_meet(&gy, size, &gx, size)))
    return RM_STATUS(RM_ERR_OVERLAP, at_y);
  if (c->index && (rm_grid_may_overlap_itself(&gi, 8) || (has_source && rm_spans_meet(&gi, 8, &gx, size)) ||
                   rm_spans_meet(&gi, 8, &gy, size)))
    return RM_STATUS(RM_ERR_OVERLAP, at_index);
  *problem = f;
  return RM_OK;
}
