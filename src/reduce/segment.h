/* One row of a scatter sum: the sum of rows, vectorised over columns.
 *
 * plain (formats below binary64, many terms): binary64 sums s of the terms and w of their magnitudes. With T terms s passes
 * T - 1 additions: |s - S| <= (T - 1) u' A, A = sum |term|, u' = u/(1 - T u), and w >= A (1 - T u); so 1.01 2^-53 (T - 1) w
 * covers it for T < 2^40. Sums of binary16 numbers with w <= 2^29 are exact: every term and partial sum is a multiple of
 * 2^-24 below 2^29.
 *
 * running (the same formats, few terms): s + e = s' + term exactly (Knuth's TwoSum), so S = s + sum e, and the sum E of the
 * computed |e| bounds the error of s: sum |e| <= E (1 + 2^-10) for T < 2^40. Few terms are often a tie, or cancel: E = 0
 * proves s exact. Of two terms s + e is the sum.
 *
 * compensated: hi + e = hi' + term and lo + d = lo' + e, exactly (where a TwoSum overflows something stays infinite or NaN;
 * additions do not underflow). So S = hi + lo + sum d exactly, and the sum E of the computed |d| bounds the error of hi +
 * lo: sum |d| <= E (1 + 2^-10) for T < 2^40. E = 0 proves hi + lo exact: ties, zeros, integers and quantised data are
 * decided here.
 *
 * What these leave undecided, and NaN, goes to the superaccumulator; and infinities of binary64. */
#pragma once

#include "../../crlibm/simd/machine.h"
#include "chains.h"
#include "round_columns.h"
#include "scatter.h"

/* Vectors of a block: three sums for each, and the terms, must fit the registers. */
enum { RM_SEGMENT_VECTORS = RM_SIMD == RM_SIMD_AVX2 ? 2 : 4, RM_SEGMENT_FEW = 16, RM_SEGMENT_AHEAD = 4 };

/* RM_LANES columns of one row, or the first `count` of them and zeros. whole: all, next to each other. */
RM_FN vf64 rm_load_columns(const char *p, ptrdiff_t col, int count, const int fmt, const int whole) {
  if (whole) return rm_load_elements(p, fmt);
  double t[RM_LANES];
  for (int l = 0; l < RM_LANES; l++) t[l] = l < count ? rm_read_element(p + l * col, fmt) : 0.0;
  return vf64_load(t);
}

/* The terms of one row of out, from some column on. old: its value, NULL when it is no term. */
typedef struct {
  const char *src, *old;
  ptrdiff_t row, col, col_old;
  const rm_segment *s;
  int count; /* columns, where they are not whole vectors */
} rm_columns;

/* The first term: the old value, or the first contribution (*t becomes 1). Of a sum of zeros the result is +0. */
RM_FN void rm_columns_first(const rm_columns *g, const int fmt, const int nv, const int whole, vf64 *s, int64_t *t) {
  const int step = rm_size_of(fmt) * RM_LANES;
  const char *p = g->old ? g->old : g->src + g->s->terms[0] * g->row;
  RM_UNROLL
  for (int v = 0; v < nv; v++)
    s[v] = vf64_add(rm_load_columns(p + v * step, g->old ? g->col_old : g->col, g->count, fmt, whole), vf64_set1(0.0));
  *t = g->old == NULL;
}

/* Returns the t-th contribution; one that comes later is prefetched. */
RM_FN const char *rm_columns_term(const rm_columns *g, int64_t t, int bytes) {
#if RM_DEVICE
  (void)bytes; /* other threads work while one waits */
#else
  const int64_t *later = g->s->terms + t + RM_SEGMENT_AHEAD;
  const char *next = g->src + (later < g->s->all ? *later : g->s->terms[t]) * g->row;
  for (int i = 0; i < bytes; i += 64) __builtin_prefetch(next + i);
#endif
  return g->src + g->s->terms[t] * g->row;
}

RM_FN void rm_columns_plain(const rm_columns *g, const int fmt, const int nv, const int whole, vf64 *c, vf64 *r, vf64 *err) {
  const int step = rm_size_of(fmt) * RM_LANES;
  vf64 s[RM_SEGMENT_VECTORS], w[RM_SEGMENT_VECTORS];
  int64_t t;
  rm_columns_first(g, fmt, nv, whole, s, &t);
  RM_UNROLL
  for (int v = 0; v < nv; v++) w[v] = vf64_abs(s[v]);
  for (; t < g->s->n; t++) {
    const char *p = rm_columns_term(g, t, nv * step);
    RM_UNROLL
    for (int v = 0; v < nv; v++) {
      const vf64 x = rm_load_columns(p + v * step, g->col, g->count, fmt, whole);
      s[v] = vf64_add(s[v], x);
      w[v] = vf64_add(w[v], vf64_abs(x));
    }
  }
  const vf64 unit = vf64_set1(RM_BOUND(0x1.03p-53 * (double)g->s->n)); /* n is T - 1, or T without an old value */
  RM_UNROLL
  for (int v = 0; v < nv; v++) {
    c[v] = s[v], r[v] = vf64_set1(0.0);
    err[v] = vf64_mul(unit, w[v]);
    if (fmt == RM_F16) err[v] = vf64_select(vf64_le(w[v], vf64_set1(0x1p29)), vf64_set1(0.0), err[v]);
  }
}

#define RM_RUNNING_BOUND RM_BOUND(0x1.004p0)

RM_FN void rm_columns_running(const rm_columns *g, const int fmt, const int nv, const int whole, vf64 *c, vf64 *r,
                              vf64 *err) {
  const int step = rm_size_of(fmt) * RM_LANES;
  int64_t t;
  rm_columns_first(g, fmt, nv, whole, c, &t);
  RM_UNROLL
  for (int v = 0; v < nv; v++) r[v] = err[v] = vf64_set1(0.0);
  const int two = g->s->n - t == 1;
  for (; t < g->s->n; t++) {
    const char *p = rm_columns_term(g, t, nv * step);
    RM_UNROLL
    for (int v = 0; v < nv; v++) {
      const rm_vpair h = rm_vpair_two_sum(c[v], rm_load_columns(p + v * step, g->col, g->count, fmt, whole));
      c[v] = h.hi, r[v] = h.lo;
      err[v] = vf64_add(err[v], vf64_abs(h.lo));
    }
  }
  RM_UNROLL
  for (int v = 0; v < nv; v++) {
    err[v] = vf64_mul(err[v], vf64_set1(two ? 0.0 : RM_RUNNING_BOUND));
    if (!two) r[v] = vf64_set1(0.0);
  }
}

RM_FN void rm_columns_compensated(const rm_columns *g, const int fmt, const int nv, const int whole, vf64 *c, vf64 *r,
                                  vf64 *err) {
  const int step = rm_size_of(fmt) * RM_LANES;
  vf64 hi[RM_SEGMENT_VECTORS], lo[RM_SEGMENT_VECTORS], e[RM_SEGMENT_VECTORS];
  int64_t t;
  rm_columns_first(g, fmt, nv, whole, hi, &t);
  RM_UNROLL
  for (int v = 0; v < nv; v++) lo[v] = e[v] = vf64_set1(0.0);
  for (; t < g->s->n; t++) {
    const char *p = rm_columns_term(g, t, nv * step);
    RM_UNROLL
    for (int v = 0; v < nv; v++) {
      const rm_vpair h = rm_vpair_two_sum(hi[v], rm_load_columns(p + v * step, g->col, g->count, fmt, whole));
      const rm_vpair l = rm_vpair_two_sum(lo[v], h.lo);
      hi[v] = h.hi, lo[v] = l.hi;
      e[v] = vf64_add(e[v], vf64_abs(l.lo));
    }
  }
  RM_UNROLL
  for (int v = 0; v < nv; v++) {
    const rm_vpair sum = rm_vpair_two_sum(hi[v], lo[v]);
    c[v] = vf64_select(vf64_is_infinite(hi[v]), hi[v], sum.hi), r[v] = sum.lo; /* errors beside infinities are NaN */
    err[v] = vf64_mul(e[v], vf64_set1(RM_RUNNING_BOUND));
  }
}

/* Sums nv vectors of columns, from `col` on. Returns RM_FLAG_* bits. A device has no room for an accumulator here: it returns
 * RM_SEGMENT_UNDECIDED, and nothing is stored. */
#define RM_SEGMENT_UNDECIDED UINT32_C(0x80000000)
RM_FN uint32_t rm_segment_columns(const rm_scatter_problem *p, const rm_segment *s, int64_t col, int count, const int fmt,
                                  const int nv, const int whole, rm_tiers *tiers) {
  const int size = rm_size_of(fmt), last = fmt == RM_F64 || p->again; /* no tier between this and the accumulator */
  char *at = p->out.base + s->row * p->out.row + col * p->out.col;
  rm_columns g = {p->src.base + col * p->src.col, p->add ? at : NULL, p->src.row, p->src.col, p->out.col, s, count};
  unsigned char out[8 * RM_SEGMENT_VECTORS * RM_LANES] __attribute__((aligned(8)));
  const uint32_t used = (uint32_t)((UINT64_C(1) << count) - 1);
  uint32_t flags = 0;
  vf64 c[RM_SEGMENT_VECTORS], r[RM_SEGMENT_VECTORS], err[RM_SEGMENT_VECTORS];
  if (fmt != RM_F64 && !last && s->n > RM_SEGMENT_FEW) rm_columns_plain(&g, fmt, nv, whole, c, r, err);
  else if ((fmt != RM_F64 && !last) || s->n + p->add <= 2) rm_columns_running(&g, fmt, nv, whole, c, r, err);
  else rm_columns_compensated(&g, fmt, nv, whole, c, r, err);
  RM_UNROLL
  for (int v = 0; v < nv; v++) {
    unsigned char *result = out + v * size * RM_LANES;
    uint32_t undecided = rm_round_sums(c[v], r[v], err[v], fmt, result) & used;
    *(p->again ? &tiers->double_double : &tiers->fast) += count - __builtin_popcount(undecided);
    if (RM_LIKELY(!undecided)) continue;
    if (!last) { /* the lanes that are decided already get the same bits again */
      rm_columns one = g;
      one.src += v * RM_LANES * p->src.col;
      if (one.old) one.old += v * RM_LANES * p->out.col;
      vf64 c1, r1, err1;
      rm_columns_compensated(&one, fmt, 1, whole, &c1, &r1, &err1);
      const uint32_t still = undecided & rm_round_sums(c1, r1, err1, fmt, result);
      tiers->double_double += __builtin_popcount(undecided & ~still);
      undecided = still;
    }
    for (int l = 0; undecided >> l; l++)
      if (undecided >> l & 1) {
        if (RM_DEVICE) return RM_SEGMENT_UNDECIDED;
        const uint64_t bits = rm_scatter_exactly(p, s, col + v * RM_LANES + l, &flags);
        __builtin_memcpy(result + l * size, &bits, (size_t)size); /* little endian */
        tiers->accumulator++;
      }
  }
  if (whole) __builtin_memcpy(at, out, (size_t)(nv * size * RM_LANES));
  else
    for (int l = 0; l < count; l++) __builtin_memcpy(at + l * p->out.col, out + l * size, (size_t)size);
  return flags;
}

RM_FN uint32_t rm_segment_format(const rm_scatter_problem *p, const rm_segment *s, int64_t begin, int64_t end, const int fmt,
                                 rm_tiers *tiers) {
  const int size = rm_size_of(fmt);
  uint32_t flags = 0;
  if (p->out.col == size && p->src.col == size) {
    for (; begin + RM_SEGMENT_VECTORS * RM_LANES <= end; begin += RM_SEGMENT_VECTORS * RM_LANES)
      flags |= rm_segment_columns(p, s, begin, RM_LANES, fmt, RM_SEGMENT_VECTORS, 1, tiers);
    for (; begin + RM_LANES <= end; begin += RM_LANES) flags |= rm_segment_columns(p, s, begin, RM_LANES, fmt, 1, 1, tiers);
  }
  for (; begin < end; begin += RM_LANES) {
    const int count = end - begin < RM_LANES ? (int)(end - begin) : RM_LANES;
    flags |= rm_segment_columns(p, s, begin, count, fmt, 1, 0, tiers);
  }
  return flags;
}

#define RM_DEFINE_SEGMENT(fmt, FMT)                                                                                 \
  RM_STATIC uint32_t rm_segment_##fmt(const rm_scatter_problem *p, const rm_segment *s, int64_t begin, int64_t end, \
                                      rm_tiers *tiers) {                                                            \
    return rm_segment_format(p, s, begin, end, FMT, tiers);                                                         \
  }
RM_DEFINE_SEGMENT(f16, RM_F16)
RM_DEFINE_SEGMENT(bf16, RM_BF16)
RM_DEFINE_SEGMENT(f32, RM_F32)
RM_DEFINE_SEGMENT(f64, RM_F64)
#undef RM_DEFINE_SEGMENT
