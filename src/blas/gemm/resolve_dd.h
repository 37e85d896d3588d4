/* Resolves elements that the double-double engine leaves undecided.
 *
 * It tries in order: rows and columns that are not finite; those that are zero; results near or beyond the ends of the
 * format, by directed bounds; the certificate of exactness of resolve_b64.h, which holds here for hi + lo (3 is a multiple of
 * the granule, as the granule is below 1); a double-double dot product whose bound is relative to sum |a_k b_k|, which serves
 * rows with a few huge elements; the superaccumulator.
 *
 * That dot product is Dot2 of Ogita, Rump and Oishi (2005) on scaled operands (rm_bound_dot2). Its count: a lane takes one
 * product of each RM_LANES k indices, RM_GATHER being a multiple of them, at most K/RM_LANES + 1 in all; so a term passes as
 * many two-sums in its lane, then at most RM_LANES <= 8 that join lanes to the bias: fewer than K + 64. An error of a product
 * joins that of its two-sum (one addition), then those of its lane (K/RM_LANES + 1), the error of the lane's join and those
 * of the lanes before (2), and RM_LANES - 1 joins: twice that count. */
#pragma once

#include "bound_dd.h"
#include "exact.h"
#include "vector_facts.h"
#include "pair.h"
#include "resolve_b64.h"
#include "exponent_scaling.h"

/* Sums of the scaled products, of what is lost on the way, and of magnitudes, one a lane. */
RM_STATIC void rm_dot2_lanes(const rm_matmul_problem *m, int64_t row, double factor_a, int64_t col, double factor_b,
                             double *his, double *los, double *sizes) {
  double x[RM_GATHER], y[RM_GATHER];
  vf64 hi = vf64_set1(0.0), lo = hi, size = hi;
  for (int64_t k0 = 0; k0 < m->k; k0 += RM_GATHER) {
    int64_t n = m->k - k0 < RM_GATHER ? m->k - k0 : RM_GATHER;
    rm_gather(x, &m->a, row, k0, n, factor_a, m->fmt);
    rm_gather(y, &m->b, col, k0, n, factor_b, m->fmt);
    for (int64_t i = 0; i < n; i += RM_LANES) {
      vf64 u = vf64_load(x + i), v = vf64_load(y + i), p = vf64_mul(u, v), e = vf64_mul_err(u, v, p), f;
      hi = vf64_two_sum(hi, p, &f);
      lo = vf64_add(lo, vf64_add(f, e));
      size = vf64_add(size, vf64_abs(p));
    }
  }
  vf64_store(his, hi);
  vf64_store(los, lo);
  vf64_store(sizes, size);
}

/* The sum of scaled products and the scaled bias; *err becomes its bound. */
RM_STATIC rm_pair rm_dot2_scaled(const rm_matmul_problem *m, int64_t row, double factor_a, int64_t col, double factor_b,
                                 double bias, double *err) {
  double his[RM_LANES], los[RM_LANES], sizes[RM_LANES], total = __builtin_fabs(bias);
  rm_pair sum = {bias, 0.0};
  rm_dot2_lanes(m, row, factor_a, col, factor_b, his, los, sizes);
  for (int i = 0; i < RM_LANES; i++) {
    rm_pair s = rm_pair_two_sum(sum.hi, his[i]);
    sum = (rm_pair){s.hi, sum.lo + (s.lo + los[i])};
    total += sizes[i];
  }
  *err = rm_bound_dot2(m->k, total);
  return sum;
}

/* x 2^t with one rounding, for a normal or zero x. */
RM_FN double rm_scale_back(double x, int t) {
  if (x == 0.0) return x;
  uint64_t b = rm_bits64(x);
  t += (int)((b >> 52) & 0x7ff) - 1023; /* of x scaled to [1, 2) in magnitude */
  x = rm_from_bits64((b & UINT64_C(0x800fffffffffffff)) | (UINT64_C(1023) << 52));
  if (t > 1023) return x * 0x1p1023 * 2.0;
  if (t >= -1022) return x * rm_pow2(t);
  if (t < -1076) t = -1076; /* below half of the least subnormal */
  return x * rm_pow2(t + 1074) * 0x1p-1074; /* the first product is exact */
}

/* RN of 2^back (hi + lo), known within err, when that decides it: *bits in the format's width. A value within e of c,
 * e >= err + 2 u |c|, lies between RN64(c - e) and RN64(c + e), as in epilogue_b64.h. */
RM_STATIC int rm_decide_scaled(rm_pair s, double err, int back, int fmt, uint64_t *bits) {
  double c = s.hi + s.lo, e = __builtin_fabs(c) * 0x1p-52 + err;
  if (fmt == RM_F32) {
    if (back > 900 || back < -900) return 0;
    float low = (float)((c - e) * rm_pow2(back)), high = (float)((c + e) * rm_pow2(back));
    *bits = rm_bits32(low);
    return rm_bits32(low) == rm_bits32(high);
  }
  rm_pair t = rm_pair_two_sum(s.hi, s.lo); /* as the vector test: a normal result */
  double near = t.hi + (t.lo - err), far = t.hi + (t.lo + err);
  int field = (int)((rm_bits64(near) >> 52) & 0x7ff);
  if (rm_bits64(near) == rm_bits64(far) && field != 0 && field != 0x7ff && field + back >= 2 && field + back <= 2046) {
    *bits = rm_bits64(near) + ((uint64_t)(int64_t)back << 52);
    return 1;
  }
  if (!(__builtin_fabs(c) >= 0x1p-1000) || e > __builtin_fabs(c) * 0.5) return 0;
  double low = rm_scale_back(c - e, back), high = rm_scale_back(c + e, back);
  *bits = rm_bits64(low);
  return rm_bits64(low) == rm_bits64(high);
}

/* The block, and what the resolver knows of its rows and columns. */
typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  int fmt;
  const double *row_factor, *row_shift, *col_factor, *col_shift; /* shifts are integers in disguise (exponent_scaling.h) */
  const uint8_t *row_kind, *col_kind;
  rm_vector_facts *rows, *cols;
  rm_tiers *tiers;
  uint32_t flags;
} rm_resolver_dd;

RM_STATIC uint64_t rm_exact_bits(rm_resolver_dd *r, int64_t i, int64_t j) {
  r->tiers->accumulator++;
  return rm_exact_element(r->p, r->block->row + i, r->block->col + j, &r->flags);
}

RM_FN const rm_vector_facts *rm_row_classes_dd(rm_resolver_dd *r, int64_t i) {
  return rm_vector_classes(r->rows + i, &r->p->a, r->block->row + i, r->p->k, r->fmt);
}
RM_FN const rm_vector_facts *rm_column_classes_dd(rm_resolver_dd *r, int64_t j) {
  return rm_vector_classes(r->cols + j, &r->p->b, r->block->col + j, r->p->k, r->fmt);
}
RM_FN int rm_granule_of_products_dd(rm_resolver_dd *r, int64_t i, int64_t j) {
  return rm_vector_granule(r->rows + i, &r->p->a, r->block->row + i, r->p->k, r->fmt) +
         rm_vector_granule(r->cols + j, &r->p->b, r->block->col + j, r->p->k, r->fmt);
}

/* Whether a row with these facts, or a column, is such that sums with it are infinite or NaN in the engine only where they
 * are: elements of one that is not finite are as they are, and finite products of them are at most 2^960, so that their sums
 * do not overflow; scaled ones that are not 0 do not become 0, beside which an infinity would be NaN. */
RM_STATIC int rm_keeps_special_dd(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt,
                                  uint8_t kind, double shift) {
  if (kind == RM_VECTOR_NONFINITE) return facts->modest;
  return kind == RM_VECTOR_ZERO || rm_vector_granule(facts, o, index, k, fmt) + (int)(int64_t)rm_bits64(shift) >= -1074;
}

/* The bits of element (i, j), whose row, column or bias is not finite; sum: the engine's high part. */
RM_STATIC uint64_t rm_resolve_special_dd(rm_resolver_dd *r, int64_t i, int64_t j, double bias, double sum) {
  const rm_matmul_problem *p = r->p;
  const rm_vector_facts *a = rm_row_classes_dd(r, i), *b = rm_column_classes_dd(r, j);
  const uint32_t nan = (a->classes | b->classes) & (RM_ACC_QNAN | RM_ACC_SNAN);
  uint64_t bits = rm_nan_bits(r->fmt);
  r->tiers->fast++;
  if (!rm_may_meet_padding(a, b)) { /* every element is a factor of a term */
    if (nan == RM_ACC_QNAN && !rm_is_nan(bias)) return bits;
    if (!nan && rm_is_finite(bias) && r->fmt == RM_F64 &&
        rm_keeps_special_dd(r->rows + i, &p->a, r->block->row + i, p->k, RM_F64, r->row_kind[i], r->row_shift[i]) &&
        rm_keeps_special_dd(r->cols + j, &p->b, r->block->col + j, p->k, RM_F64, r->col_kind[j], r->col_shift[j])) {
      if (!rm_is_nan(sum)) return rm_infinity_bits(RM_F64) | (sum < 0.0 ? rm_sign_bit(RM_F64) : 0);
      r->flags |= RM_FLAG_INVALID;
      return bits;
    }
  }
  if (rm_special_element(r->p, r->block->row + i, r->block->col + j, a->classes, b->classes, &bits, &r->flags)) return bits;
  r->tiers->fast--;
  return rm_exact_bits(r, i, j);
}

/* The bits of element (i, j) of the block; s is the engine's sum without the bias, in scaled units. */
RM_STATIC uint64_t rm_resolve_element_dd(rm_resolver_dd *r, int64_t i, int64_t j, rm_pair s) {
  const rm_matmul_problem *p = r->p;
  const int64_t row = r->block->row + i, col = r->block->col + j;
  double bias = p->bias.base ? rm_read_element(rm_bias_at(p, row, col), r->fmt) : 0.0;
  uint8_t ka = r->row_kind[i], kb = r->col_kind[j];
  if (ka == RM_VECTOR_NONFINITE || kb == RM_VECTOR_NONFINITE || !rm_is_finite(bias))
    return rm_resolve_special_dd(r, i, j, bias, s.hi);
  if (ka == RM_VECTOR_ZERO || kb == RM_VECTOR_ZERO || p->k == 0) { /* every product is zero; 0 + -0 is +0 */
    r->tiers->fast++;
    return r->fmt == RM_F32 ? rm_bits32((float)(bias + 0.0)) : rm_bits64(bias + 0.0);
  }
  int shift = (int)(int64_t)rm_bits64(r->row_shift[i]) + (int)(int64_t)rm_bits64(r->col_shift[j]);
  double err = rm_bound_dd(p->k), scaled_bias = 0.0;
  if (bias != 0.0) {
    int field = (int)((rm_bits64(bias) >> 52) & 0x7ff);
    if (field == 0 || field + shift < 2 || field + shift > 2045) return rm_exact_bits(r, i, j);
    scaled_bias = rm_from_bits64(rm_bits64(bias) + ((uint64_t)(int64_t)shift << 52));
    rm_pair t = rm_pair_two_sum(s.hi, scaled_bias);
    s = (rm_pair){t.hi, s.lo + t.lo};
    err += RM_BOUND_DD_BIAS * __builtin_fabs(t.hi);
  }
  uint64_t bits = 0;
  int decided = rm_decide_scaled(s, err, -shift, r->fmt, &bits), exact = 0;
  double granule = 0.0;
  if (!decided) {
    int g = rm_granule_of_products_dd(r, i, j), gb = rm_granule64(rm_bits64(bias));
    g = (gb < g ? gb : g) + shift;
    granule = g < -1000 ? 0.0 : rm_pow2(g > 0 ? 0 : g);
    exact = err < granule;
  }
  if (decided || exact) {
    r->tiers->fast++;
  } else {
    s = rm_dot2_scaled(p, row, r->row_factor[i], col, r->col_factor[j], scaled_bias, &err);
    decided = rm_decide_scaled(s, err, -shift, r->fmt, &bits);
    exact = !decided && err < granule;
    if (!decided && !exact) return rm_exact_bits(r, i, j);
    r->tiers->double_double++;
  }
  if (exact) {
    if (s.hi + s.lo == 0.0) return 0;
    if (r->fmt == RM_F32) {
      if (shift > 900 || shift < -900) goto accumulate;
      bits = rm_round_double(rm_pair_to_odd(s.hi * rm_pow2(-shift), s.lo * rm_pow2(-shift)), RM_F32);
    } else if (!rm_decide_scaled(s, 0.0, -shift, r->fmt, &bits)) {
      goto accumulate;
    }
  }
  if (r->fmt == RM_F32 ? (bits & 0x7f800000u) == 0x7f800000u : (bits >> 52 & 0x7ff) == 0x7ff) r->flags |= RM_FLAG_OVERFLOW;
  return bits;
accumulate: /* exact, but at an end of the format */
  return rm_exact_bits(r, i, j);
}

/* The sum s, within err, scaled back; 0 when that leaves the range. */
RM_FN int rm_unscale_pair(rm_pair s, double err, int shift, rm_pair *out, double *err_out) {
  if (shift > 300 || shift < -300) return 0;
  const double factor = rm_pow2(-shift);
  *out = rm_pair_two_sum(s.hi * factor, s.lo * factor); /* powers of two: exact, as nothing of s is below 2^-300 but zeros */
  *err_out = err * factor;
  return (s.hi == 0.0 || __builtin_fabs(s.hi) >= 0x1p-300) && (s.lo == 0.0 || __builtin_fabs(s.lo) >= 0x1p-600);
}

/* The bits of element (i, j) of a problem with alpha and beta: s is the engine's sum in scaled units, `old` are the bits of
 * C. */
RM_STATIC uint64_t rm_resolve_alpha_beta_dd(rm_resolver_dd *r, int64_t i, int64_t j, rm_pair s, uint64_t old) {
  const rm_matmul_problem *p = r->p;
  const rm_alpha_beta *alpha_beta = p->alpha_beta;
  const int64_t row = r->block->row + i, col = r->block->col + j;
  const double d = alpha_beta->beta == 0.0 ? 0.0 : rm_to_double(old, r->fmt);
  const uint8_t ka = r->row_kind[i], kb = r->col_kind[j];
  uint64_t bits;
  rm_pair sum, v;
  if (ka == RM_VECTOR_NONFINITE || kb == RM_VECTOR_NONFINITE || rm_is_nan(d)) {
    const uint32_t of_a = rm_row_classes_dd(r, i)->classes, of_b = rm_column_classes_dd(r, j)->classes;
    const uint32_t nan = (of_a | of_b) & (RM_ACC_QNAN | RM_ACC_SNAN);
    uint32_t unused = 0;
    double c = nan ? rm_from_bits64(rm_nan_bits(RM_F64)) : 0.0;
    if (!nan && rm_special_element(p, row, col, of_a, of_b, &bits, &unused)) c = rm_to_double(bits, r->fmt);
    if (rm_special_alpha_beta(p, c, nan, old, &bits, &r->flags)) {
      r->tiers->fast++;
      return bits;
    }
  } else {
    if (rm_is_alpha_beta_infinity(alpha_beta, 1, d, r->fmt, &bits)) {
      r->tiers->fast++;
      return bits;
    }
    const int zero = ka == RM_VECTOR_ZERO || kb == RM_VECTOR_ZERO || p->k == 0;
    const int shift = zero ? 0 : (int)(int64_t)rm_bits64(r->row_shift[i]) + (int)(int64_t)rm_bits64(r->col_shift[j]);
    double err = zero ? 0.0 : rm_bound_dd(p->k), e;
    if (zero) s = (rm_pair){0.0, 0.0};
    if (rm_unscale_pair(s, err, shift, &sum, &e) && rm_alpha_beta_pair(alpha_beta, sum, d, &v, &e) &&
        rm_decide_pair(v, e, 0.0, r->fmt, &bits, &r->flags)) {
      r->tiers->fast++;
      return bits;
    }
    if (!zero) s = rm_dot2_scaled(p, row, r->row_factor[i], col, r->col_factor[j], 0.0, &err);
    const int granule = rm_granule_of_products_dd(r, i, j);
    if (rm_unscale_pair(s, err, shift, &sum, &e) && rm_alpha_beta_pair(alpha_beta, sum, d, &v, &e) &&
        rm_decide_pair(v, e, rm_alpha_beta_granule(alpha_beta, granule, d), r->fmt, &bits, &r->flags)) {
      r->tiers->double_double++;
      return bits;
    }
  }
  r->tiers->accumulator++;
  return rm_exact_alpha_beta(p, row, col, old, &r->flags);
}
