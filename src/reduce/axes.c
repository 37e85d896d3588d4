/* The public sums and means over axes: argument checks, environment, threads, and the tiers of single elements. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "../common/elements.h"
#include "../runtime/threads.h"
#include "axes.h"
#include "exact.h"
#include "statistics.h"
#include "sum_parts.h"

typedef rm_axes_problem problem;

enum { TERMS_PER_THREAD = 1 << 17, LONGEST = 1 << 16 };

/* The infinities and NaNs among the terms. */
static uint32_t classes_of(const problem *p, const char *x) {
  uint32_t classes = 0;
  for (int64_t k = 0; k < p->n1; k++) classes |= rm_superacc_classes(p->fmt, p->n2, x + k * p->s1, p->s2);
  return classes;
}

/* The same of all terms, where rows of neighbours in memory hold them; else SNAN, from which nothing follows. */
static uint32_t classes_of_all(const problem *p) {
  const int64_t given[4] = {p->outer, p->inner, p->n1, p->n2};
  const ptrdiff_t step[4] = {p->s_outer, p->s_inner, p->s1, p->s2};
  int64_t size[4] = {1, 1, 1, 1}, at[3];
  ptrdiff_t by[4] = {0};
  int axes = 0;
  for (int i = 0; i < 4; i++) { /* by strides, the smallest first */
    int k = axes;
    if (given[i] == 1 || step[i] == 0) continue;
    for (; k > 0 && by[k - 1] > step[i]; k--) size[k] = size[k - 1], by[k] = by[k - 1];
    size[k] = given[i], by[k] = step[i], axes++;
  }
  while (axes > 1 && by[1] == size[0] * by[0]) {
    size[0] *= size[1];
    for (int k = 1; k < 3; k++) size[k] = size[k + 1], by[k] = by[k + 1];
    size[3] = 1, by[3] = 0, axes--;
  }
  if (by[0] != rm_size_of(p->fmt) || size[0] < 16) return RM_ACC_SNAN;
  uint32_t classes = 0;
  for (at[0] = 0; at[0] < size[1]; at[0]++)
    for (at[1] = 0; at[1] < size[2]; at[1]++)
      for (at[2] = 0; at[2] < size[3]; at[2]++)
        classes |= rm_superacc_classes(p->fmt, size[0], p->x + at[0] * by[1] + at[1] * by[2] + at[2] * by[3], by[0]);
  return classes;
}

int rm_axes_nan_is_silent(const problem *p) {
  if (!p->seen) return 0;
  if (!*p->seen) *p->seen = RM_AXES_SEEN | classes_of_all(p);
  if (*p->seen & RM_AXES_RAISED) return 1;
  return !(*p->seen & RM_ACC_SNAN) && (~*p->seen & (RM_ACC_PINF | RM_ACC_NINF));
}

/* Whether infinities or NaNs among the terms decide element `at`. */
static int by_classes(const problem *p, uint32_t classes, uint64_t *bits, rm_tiers *tiers, uint32_t *flags) {
  if (!classes) return 0;
  tiers->fast++;
  *bits = rm_superacc_round_classes(classes, p->fmt_out, flags);
  if (p->seen && (*flags & RM_FLAG_INVALID)) *p->seen = RM_AXES_SEEN | RM_AXES_RAISED;
  return 1;
}

uint64_t rm_axes_exactly(const problem *p, int64_t at, double near, rm_tiers *tiers, uint32_t *flags) {
  const rm_sum_function f = {p->mean ? (uint64_t)(p->n1 * p->n2) : 1, 0, 0};
  const char *x = rm_axes_terms(p, at);
  uint64_t bits;
  if (!rm_is_finite(near)) { /* the sums of narrower formats do not leave the range of binary64 */
    const int by_sign = p->fmt != RM_F64 && near == near;
    if (by_classes(p, !by_sign ? classes_of(p, x) : near > 0.0 ? RM_ACC_PINF : RM_ACC_NINF, &bits, tiers, flags)) return bits;
  }
  rm_sum_problem row = {p->n2, {x, p->s2}, {NULL, 0}, p->fmt, NULL};
  for (int tier = p->fmt == RM_F64; tier < 2; tier++) {
    row.x.base = x;
    rm_partial sum = rm_sum_partial(&row, tier);
    for (int64_t k = 1; k < p->n1; k++) {
      row.x.base = x + k * p->s1;
      const rm_partial more = rm_sum_partial(&row, tier);
      rm_partial_join(&sum, &more);
    }
    double hi, lo, err;
    if (!rm_partial_known(&sum, &row, tier, &hi, &lo, &err)) {
      if (rm_is_finite(near) && !rm_is_finite(hi) && by_classes(p, classes_of(p, x), &bits, tiers, flags)) return bits;
      continue;
    }
    int decided = rm_function_decide(&f, hi, lo, err, p->fmt_out, &bits, flags);
    int exact = !decided;
    for (int64_t k = 0; exact && k < p->n1; k++) {
      row.x.base = x + k * p->s1;
      exact = rm_sum_is_exact(&row, err);
    }
    if (exact) {
      decided = hi == 0.0 || rm_function_decide(&f, hi, lo, 0.0, p->fmt_out, &bits, flags);
      if (hi == 0.0) bits = 0;
    }
    if (decided) {
      if (tier == 0 || p->fmt == RM_F64) tiers->fast++;
      else tiers->double_double++;
      return bits;
    }
  }
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  for (int64_t k = 0; k < p->n1; k++) {
    row.x.base = x + k * p->s1;
    rm_sum_feed(&row, 0, p->n2, &acc);
  }
  tiers->accumulator++;
  return rm_function_of_sum(&f, &acc, p->fmt_out, flags);
}

/* rm_in_parts divides at multiples of 64: an element counts as eight. */
enum { PER_ELEMENT = 8 };
static uint32_t part(const void *context, int64_t begin, int64_t end) {
  rm_tiers tiers = {0, 0, 0};
  uint32_t seen = 0;
  problem p = *(const problem *)context;
  p.seen = &seen;
  const uint32_t flags = rm_axes_kernels()->some(&p, begin / PER_ELEMENT, (end + PER_ELEMENT - 1) / PER_ELEMENT, &tiers);
  rm_stats_add(tiers.fast, tiers.double_double, tiers.accumulator);
  return flags;
}

/* Elements of many neighbouring terms, of which the tiers of a single sum take several threads. */
static uint32_t one_by_one(const problem *p, int64_t n) {
  const int size = rm_size_of(p->fmt_out);
  rm_tiers tiers = {0, 0, 0};
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t bits = rm_axes_exactly(p, i, 0.0, &tiers, &flags);
    memcpy(p->out + i * size, &bits, (size_t)size);
  }
  rm_stats_add(tiers.fast, tiers.double_double, tiers.accumulator);
  return flags;
}

/* Positions: format_x 1, size 2, stride 3, x 4, format_out 5, out 6. */
static rm_status run(int mean, int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out,
                     void *out) {
  if (format_x < 0 || format_x >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!size) return RM_STATUS(RM_ERR_NULL, 2);
  for (int i = 0; i < 4; i++)
    if (size[i] < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (!stride) return RM_STATUS(RM_ERR_NULL, 3);
  int64_t n, terms;
  if (__builtin_mul_overflow(size[0], size[1], &n) || __builtin_mul_overflow(size[2], size[3], &terms))
    return RM_STATUS(RM_ERR_SIZE, 2);
  if (n && terms && !x) return RM_STATUS(RM_ERR_NULL, 4);
  if (format_out < 0 || format_out >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 5);
  if (n && !out) return RM_STATUS(RM_ERR_NULL, 6);
  if (rm_isa_status()) return RM_ERR_ISA;
  if (!n) return RM_OK;
  problem p = {format_x,  format_out, mean,      size[0],   size[1], size[2], size[3],
               stride[0], stride[1],  stride[2], stride[3], x,       out,     NULL};
  const ptrdiff_t element = rm_size_of(format_x);
  if (p.n2 == 1 || (p.s2 != element && (p.s1 == element || p.n1 > p.n2))) { /* the order of terms does not matter */
    p.n1 = size[3], p.s1 = stride[3], p.n2 = size[2], p.s2 = stride[2];
  }
  if (p.inner == 1 && p.outer > 1) p.inner = p.outer, p.s_inner = p.s_outer, p.outer = 1, p.s_outer = 0;
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  if (!terms) {
    const uint64_t bits = mean ? rm_nan_bits(format_out) : 0; /* 0/0 */
    if (mean) flags = RM_FLAG_INVALID;
    for (int64_t i = 0; i < n; i++) memcpy(p.out + i * rm_size_of(format_out), &bits, (size_t)rm_size_of(format_out));
  } else if (terms >= INT64_C(1) << 31 || (p.s2 == element && terms > LONGEST && p.s_inner != element)) {
    flags = one_by_one(&p, n);
  } else {
    flags = rm_in_parts(PER_ELEMENT * n, PER_ELEMENT * (1 + TERMS_PER_THREAD / terms), part, &p);
  }
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_sum_axes(int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out, void *out) {
  return run(0, format_x, size, stride, x, format_out, out);
}
rm_status rm_mean_axes(int format_x, const int64_t *size, const ptrdiff_t *stride, const void *x, int format_out, void *out) {
  return run(1, format_x, size, stride, x, format_out, out);
}
