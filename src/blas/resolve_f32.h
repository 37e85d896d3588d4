/* Elements of a binary32 matmul that the fast bound has left open: certificate of exactness, double-double, superaccumulator.
 *
 * Certificate. All terms are multiples of g = 2^granule (lowest bit of the row times lowest bit of the column, and of the
 * bias). A rounded sum of multiples of g is one too: where its last place is at most g the sum is exact, else it is a multiple
 * of that larger power. So c - S is a multiple of g, and |c - S| < g means c = S. Integers and quantised data end here.
 *
 * Double-double: Sum2 of Ogita, Rump and Oishi (2005) over exact products, kept as an unevaluated sum hi + lo. With h = K + 64
 * at least the number of additions any one term passes: the errors of the main sums add up to at most h u' A in magnitude,
 * A = sum |a_k b_k| + |bias|, u' = u/(1 - h u), and the additions of those errors err by at most h u' of that:
 * |hi + lo - S| <= 1.01 h^2 u^2 A for h u < 2^-9. The same certificate applies to hi + lo. */
#ifndef RM_BLAS_RESOLVE_F32_H
#define RM_BLAS_RESOLVE_F32_H

#include "bound_f32.h"
#include "exact_gemm.h"
#include "lines.h"
#include "pack.h"
#include "pair.h"

enum { RM_GATHER = 32 * RM_LANES };

/* Up to RM_GATHER elements of a line as binary64, padded with zeros to whole vectors. */
RM_LOCAL void rm_gather_f32(double *dst, int64_t n, const char *src, ptrdiff_t step) {
  int64_t i = 0;
  if (step == 4)
    for (; i + RM_LANES <= n; i += RM_LANES) vf64_store(dst + i, vf64_load_f32((const float *)(const void *)(src + i * 4)));
  for (; i < n; i++) dst[i] = rm_read_element(src + i * step, RM_F32);
  for (; i % RM_LANES; i++) dst[i] = 0.0;
}

RM_LOCAL rm_pair rm_dot2_f32(int64_t k, const char *a, ptrdiff_t step_a, const char *b, ptrdiff_t step_b, double bias) {
  double x[RM_GATHER], y[RM_GATHER], his[RM_LANES], los[RM_LANES];
  vf64 hi = vf64_set1(0.0), lo = vf64_set1(0.0);
  for (int64_t k0 = 0; k0 < k; k0 += RM_GATHER) {
    int64_t n = k - k0 < RM_GATHER ? k - k0 : RM_GATHER;
    rm_gather_f32(x, n, a + k0 * step_a, step_a);
    rm_gather_f32(y, n, b + k0 * step_b, step_b);
    for (int64_t i = 0; i < n; i += RM_LANES) {
      vf64 p = vf64_mul(vf64_load(x + i), vf64_load(y + i));
      vf64 s = vf64_add(hi, p), t = vf64_sub(s, hi);
      lo = vf64_add(lo, vf64_add(vf64_sub(hi, vf64_sub(s, t)), vf64_sub(p, t)));
      hi = s;
    }
  }
  vf64_store(his, hi);
  vf64_store(los, lo);
  rm_pair sum = {bias, 0.0};
  for (int i = 0; i < RM_LANES; i++) {
    rm_pair s = rm_two_sum(sum.hi, his[i]);
    sum = (rm_pair){s.hi, sum.lo + (s.lo + los[i])};
  }
  return sum;
}

/* RN32 of a value within err of c, when that decides it. */
RM_FN int rm_decide_f32(double c, double err, float *r) {
  double e = __builtin_fabs(c) * 0x1p-52 + err;
  float low = (float)(c - e), high = (float)(c + e);
  *r = low;
  return rm_bits32(low) == rm_bits32(high);
}

typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  rm_line *rows, *cols; /* of the block, zeroed */
  int many;             /* so many elements are open that scanning every line of the block pays */
  rm_tiers *tiers;
  uint32_t flags;
} rm_resolver;

/* 2^granule of the terms of element (i, j) of the block. */
RM_LOCAL double rm_granule_of(rm_resolver *r, int64_t i, int64_t j, double bias) {
  const rm_matmul_problem *p = r->p;
  const rm_line *a = rm_line_of(r->rows + i, p->k, p->a.base + (r->block->row + i) * p->a.row, p->a.col, RM_F32);
  const rm_line *b = rm_line_of(r->cols + j, p->k, p->b.base + (r->block->col + j) * p->b.col, p->b.row, RM_F32);
  int g = a->granule + b->granule, gb = rm_granule64(rm_bits64(bias));
  if (gb < g) g = gb;
  return rm_pow2(g > 1000 ? 1000 : g); /* >= 2^-298 */
}

/* Element (i, j) of the block without reading its products again, when that is possible: c is what the fast path found, err
 * its bound. */
RM_LOCAL int rm_settle_element_f32(rm_resolver *r, int64_t i, int64_t j, double c, double err, double bias, float *v) {
  const rm_matmul_problem *p = r->p;
  const char *a = p->a.base + (r->block->row + i) * p->a.row, *b = p->b.base + (r->block->col + j) * p->b.col;
  if (c != c) { /* binary64 cannot overflow here, so NaN and infinity are already the answers of spec.md, section 2 */
    uint32_t classes = rm_line_of(r->rows + i, p->k, a, p->a.col, RM_F32)->classes |
                       rm_line_of(r->cols + j, p->k, b, p->b.row, RM_F32)->classes;
    if (p->bias.base) {
      uint32_t w;
      __builtin_memcpy(&w, p->bias.base + (r->block->col + j) * p->bias.col, 4);
      if ((w & 0x7fffffffu) > 0x7f800000u) classes |= rm_is_signalling(w, RM_F32) ? RM_ACC_SNAN : RM_ACC_QNAN;
    }
    r->flags |= rm_nan_flags(classes);
    *v = rm_from_bits32(0x7fc00000u);
  } else if (__builtin_isinf(c)) {
    *v = (float)c;
  } else {
    if (!rm_decide_f32(c, err, v)) {
      if (!r->many || !(err < rm_granule_of(r, i, j, bias))) return 0;
      *v = (float)c;
    }
    if (__builtin_isinf(*v)) r->flags |= RM_FLAG_OVERFLOW;
  }
  r->tiers->fast++;
  return 1;
}

/* The value of element (i, j) of the block. */
RM_LOCAL float rm_resolve_element_f32(rm_resolver *r, int64_t i, int64_t j, double c, double err, double bias) {
  const rm_matmul_problem *p = r->p;
  const char *a = p->a.base + (r->block->row + i) * p->a.row, *b = p->b.base + (r->block->col + j) * p->b.col;
  float v;
  if (rm_settle_element_f32(r, i, j, c, err, bias, &v)) return v;
  rm_pair s = rm_dot2_f32(p->k, a, p->a.col, b, p->b.row, bias);
  double err2 = err * rm_bound_dd_ratio_f32(p->k);
  int decided = rm_decide_f32(s.hi + s.lo, err2, &v);
  if (!decided && err2 < rm_granule_of(r, i, j, bias)) v = rm_round_pair_f32(s.hi, s.lo), decided = 1;
  if (!decided) {
    r->tiers->accumulator++;
    return rm_exact_element_f32(p, r->block->row + i, r->block->col + j, &r->flags);
  }
  r->tiers->double_double++;
  if (__builtin_isinf(v)) r->flags |= RM_FLAG_OVERFLOW;
  return v;
}

#endif
