/* The checks of the arguments of norms. */
#include "args.h"

#include "../../common/overlap.h"

/* Positions of the arguments: the strides of an array follow it. */
enum { FORMAT = 1, SETS };
enum { NORM_X = 3, NORM_W = 5, NORM_B = 7, NORM_MEAN = 9, NORM_VARIANCE = 11, NORM_EPS = 13, NORM_Y };
enum {
  STATISTICS_X = 3,
  STATISTICS_W = 5,
  STATISTICS_B = 7,
  STATISTICS_EPS = 9,
  STATISTICS_Y,
  STATISTICS_MEAN = 12,
  STATISTICS_ROOT
};
enum {
  GRADIENT_G = 3,
  GRADIENT_X = 5,
  GRADIENT_W = 7,
  GRADIENT_MEAN = 9,
  GRADIENT_VARIANCE = 11,
  GRADIENT_EPS = 13,
  GRADIENT_DX
};
enum { WEIGHT_G = 3, WEIGHT_X = 5, WEIGHT_MEAN = 7, WEIGHT_VARIANCE = 9, WEIGHT_EPS = 11, WEIGHT_DW };

typedef struct {
  int g, x, w, b, mean, variance, eps, out;
} positions;
static const positions positions_of[] = {
    [RM_NORM] = {0, NORM_X, NORM_W, NORM_B, NORM_MEAN, NORM_VARIANCE, NORM_EPS, NORM_Y},
    [RM_NORM_AND_STATISTICS] = {0, STATISTICS_X, STATISTICS_W, STATISTICS_B, 0, 0, STATISTICS_EPS, STATISTICS_Y},
    [RM_NORM_GRADIENT] = {GRADIENT_G, GRADIENT_X, GRADIENT_W, 0, GRADIENT_MEAN, GRADIENT_VARIANCE, GRADIENT_EPS, GRADIENT_DX},
    [RM_NORM_WEIGHT_GRADIENT] = {WEIGHT_G, WEIGHT_X, 0, 0, WEIGHT_MEAN, WEIGHT_VARIANCE, WEIGHT_EPS, WEIGHT_DW},
};

static rm_set_view view_of(const rm_norm_array *a) {
  const ptrdiff_t *s = a->strides;
  rm_set_view v = {(char *)(uintptr_t)a->base, {0, 0}, 0, 0};
  if (a->base) v.set[0] = s[0], v.set[1] = s[1], v.outer = s[2], v.inner = s[3];
  return v;
}

/* Blocks of one element are one block. */
static void join_blocks(rm_norm_problem *f) {
  if (f->inner != 1 || f->outer == 1) return;
  rm_set_view *all[] = {&f->x, &f->w, &f->b, &f->y, &f->g};
  for (int i = 0; i < 5; i++) all[i]->inner = all[i]->outer, all[i]->outer = 0;
  f->inner = f->outer;
  f->outer = 1;
}

static int is_empty(const rm_norm_sets *s) { return !s->sets[0] || !s->sets[1] || !s->outer || !s->inner; }

static rm_status check(const rm_norm_call *c, const positions *at) {
  const struct {
    const rm_norm_array *array;
    int position, optional;
  } arrays[] = {{&c->g, at->g, 0}, {&c->x, at->x, 0},       {&c->out, at->out, 0},          {&c->w, at->w, 1},
                {&c->b, at->b, 1}, {&c->mean, at->mean, 1}, {&c->variance, at->variance, 1}};
  const rm_norm_sets *const sets = c->sets;
  if (c->format < 0 || c->format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (!sets) return RM_STATUS(RM_ERR_NULL, SETS);
  if (sets->sets[0] < 0 || sets->sets[1] < 0 || sets->outer < 0 || sets->inner < 0) return RM_STATUS(RM_ERR_SIZE, SETS);
  for (int i = 0; i < 7; i++) {
    if (!arrays[i].position || (!arrays[i].optional && is_empty(sets))) continue;
    if (!arrays[i].array->base && !arrays[i].optional) return RM_STATUS(RM_ERR_NULL, arrays[i].position);
    if (arrays[i].array->base && !arrays[i].array->strides) return RM_STATUS(RM_ERR_NULL, arrays[i].position + 1);
  }
  if (!rm_is_finite(c->eps)) return RM_STATUS(RM_ERR_RANGE, at->eps);
  if (is_empty(sets) || !c->mean.base == !c->variance.base) return RM_OK;
  return RM_STATUS(RM_ERR_NULL, c->mean.base ? at->variance : at->mean);
}

typedef struct {
  int64_t sizes[4];
  ptrdiff_t strides[4];
} set_grid;
/* The elements of all sets of a view; the grid points into *g. */
static rm_grid grid_of(set_grid *g, const rm_norm_problem *f, const rm_set_view *v) {
  *g = (set_grid){{f->sets[0], f->sets[1], f->outer, f->inner}, {v->set[0], v->set[1], v->outer, v->inner}};
  return (rm_grid){v->base, 4, g->sizes, g->strides};
}

/* The result may be an input with the same strides; otherwise they share no byte. */
static int apart(const rm_norm_problem *f, const rm_set_view *in) {
  set_grid a, b;
  if (!in->base) return 1;
  const rm_grid out = grid_of(&a, f, &f->y), from = grid_of(&b, f, in);
  int same = f->y.base == in->base;
  for (int i = 0; i < 4; i++) same &= a.sizes[i] == 1 || a.strides[i] == b.strides[i];
  return same || !rm_spans_meet(&out, rm_size_of(f->format), &from, rm_size_of(f->format));
}
static int overlaps_itself(const rm_norm_problem *f) {
  set_grid g;
  const rm_grid out = grid_of(&g, f, &f->y);
  return rm_grid_may_overlap_itself(&out, rm_size_of(f->format));
}

static rm_status check_statistics(rm_norm_problem *f, const rm_norm_call *c) {
  const int size = rm_size_of(f->format);
  const int64_t bytes[1] = {f->sets[0] * f->sets[1] * size};
  const ptrdiff_t one[1] = {1};
  char *const found[2] = {c->found_mean, c->found_root};
  const rm_set_view *const others[4] = {&f->x, &f->w, &f->b, &f->y};
  if (found[0] && !f->centered) return RM_STATUS(RM_ERR_RANGE, STATISTICS_MEAN);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 4; k++) {
      set_grid g;
      const rm_grid out = {found[i], 1, bytes, one}, from = grid_of(&g, f, others[k]);
      if (found[i] && others[k]->base && rm_spans_meet(&out, 1, &from, size))
        return RM_STATUS(RM_ERR_OVERLAP, STATISTICS_MEAN + i);
    }
  const uintptr_t a = (uintptr_t)found[0], b = (uintptr_t)found[1], length = (uintptr_t)bytes[0];
  if (a && b && a < b + length && b < a + length) return RM_STATUS(RM_ERR_OVERLAP, STATISTICS_ROOT);
  f->found_mean = found[0], f->found_root = found[1];
  return RM_OK;
}

/* Each column of a set (inner) has a weight of its own, or each block, or each set. */
static rm_status check_weight_gradient(rm_norm_problem *f) {
  const rm_set_view *const dw = &f->y;
  const int by_columns = dw->inner && !dw->outer && !dw->set[1] && !dw->set[0] && f->outer == 1,
            by_channels = !dw->inner && dw->set[1] && !dw->set[0];
  const int size = rm_size_of(f->format);
  if (!by_columns && !by_channels) return RM_STATUS(RM_ERR_RANGE, WEIGHT_DW + 1);
  set_grid o, x, g;
  const rm_grid from_x = grid_of(&x, f, &f->x), from_g = grid_of(&g, f, &f->g), out = grid_of(&o, f, dw);
  if (by_columns) o.sizes[0] = 1;
  if (rm_spans_meet(&out, size, &from_x, size) || rm_spans_meet(&out, size, &from_g, size))
    return RM_STATUS(RM_ERR_OVERLAP, WEIGHT_DW);
  if (by_channels && f->inner == 1 && !dw->outer) join_blocks(f);
  return RM_OK;
}

rm_status rm_norm_check(rm_norm_problem *problem, const rm_norm_call *c) {
  const rm_norm_sets *const sets = c->sets;
  const positions *const at = &positions_of[c->function];
  problem->sets[0] = 0;
  rm_status status = check(c, at);
  if (status || is_empty(sets)) return status;
  rm_norm_problem f = {.format = c->format,
                       .centered = sets->centered != 0,
                       .sets = {sets->sets[0], sets->sets[1]},
                       .outer = sets->outer,
                       .inner = sets->inner,
                       .x = view_of(&c->x),
                       .w = view_of(&c->w),
                       .b = view_of(&c->b),
                       .y = view_of(&c->out),
                       .g = view_of(&c->g),
                       .mean = view_of(&c->mean),
                       .variance = view_of(&c->variance),
                       .eps = c->eps};
  if (c->function == RM_NORM_WEIGHT_GRADIENT) {
    status = check_weight_gradient(&f);
    f.w = f.y;
  } else {
    const rm_set_view *const in[] = {&f.x, &f.g, &f.w, &f.b, &f.mean, &f.variance};
    if (overlaps_itself(&f)) status = RM_STATUS(RM_ERR_OVERLAP, at->out);
    for (int i = 0; i < 6 && !status; i++)
      if (!apart(&f, in[i])) status = RM_STATUS(RM_ERR_OVERLAP, at->out);
    if (!status && c->function == RM_NORM_AND_STATISTICS) status = check_statistics(&f, c);
    join_blocks(&f);
  }
  if (!status) *problem = f;
  return status;
}
