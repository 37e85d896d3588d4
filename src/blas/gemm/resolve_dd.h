/* Resolves elements that the double-double engine leaves undecided.
 *
 * It tries in order: rows and columns that are not finite; those that are zero; results near or beyond the ends of the
 * format, by directed bounds; the certificate of exactness of resolve_b64.h, which holds here for hi + lo (3 is a multiple of
 * the granule, as the granule is below 1); a double-double dot product whose bound is relative to sum |a_k b_k|, which serves
 * rows with a few huge elements; the superaccumulator.
 *
 * That dot product is Dot2 (dot2_dd.h). */
#pragma once

#include "bound_dd.h"
#include "dot2_dd.h"
#include "exact.h"
#include "vector_facts.h"
#include "pair.h"
#include "resolve_b64.h"
#include "exponent_scaling.h"

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

/* RN of 2^back v where that may be subnormal: v is within err of near + rest, and all that v may be rounds to near, so that v
 * is on near's side of every point half-way between two results, unless near is one of them; then rest tells. */
RM_STATIC int rm_decide_subnormal(double near, double rest, double err, int back, uint64_t *bits) {
  if (back > -53 || back < -2097) return 0;
  const double r = rm_scale_back(near, back), step = rm_pow2(-1074 - back);
  const double apart =
      __builtin_fabs(near) - (double)(rm_bits64(r) << 1 >> 1) * step; /* exact; r has its units as its bits */
  *bits = rm_bits64(r);
  if (__builtin_fabs(apart) != 0.5 * step) return 1;
  if (rest == 0.0 && err == 0.0) return 1;
  if (!(__builtin_fabs(rest) > 2.0 * err)) return 0;
  const int away = (rest > 0.0) == (near > 0.0);
  *bits = rm_bits64(rm_scale_back(rm_from_bits64(rm_bits64(near) + (away ? 1u : ~UINT64_C(0))), back));
  return 1;
}

/* RN of 2^back (hi + lo), known within err, when that decides it: *bits in the format's width. err is 0, or has room for u
 * (|lo| + err), by which lo - err and lo + err round. A value within e of c, e >= err + 2 u |c|, lies between RN64(c - e) and
 * RN64(c + e), as in epilogue_b64.h. */
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
  if (rm_bits64(near) == rm_bits64(far) && field != 0 && field != 0x7ff && field + back < 2)
    if (rm_decide_subnormal(near, (t.hi - near) + t.lo, err, back, bits)) return 1;
  if (!(__builtin_fabs(c) >= 0x1p-1000) || e > __builtin_fabs(c) * 0.5) return 0;
  double low = rm_scale_back(c - e, back), high = rm_scale_back(c + e, back);
  *bits = rm_bits64(low);
  return rm_bits64(low) == rm_bits64(high);
}

/* The block, and what the resolver knows of its rows and columns; again: the products of the tile that it is at, once more,
 * or NULL, and place, where the element is in it. */
typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  int fmt;
  const double *row_factor, *row_shift, *col_factor, *col_shift; /* shifts are integers in disguise (exponent_scaling.h) */
  const uint8_t *row_kind, *col_kind;
  rm_vector_facts *rows, *cols;
  rm_tiers *tiers;
  uint32_t flags;
  const rm_dot2_tile *again;
  int place;
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

/* The sum of the products of element (i, j), of which one is not finite, in binary64: infinite or NaN without a NaN among the
 * factors. Whether the engine's high part tells. */
RM_STATIC int rm_special_sum_dd(rm_resolver_dd *r, int64_t i, int64_t j, double sum, double *c) {
  const rm_matmul_problem *p = r->p;
  const rm_vector_facts *a = rm_row_classes_dd(r, i), *b = rm_column_classes_dd(r, j);
  if (r->fmt != RM_F64 || ((a->classes | b->classes) & (RM_ACC_QNAN | RM_ACC_SNAN)) || rm_may_meet_padding(a, b) ||
      !rm_keeps_special_dd(r->rows + i, &p->a, r->block->row + i, p->k, RM_F64, r->row_kind[i], r->row_shift[i]) ||
      !rm_keeps_special_dd(r->cols + j, &p->b, r->block->col + j, p->k, RM_F64, r->col_kind[j], r->col_shift[j]))
    return 0;
  *c = rm_is_nan(sum) ? sum : sum < 0.0 ? -__builtin_inf() : __builtin_inf();
  return 1;
}

/* The bits of element (i, j), whose row, column or bias is not finite; sum: the engine's high part. */
RM_STATIC uint64_t rm_resolve_special_dd(rm_resolver_dd *r, int64_t i, int64_t j, double bias, double sum) {
  const rm_vector_facts *a = rm_row_classes_dd(r, i), *b = rm_column_classes_dd(r, j);
  const uint32_t nan = (a->classes | b->classes) & (RM_ACC_QNAN | RM_ACC_SNAN);
  uint64_t bits = rm_nan_bits(r->fmt);
  r->tiers->fast++;
  if (nan == RM_ACC_QNAN && !rm_is_nan(bias) && !rm_may_meet_padding(a, b)) return bits; /* every element is in a term */
  double c = 0.0; /* of a finite sum any number */
  const int finite = r->row_kind[i] != RM_VECTOR_NONFINITE && r->col_kind[j] != RM_VECTOR_NONFINITE;
  if (!rm_is_nan(bias) && r->fmt == RM_F64 && (finite || rm_special_sum_dd(r, i, j, sum, &c))) {
    c += bias;
    if (!rm_is_nan(c)) return rm_bits64(c);
    r->flags |= RM_FLAG_INVALID;
    return bits;
  }
  if (rm_special_element(r->p, r->block->row + i, r->block->col + j, a->classes, b->classes, &bits, &r->flags)) return bits;
  r->tiers->fast--;
  return rm_exact_bits(r, i, j);
}

RM_STATIC int rm_shift_of(const rm_resolver_dd *r, int64_t i, int64_t j) {
  return (int)(int64_t)rm_bits64(r->row_shift[i]) + (int)(int64_t)rm_bits64(r->col_shift[j]);
}

/* The sum of scaled products and the scaled bias by Dot2; *err becomes its bound. */
RM_STATIC rm_pair rm_products_again(const rm_resolver_dd *r, int64_t i, int64_t j, double bias, double *err) {
  const rm_matmul_problem *p = r->p;
  if (!r->again)
    return rm_dot2_scaled(p, r->block->row + i, r->row_factor[i], r->block->col + j, r->col_factor[j], bias, err);
  const rm_pair sum = rm_pair_two_sum(bias, r->again->hi[r->place]);
  *err = rm_bound_dot2(p->k, __builtin_fabs(bias) + r->again->size[r->place]);
  return (rm_pair){sum.hi, sum.lo + r->again->lo[r->place]};
}

/* RN of element (i, j), which is 2^back s exactly, when it is not near an end of the format. */
RM_STATIC int rm_round_scaled_pair(const rm_resolver_dd *r, int64_t i, int64_t j, rm_pair s, int back, uint64_t *bits) {
  const rm_matmul_problem *p = r->p;
  const int64_t row = r->block->row + i, col = r->block->col + j;
  (void)p, (void)row, (void)col; /* proofs/exact asks for them */
  *bits = 0;
  if (s.hi + s.lo == 0.0) return 1;
  if (r->fmt != RM_F32) return rm_decide_scaled(s, 0.0, back, r->fmt, bits);
  if (back > 900 || back < -900) return 0;
  *bits = rm_round_double(rm_pair_to_odd(s.hi * rm_pow2(back), s.lo * rm_pow2(back)), RM_F32);
  return 1;
}

/* alpha s + beta d 2^shift as 2^*unit (hi + lo) within *err, for a sum within *err of s in scaled units, where it is below 2
 * in magnitude. *whole: both terms are in it, so that it is a multiple of what they are multiples of. 0 when alpha or beta is
 * of extreme size.
 *
 * With d = m 2^e, |m| in [1, 2), beta m is a pair without error. Its exponent beside the sum's, t, decides: up to 600 apart
 * the terms are joined; the smaller one is otherwise a part of the error. */
RM_STATIC int rm_alpha_beta_scaled(const rm_alpha_beta *ab, rm_pair s, double d, int shift, rm_pair *out, double *err,
                                   int *unit, int *whole) {
  rm_pair q = {0.0, 0.0};
  int t = 0, e = 0;
  *unit = 0, *whole = 1;
  if (!rm_is_moderate(ab->alpha, 0x1p300) || !rm_is_moderate(ab->beta, 0x1p300)) return 0;
  if (d != 0.0 && ab->beta != 0.0) {
    const int below = __builtin_fabs(d) < 0x1p-1022;
    const uint64_t b = rm_bits64(below ? d * 0x1p54 : d);
    const double m = rm_from_bits64((b & UINT64_C(0x800fffffffffffff)) | (UINT64_C(1023) << 52));
    e = (int)((b >> 52) & 0x7ff) - 1023 - (below ? 54 : 0);
    q.hi = ab->beta * m;
    q.lo = rm_two_prod_error(ab->beta, m, q.hi);
    t = e + shift;
  }
  if (t > 600) { /* the sum is an error of beta d */
    *out = q;
    *err = 1.01 * __builtin_fabs(ab->alpha) * (__builtin_fabs(s.hi) + __builtin_fabs(s.lo) + *err) * 0x1p-600;
    *err += RM_BOUND(0x1p-51 * __builtin_fabs(q.lo)) + 0x1p-1000; /* the test's addition to the low part rounds: u |lo| */
    *unit = e + shift, *whole = 0;
    return 1;
  }
  double rest = 0.0;
  if (t < -600) rest = 1.01 * __builtin_fabs(q.hi) * 0x1p-600, q = (rm_pair){0.0, 0.0}, *whole = 0;
  else if (t) q = (rm_pair){q.hi * rm_pow2(t), q.lo * rm_pow2(t)};
  *out = rm_alpha_beta_join(ab->alpha, s, q, err);
  *err += 1.01 * rest;
  return 1;
}

/* RN(alpha S + beta d) of element (i, j), s being within err of S in scaled units and both terms multiples of 2^lowest: 0
 * when that does not decide it. */
RM_STATIC int rm_decide_alpha_beta(const rm_resolver_dd *r, int64_t i, int64_t j, const rm_alpha_beta *ab, rm_pair s,
                                   double err, double d, int lowest, uint64_t *bits) {
  const rm_matmul_problem *p = r->p;
  const int64_t row = r->block->row + i, col = r->block->col + j;
  const int shift = rm_shift_of(r, i, j), g = lowest + shift;
  int unit, whole;
  rm_pair v;
  (void)p, (void)row, (void)col; /* proofs/exact asks for them */
  if (!rm_alpha_beta_scaled(ab, s, d, shift, &v, &err, &unit, &whole)) return 0;
  if (rm_decide_scaled(v, err, unit - shift, r->fmt, bits)) return 1;
  return whole && g >= -1000 && err < rm_pow2(g > 0 ? 0 : g) && rm_round_scaled_pair(r, i, j, v, -shift, bits);
}

RM_STATIC void rm_note_overflow(rm_resolver_dd *r, uint64_t bits) {
  if ((bits & rm_infinity_bits(r->fmt)) == rm_infinity_bits(r->fmt)) r->flags |= RM_FLAG_OVERFLOW;
}

/* The bits of RN(alpha S + beta d) of element (i, j), all finite, into *bits; 0 when only the accumulator tells. */
RM_STATIC int rm_resolve_finite_alpha_beta(rm_resolver_dd *r, int64_t i, int64_t j, rm_pair s, const rm_alpha_beta *ab,
                                           double d, uint64_t *bits) {
  enum { UNKNOWN = -100000, APART = 3000 };
  int unit, whole;
  double err = rm_bound_dd(r->p->k);
  if (r->row_kind[i] == RM_VECTOR_ZERO || r->col_kind[j] == RM_VECTOR_ZERO || r->p->k == 0) {
    rm_pair v;
    err = 0.0;
    if (!rm_is_finite(ab->alpha) || !rm_is_finite(ab->beta)) return 0;
    *bits = 0; /* 0 + -0 is +0 */
    if (d != 0.0 && ab->beta != 0.0 &&
        (!rm_alpha_beta_scaled(ab, (rm_pair){0.0, 0.0}, d, APART, &v, &err, &unit, &whole) ||
         !rm_round_scaled_pair(r, i, j, v, unit - APART, bits)))
      return 0;
    r->tiers->fast++;
  } else if (rm_decide_alpha_beta(r, i, j, ab, s, err, d, UNKNOWN, bits)) {
    r->tiers->fast++;
  } else {
    const int lowest = rm_alpha_beta_lowest(ab, rm_granule_of_products_dd(r, i, j), d);
    s = rm_products_again(r, i, j, 0.0, &err);
    if (!rm_decide_alpha_beta(r, i, j, ab, s, err, d, lowest, bits)) return 0;
    r->tiers->double_double++;
  }
  rm_note_overflow(r, *bits);
  return 1;
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
  const int shift = rm_shift_of(r, i, j);
  double err = rm_bound_dd(p->k), scaled_bias = 0.0;
  uint64_t bits = 0;
  if (bias != 0.0) {
    int field = (int)((rm_bits64(bias) >> 52) & 0x7ff);
    if (field == 0 || field + shift < 2 || field + shift > 2045) { /* it has no place beside the sum */
      static const rm_alpha_beta plain = {1.0, 1.0};
      return rm_resolve_finite_alpha_beta(r, i, j, s, &plain, bias, &bits) ? bits : rm_exact_bits(r, i, j);
    }
    scaled_bias = rm_from_bits64(rm_bits64(bias) + ((uint64_t)(int64_t)shift << 52));
    rm_pair t = rm_pair_two_sum(s.hi, scaled_bias);
    s = (rm_pair){t.hi, s.lo + t.lo};
    err += RM_BOUND_DD_BIAS * __builtin_fabs(t.hi);
  }
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
    s = rm_products_again(r, i, j, scaled_bias, &err);
    decided = rm_decide_scaled(s, err, -shift, r->fmt, &bits);
    exact = !decided && err < granule;
    if (!decided && !exact) return rm_exact_bits(r, i, j);
    r->tiers->double_double++;
  }
  if (exact && !rm_round_scaled_pair(r, i, j, s, -shift, &bits)) return rm_exact_bits(r, i, j); /* at an end of the format */
  rm_note_overflow(r, bits);
  return bits;
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
  if (ka == RM_VECTOR_NONFINITE || kb == RM_VECTOR_NONFINITE || rm_is_nan(d)) {
    const uint32_t of_a = rm_row_classes_dd(r, i)->classes, of_b = rm_column_classes_dd(r, j)->classes;
    const uint32_t nan = (of_a | of_b) & (RM_ACC_QNAN | RM_ACC_SNAN);
    uint32_t unused = 0;
    double c = nan ? rm_from_bits64(rm_nan_bits(RM_F64)) : 0.0;
    if (!nan && !((ka == RM_VECTOR_NONFINITE || kb == RM_VECTOR_NONFINITE) && rm_special_sum_dd(r, i, j, s.hi, &c)) &&
        rm_special_element(p, row, col, of_a, of_b, &bits, &unused))
      c = rm_to_double(bits, r->fmt);
    if (rm_special_alpha_beta(p, c, nan, old, &bits, &r->flags)) {
      r->tiers->fast++;
      return bits;
    }
  } else {
    if (rm_is_alpha_beta_infinity(alpha_beta, 1, d, r->fmt, &bits)) {
      r->tiers->fast++;
      return bits;
    }
    if (rm_resolve_finite_alpha_beta(r, i, j, s, alpha_beta, d, &bits)) return bits;
  }
  r->tiers->accumulator++;
  return rm_exact_alpha_beta(p, row, col, old, &r->flags);
}
