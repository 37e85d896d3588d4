/* Resolves elements that the fast phase of the binary64 engine leaves undecided, by a certificate of exactness, by
 * double-double, or by the superaccumulator.
 *
 * Certificate. All terms are multiples of g = 2^granule (lowest bit of the row times lowest bit of the column, and of the
 * bias). A rounded sum of multiples of g is one too: where its last place is at most g the sum is exact, else it is a
 * multiple of that larger power. So c - S is a multiple of g, and |c - S| < g means c = S. Integers and quantised data end
 * here.
 *
 * Double-double: Sum2 of Ogita, Rump and Oishi (2005) over exact products, kept as an unevaluated sum hi + lo. With h = K +
 * 64 at least the number of additions any one term passes: the errors of the main sums add up to at most h u' A in magnitude,
 * A = sum |a_k b_k| + |bias|, u' = u/(1 - h u), and the additions of those errors err by at most h u' of that:
 * |hi + lo - S| <= 1.01 h^2 u^2 A for h u < 2^-9. The same certificate applies to hi + lo. */
#pragma once

#include "../../common/rounding_vector.h"
#include "bound_b64.h"
#include "exact.h"
#include "vector_facts.h"
#include "pack.h"
#include "pair.h"
#include "alpha_beta.h"

enum { RM_GATHER = 32 * RM_LANES };

/* Gathers n elements of a row from the k-th on, times factor, padded with zeros to whole vectors; n <= RM_GATHER. */
RM_FN void rm_gather_run(double *dst, rm_run r, int64_t n, double factor, const int fmt) {
  int64_t i = 0;
  if (r.step == rm_size_of(fmt))
    for (; i + RM_LANES <= n; i += RM_LANES)
      vf64_store(dst + i, vf64_mul(rm_load_elements(r.p + i * rm_size_of(fmt), fmt), vf64_set1(factor)));
  for (; i < n; i++) dst[i] = rm_read_element(r.p + i * r.step, fmt) * factor;
  for (; i % RM_LANES; i++) dst[i] = 0.0;
}
RM_STATIC void rm_gather(double *dst, const rm_operand *o, int64_t row, int64_t k, int64_t n, double factor, int fmt) {
  char buffer[RM_GATHER * 8];
  const rm_run r = rm_run_of(o, row, k, n, rm_size_of(fmt), buffer);
  switch (fmt) {
    case RM_F16: rm_gather_run(dst, r, n, factor, RM_F16); break;
    case RM_BF16: rm_gather_run(dst, r, n, factor, RM_BF16); break;
    case RM_F32: rm_gather_run(dst, r, n, factor, RM_F32); break;
    default: rm_gather_run(dst, r, n, factor, RM_F64);
  }
}

/* A sum in each lane. */
typedef struct {
  double hi[RM_LANES], lo[RM_LANES];
} rm_dot2;

/* Adds n products, which arrays of whole vectors hold, padded with zeros. */
RM_FN void rm_dot2_add(rm_dot2 *sum, const double *x, const double *y, int64_t n) {
  vf64 hi = vf64_load(sum->hi), lo = vf64_load(sum->lo);
  for (int64_t q = 0; q < n; q += RM_LANES) {
    vf64 e;
    hi = vf64_two_sum(hi, vf64_mul(vf64_load(x + q), vf64_load(y + q)), &e);
    lo = vf64_add(lo, e);
  }
  vf64_store(sum->hi, hi);
  vf64_store(sum->lo, lo);
}

RM_FN rm_pair rm_dot2_total(const rm_dot2 *lanes, double bias) {
  rm_pair sum = {bias, 0.0};
  for (int l = 0; l < RM_LANES; l++) {
    rm_pair s = rm_pair_two_sum(sum.hi, lanes->hi[l]);
    sum = (rm_pair){s.hi, sum.lo + (s.lo + lanes->lo[l])};
  }
  return sum;
}

RM_STATIC rm_pair rm_dot2_of(const rm_matmul_problem *p, int64_t i, int64_t j, double bias) {
  rm_dot2 sum = {{0}, {0}};
  double x[RM_GATHER], y[RM_GATHER];
  for (int64_t k = 0; k < p->k; k += RM_GATHER) {
    const int64_t n = p->k - k < RM_GATHER ? p->k - k : RM_GATHER;
    rm_gather(x, &p->a, i, k, n, 1.0, p->fmt);
    rm_gather(y, &p->b, j, k, n, 1.0, p->fmt);
    rm_dot2_add(&sum, x, y, n);
  }
  return rm_dot2_total(&sum, bias);
}

/* Whether every product of element (i, j) is 0. Those of formats below binary64 do not underflow. */
RM_STATIC int rm_products_vanish(const rm_matmul_problem *p, int64_t i, int64_t j) {
  double x[RM_GATHER], y[RM_GATHER];
  for (int64_t k = 0; k < p->k; k += RM_GATHER) {
    const int64_t n = p->k - k < RM_GATHER ? p->k - k : RM_GATHER;
    rm_gather(x, &p->a, i, k, n, 1.0, p->fmt);
    rm_gather(y, &p->b, j, k, n, 1.0, p->fmt);
    vf64 size = vf64_set1(0.0);
    for (int64_t q = 0; q < n; q += RM_LANES) size = vf64_add(size, vf64_abs(vf64_mul(vf64_load(x + q), vf64_load(y + q))));
    if (vm64_bits(vf64_eq(size, vf64_set1(0.0))) != (1u << RM_LANES) - 1) return 0;
  }
  return 1;
}

/* RN of a value within err of c, in a format below binary64, when that decides it. */
RM_FN int rm_decide_b64(double c, double err, int fmt, uint64_t *bits) {
  double e = __builtin_fabs(c) * 0x1p-52 + err;
  *bits = rm_round_double(c - e, fmt);
  return *bits == rm_round_double(c + e, fmt);
}
/* The same for a value within err of hi + lo, from c = RN(hi + lo): that rounding, at most u |c|, is covered by e. */
RM_FN int rm_decide_sum_b64(rm_pair s, double err, int fmt, uint64_t *bits) {
  return rm_decide_b64(s.hi + s.lo, err, fmt, bits);
}

typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  rm_vector_facts *rows, *cols; /* of the block, zeroed */
  int many; /* so many elements are undecided that scanning every row and column of the block pays */
  int padding; /* elements of an operand may be padding */
  int quiet; /* 1: no column has a signalling NaN; -1: one has; 0: nobody has asked */
  rm_tiers *tiers;
  uint32_t flags;
} rm_resolver;

RM_FN const rm_vector_facts *rm_row_classes(rm_resolver *r, int64_t i) {
  return rm_vector_classes(r->rows + i, &r->p->a, r->block->row + i, r->p->k, r->p->fmt);
}
RM_FN const rm_vector_facts *rm_column_classes(rm_resolver *r, int64_t j) {
  return rm_vector_classes(r->cols + j, &r->p->b, r->block->col + j, r->p->k, r->p->fmt);
}
/* 2^this divides all products of element (i, j) of the block. */
RM_FN int rm_granule_of_products(rm_resolver *r, int64_t i, int64_t j) {
  return rm_vector_granule(r->rows + i, &r->p->a, r->block->row + i, r->p->k, r->p->fmt) +
         rm_vector_granule(r->cols + j, &r->p->b, r->block->col + j, r->p->k, r->p->fmt);
}
/* Whether something that is not finite may be beside padding, a zero in the engines' sums, which adds no product. */
RM_FN int rm_may_meet_padding(const rm_vector_facts *a, const rm_vector_facts *b) {
  return (a->padded && b->classes) || (b->padded && a->classes);
}

RM_FN const char *rm_bias_at(const rm_matmul_problem *p, int64_t i, int64_t j) {
  return p->bias.base + i * p->bias.row + j * p->bias.col;
}

/* 2^granule of the terms of element (i, j) of the block. */
RM_STATIC double rm_granule_of(rm_resolver *r, int64_t i, int64_t j, double bias) {
  int g = rm_granule_of_products(r, i, j), gb = rm_granule64(rm_bits64(bias));
  if (gb < g) g = gb;
  return rm_pow2(g > 1000 ? 1000 : g); /* >= 2^-298 */
}

/* Decides element (i, j) of the block without reading its products again, when that is possible: c is what the fast path
 * found, err its bound. */
RM_STATIC int rm_decide_element_b64(rm_resolver *r, int64_t i, int64_t j, double c, double err, double bias, uint64_t *bits) {
  const rm_matmul_problem *p = r->p;
  const int fmt = p->out_fmt;
  if (rm_is_nan(c)) { /* binary64 cannot overflow here, so NaN and infinity are already the answers of spec.md, section 2 */
    const rm_vector_facts *a = rm_row_classes(r, i), *b = rm_column_classes(r, j);
    uint32_t classes = a->classes | b->classes;
    if (RM_UNLIKELY(rm_may_meet_padding(a, b))) {
      if (rm_special_element(p, r->block->row + i, r->block->col + j, a->classes, b->classes, bits, &r->flags)) {
        r->tiers->fast++;
      } else {
        *bits = rm_exact_element(p, r->block->row + i, r->block->col + j, &r->flags);
        r->tiers->accumulator++;
      }
      return 1;
    }
    if (rm_is_nan(bias)) {
      const uint64_t w = rm_read_bits(rm_bias_at(p, r->block->row + i, r->block->col + j), p->fmt);
      classes |= rm_is_signalling(w, p->fmt) ? RM_ACC_SNAN : RM_ACC_QNAN;
    }
    r->flags |= rm_nan_flags(classes);
    *bits = rm_nan_bits(fmt);
  } else if (__builtin_isinf(c)) {
    *bits = rm_infinity_bits(fmt) | (c < 0.0 ? rm_sign_bit(fmt) : 0);
  } else {
    if (!rm_decide_b64(c, err, fmt, bits)) {
      if (!r->many || !(err < rm_granule_of(r, i, j, bias))) return 0;
      *bits = rm_round_double(c, fmt);
    }
    if ((*bits & ~rm_sign_bit(fmt)) == rm_infinity_bits(fmt)) r->flags |= RM_FLAG_OVERFLOW;
  }
  r->tiers->fast++;
  return 1;
}

/* The bits of element (i, j) of the block, which that leaves undecided, from its double-double sum. */
RM_STATIC uint64_t rm_finish_element_b64(rm_resolver *r, int64_t i, int64_t j, rm_pair s, double err, double bias) {
  const rm_matmul_problem *p = r->p;
  const int fmt = p->out_fmt;
  uint64_t bits;
  double err2 = err * rm_bound_dd_ratio(p->k);
  int decided = rm_decide_sum_b64(s, err2, fmt, &bits);
  if (!decided && err2 < rm_granule_of(r, i, j, bias)) bits = rm_round_double(rm_pair_to_odd(s.hi, s.lo), fmt), decided = 1;
  if (!decided) {
    r->tiers->accumulator++;
    return rm_exact_element(p, r->block->row + i, r->block->col + j, &r->flags);
  }
  r->tiers->double_double++;
  if ((bits & ~rm_sign_bit(fmt)) == rm_infinity_bits(fmt)) r->flags |= RM_FLAG_OVERFLOW;
  return bits;
}

/* The bits of element (i, j) of the block. */
RM_STATIC uint64_t rm_resolve_element_b64(rm_resolver *r, int64_t i, int64_t j, double c, double err, double bias) {
  uint64_t bits;
  if (rm_decide_element_b64(r, i, j, c, err, bias, &bits)) return bits;
  return rm_finish_element_b64(r, i, j, rm_dot2_of(r->p, r->block->row + i, r->block->col + j, bias), err, bias);
}

/* The bits of element (i, j) of a problem that is rounded at random: by its ball, which may be a number that the certificate
 * says is exact, by that of its double-double sum, or by the superaccumulator. */
RM_STATIC uint64_t rm_resolve_random_b64(rm_resolver *r, int64_t i, int64_t j, double c, double err, double bias) {
  const rm_matmul_problem *p = r->p;
  const int64_t row = r->block->row + i, col = r->block->col + j;
  const int fmt = p->out_fmt;
  uint64_t bits;
  if (!rm_is_finite(c)) {
    rm_decide_element_b64(r, i, j, c, err, bias, &bits); /* no rounding decides it */
    return bits;
  }
  if (r->many && err < rm_granule_of(r, i, j, bias)) err = 0.0;
  if (err == 0.0 && c == 0.0) { /* whatever its word is, of which making one takes longest */
    r->tiers->fast++;
    return 0;
  }
  const rm_mode mode = rm_mode_of_element(p, row, col);
  if (!rm_round_within(c, err, fmt, mode, &bits, &r->flags)) {
    r->tiers->fast++;
    return bits;
  }
  const rm_pair s = rm_dot2_of(p, row, col, bias);
  const double sum = s.hi + s.lo; /* which rounds by 2^-53 of it */
  if (!rm_round_within(sum, err * rm_bound_dd_ratio(p->k) + 0x1p-52 * __builtin_fabs(sum), fmt, mode, &bits, &r->flags)) {
    r->tiers->double_double++;
    return bits;
  }
  r->tiers->accumulator++;
  return rm_exact_element(p, row, col, &r->flags);
}

/* The bits of element (i, j) of a problem with alpha and beta: c is the fast path's sum, err bounds its error, `old` are the
 * bits of C. */
RM_STATIC uint64_t rm_resolve_alpha_beta_b64(rm_resolver *r, int64_t i, int64_t j, double c, double err, uint64_t old) {
  const rm_matmul_problem *p = r->p;
  const rm_alpha_beta *alpha_beta = p->alpha_beta;
  const double d = alpha_beta->beta == 0.0 ? 0.0 : rm_to_double(old, p->out_fmt);
  const int64_t row = r->block->row + i, col = r->block->col + j;
  uint64_t bits;
  if (rm_is_alpha_beta_infinity(alpha_beta, rm_is_finite(err), d, p->out_fmt, &bits)) {
    r->tiers->fast++;
    return bits;
  }
  if (!rm_is_finite(c) || rm_is_nan(d)) { /* binary64 cannot overflow here */
    const uint32_t classes = rm_row_classes(r, i)->classes | rm_column_classes(r, j)->classes;
    if (rm_special_alpha_beta(p, c, classes, old, &bits, &r->flags)) {
      r->tiers->fast++;
      return bits;
    }
  }
  rm_pair s = rm_dot2_of(p, row, col, 0.0), v;
  err = p->k ? err * rm_bound_dd_ratio(p->k) : 0.0;
  if (rm_is_finite(s.hi) && rm_alpha_beta_pair(alpha_beta, s, d, &v, &err)) {
    const double granule = rm_alpha_beta_granule(alpha_beta, rm_granule_of_products(r, i, j), d);
    if (rm_decide_pair(v, err, granule, p->out_fmt, &bits, &r->flags)) {
      r->tiers->double_double++;
      return bits;
    }
  }
  r->tiers->accumulator++;
  return rm_exact_alpha_beta(p, row, col, old, &r->flags);
}
