/* The arguments of norms. */
#include "args.h"

#include "../../common/overlap.h"

static rm_set_places places(const void *base, const ptrdiff_t *s) {
  rm_set_places p = {(char *)(uintptr_t)base, {0, 0}, 0, 0};
  if (base) p.set[0] = s[0], p.set[1] = s[1], p.outer = s[2], p.inner = s[3];
  return p;
}

/* Blocks of one element are one block. */
static void join_blocks(rm_norm_job *f) {
  if (f->inner != 1 || f->outer == 1) return;
  rm_set_places *all[] = {&f->x, &f->w, &f->b, &f->y, &f->g};
  for (int i = 0; i < 5; i++) all[i]->inner = all[i]->outer, all[i]->outer = 0;
  f->inner = f->outer;
  f->outer = 1;
}

typedef struct {
  const void *base;
  const ptrdiff_t *strides;
  int position;
} argument;

static rm_status check(int format, const rm_norm_sets *sets, const argument *needed, int count, const argument *optional, int options,
                       double eps, int eps_position) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!sets) return RM_STATUS(RM_ERR_NULL, 2);
  if (sets->sets[0] < 0 || sets->sets[1] < 0 || sets->outer < 0 || sets->inner < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (sets->sets[0] && sets->sets[1] && sets->outer && sets->inner)
    for (int i = 0; i < count; i++) {
      if (!needed[i].base) return RM_STATUS(RM_ERR_NULL, needed[i].position);
      if (!needed[i].strides) return RM_STATUS(RM_ERR_NULL, needed[i].position + 1);
    }
  for (int i = 0; i < options; i++)
    if (optional[i].base && !optional[i].strides) return RM_STATUS(RM_ERR_NULL, optional[i].position + 1);
  if (!(eps >= 0.0 && rm_is_finite(eps))) return RM_STATUS(RM_ERR_RANGE, eps_position);
  return RM_OK;
}

static int is_empty(const rm_norm_sets *s) { return !s->sets[0] || !s->sets[1] || !s->outer || !s->inner; }

/* out may be an input with the same strides; else no byte is shared. */
static int apart(const rm_norm_job *f, const rm_set_places *in) {
  if (!in->base) return 1;
  const int64_t sizes[4] = {f->sets[0], f->sets[1], f->outer, f->inner};
  const ptrdiff_t a[4] = {f->y.set[0], f->y.set[1], f->y.outer, f->y.inner}, b[4] = {in->set[0], in->set[1], in->outer, in->inner};
  int same = f->y.base == in->base;
  for (int i = 0; i < 4; i++) same &= sizes[i] == 1 || a[i] == b[i];
  if (same) return 1;
  const rm_grid ga = {f->y.base, 4, sizes, a}, gb = {in->base, 4, sizes, b};
  return !rm_spans_meet(&ga, rm_size_of(f->format), &gb, rm_size_of(f->format));
}
static int overlaps_itself(const rm_norm_job *f) {
  const int64_t sizes[4] = {f->sets[0], f->sets[1], f->outer, f->inner};
  const ptrdiff_t a[4] = {f->y.set[0], f->y.set[1], f->y.outer, f->y.inner};
  const rm_grid g = {f->y.base, 4, sizes, a};
  return rm_grid_may_overlap_itself(&g, rm_size_of(f->format));
}

static rm_norm_job norm_of(int format, const rm_norm_sets *sets, double eps) {
  rm_norm_job f = {.format = format, .centered = sets->centered != 0, .outer = sets->outer, .inner = sets->inner, .eps = eps};
  f.sets[0] = sets->sets[0], f.sets[1] = sets->sets[1];
  return f;
}

rm_status rm_normalize_job(rm_norm_job *job, int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                       const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                       const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy) {
  job->sets[0] = 0;
  const argument needed[] = {{x, sx, 3}, {y, sy, 14}}, optional[] = {{w, sw, 5}, {b, sb, 7}, {mean, sm, 9}, {variance, sv, 11}};
  const rm_status status = check(format, sets, needed, 2, optional, 4, eps, 13);
  if (status || is_empty(sets)) return status;
  if (!mean != !variance) return RM_STATUS(RM_ERR_NULL, mean ? 11 : 9);
  rm_norm_job f = norm_of(format, sets, eps);
  f.x = places(x, sx), f.w = places(w, sw), f.b = places(b, sb), f.y = places(y, sy);
  f.mean = places(mean, sm), f.variance = places(variance, sv);
  if (overlaps_itself(&f) || !apart(&f, &f.x) || !apart(&f, &f.w) || !apart(&f, &f.b) || !apart(&f, &f.mean) || !apart(&f, &f.variance))
    return RM_STATUS(RM_ERR_OVERLAP, 14);
  join_blocks(&f);
  *job = f;
  return RM_OK;
}

static int meet(const void *out, int64_t bytes, const void *in, const rm_norm_sets *sets, const ptrdiff_t *strides, int size) {
  if (!out || !in) return 0;
  const int64_t sizes[4] = {sets->sets[0], sets->sets[1], sets->outer, sets->inner}, all[1] = {bytes};
  const ptrdiff_t one[1] = {1};
  const rm_grid a = {out, 1, all, one}, b = {in, 4, sizes, strides};
  return rm_spans_meet(&a, 1, &b, size);
}

rm_status rm_normalize_statistics_job(rm_norm_job *f, const rm_norm_sets *sets, const ptrdiff_t *sx, const ptrdiff_t *sw, const ptrdiff_t *sb,
                                      const ptrdiff_t *sy, void *mean, void *root, int position) {
  const int size = rm_size_of(f->format);
  const int64_t bytes = f->sets[0] * f->sets[1] * size;
  void *const found[2] = {mean, root};
  const struct {
    const void *base;
    const ptrdiff_t *strides;
  } others[4] = {{f->x.base, sx}, {f->w.base, sw}, {f->b.base, sb}, {f->y.base, sy}};
  if (mean && !f->centered) return RM_STATUS(RM_ERR_RANGE, position);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 4; k++)
      if (meet(found[i], bytes, others[k].base, sets, others[k].strides, size)) return RM_STATUS(RM_ERR_OVERLAP, position + i);
  const uintptr_t a = (uintptr_t)mean, b = (uintptr_t)root;
  if (mean && root && a < b + (uintptr_t)bytes && b < a + (uintptr_t)bytes) return RM_STATUS(RM_ERR_OVERLAP, position + 1);
  f->found_mean = mean, f->found_root = root;
  return RM_OK;
}

rm_status rm_normalize_backward_job(rm_norm_job *job, int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean, const ptrdiff_t *sm,
                                const void *variance, const ptrdiff_t *sv, double eps, void *dx, const ptrdiff_t *sdx) {
  job->sets[0] = 0;
  const argument needed[] = {{g, sg, 3}, {x, sx, 5}, {dx, sdx, 14}}, optional[] = {{w, sw, 7}, {mean, sm, 9}, {variance, sv, 11}};
  const rm_status status = check(format, sets, needed, 3, optional, 3, eps, 13);
  if (status || is_empty(sets)) return status;
  if (!mean != !variance) return RM_STATUS(RM_ERR_NULL, mean ? 11 : 9);
  rm_norm_job f = norm_of(format, sets, eps);
  f.x = places(x, sx), f.g = places(g, sg), f.w = places(w, sw), f.y = places(dx, sdx);
  f.mean = places(mean, sm), f.variance = places(variance, sv);
  if (overlaps_itself(&f) || !apart(&f, &f.x) || !apart(&f, &f.g) || !apart(&f, &f.w) || !apart(&f, &f.mean) || !apart(&f, &f.variance))
    return RM_STATUS(RM_ERR_OVERLAP, 14);
  join_blocks(&f);
  *job = f;
  return RM_OK;
}

/* Where a weight of its own stands for each: columns of a set (inner), or blocks, or whole sets. */
rm_status rm_normalize_backward_weight_job(rm_norm_job *job, int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                       const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm, const void *variance,
                                       const ptrdiff_t *sv, double eps, void *dw, const ptrdiff_t *sdw) {
  job->sets[0] = 0;
  const argument needed[] = {{g, sg, 3}, {x, sx, 5}, {dw, sdw, 12}}, optional[] = {{mean, sm, 7}, {variance, sv, 9}};
  const rm_status status = check(format, sets, needed, 3, optional, 2, eps, 11);
  if (status || is_empty(sets)) return status;
  if (!mean != !variance) return RM_STATUS(RM_ERR_NULL, mean ? 9 : 7);
  const int by_columns = sdw[3] && !sdw[2] && !sdw[1] && !sdw[0] && sets->outer == 1, by_channels = !sdw[3] && sdw[1] && !sdw[0];
  if (!by_columns && !by_channels) return RM_STATUS(RM_ERR_RANGE, 13);
  rm_norm_job f = norm_of(format, sets, eps);
  f.x = places(x, sx), f.g = places(g, sg), f.w = places(dw, sdw), f.y = f.w;
  f.mean = places(mean, sm), f.variance = places(variance, sv);
  const int64_t sizes[4] = {by_columns ? 1 : f.sets[0], f.sets[1], f.outer, f.inner}, many[4] = {f.sets[0], f.sets[1], f.outer, f.inner};
  const ptrdiff_t a[4] = {0, sdw[1], sdw[2], sdw[3]};
  const rm_grid out = {dw, 4, sizes, a}, gx = {x, 4, many, sx}, gg = {g, 4, many, sg};
  if (rm_spans_meet(&out, rm_size_of(format), &gx, rm_size_of(format)) || rm_spans_meet(&out, rm_size_of(format), &gg, rm_size_of(format)))
    return RM_STATUS(RM_ERR_OVERLAP, 12);
  if (by_channels && f.inner == 1 && !sdw[2]) join_blocks(&f);
  *job = f;
  return RM_OK;
}
