/* Decides vectors of elements that the fast phase of the binary64 engine leaves, where no product need be read again: those
 * that are not finite, and, by the certificate of resolve_b64.h, those whose sums are exact. Masked, constant, one-hot and
 * quantised operands leave most of a block to it. */
#pragma once

#include "epilogue_b64.h"
#include "resolve_b64.h"

/* Columns whose facts are gathered together, and k that are staged at a time. */
enum { RM_FACTS_COLUMNS = 32, RM_FACTS_K = 32 };

/* Facts of columns, neighbours in memory, as they are gathered: the least of the powers of two that are the lowest bits of
 * numbers, in the lanes of vectors, and which columns have what is not finite, column l in bit l. */
typedef struct {
  double lowest[RM_FACTS_COLUMNS];
  uint32_t quiet, signalling, positive, negative;
} rm_facts;

/* Adds the numbers of one k, a vector of columns from the l-th on. Without its lowest bit a significand that is no power of
 * two leaves the number less that bit, exactly; binary64 has the subnormals of narrower formats as normal numbers. */
RM_FN void rm_add_facts(rm_facts *f, const char *at, int l, const int fmt) {
  const vf64 x = rm_load_elements(at, fmt), size = vf64_abs(x), zero = vf64_set1(0.0);
  const vi64 bits = vf64_bits(size), fraction = vi64_set1((INT64_C(1) << 52) - 1);
  const vf64 cleared = vf64_from_bits(vi64_and(bits, vi64_sub(bits, vi64_set1(1))));
  const vm64 power = vi64_disjoint(bits, fraction), finite = vf64_lt(size, vf64_set1(0x1p1000));
  const vf64 low = vf64_select(power, size, vf64_sub(size, cleared));
  const vm64 counts = vm64_and(finite, vf64_lt(zero, size));
  const vf64 before = vf64_load(f->lowest + l);
  vf64_store(f->lowest + l, vf64_select(vm64_and(counts, vf64_lt(low, before)), low, before));
  const uint32_t all = (1u << RM_LANES) - 1, special = ~vm64_bits(finite) & all;
  if (RM_LIKELY(!special)) return;
  const uint32_t nan = vm64_bits(vf64_unord(x, x)), negative = vm64_bits(vf64_lt(x, zero));
  f->positive |= (special & ~nan & ~negative) << l;
  f->negative |= (special & ~nan & negative) << l;
  for (uint32_t left = nan & all; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const uint32_t bit = 1u << (l + lane);
    if (rm_is_signalling(rm_read_bits(at + lane * rm_size_of(fmt), fmt), fmt)) f->signalling |= bit;
    else f->quiet |= bit;
  }
}

/* Gathers those of one column of a view whose neighbours in memory are k. */
static void rm_add_column_facts(rm_facts *f, const rm_operand *o, int64_t column, int l, int64_t k, const int fmt) {
  enum { RUN = RM_FACTS_COLUMNS * RM_FACTS_K };
  const int size = rm_size_of(fmt);
  char stage[(RUN + RM_LANES) * 4];
  rm_facts all = {{0.0}, 0, 0, 0, 0};
  for (int i = 0; i < RM_LANES; i++) all.lowest[i] = 0x1p1000;
  for (int64_t at = 0; at < k; at += RUN) {
    const int64_t n = k - at < RUN ? k - at : RUN;
    rm_im2col_fill(o->im2col, o->base, size, 0, column, 1, at, n, stage);
    __builtin_memset(stage + n * size, 0, (size_t)(RM_LANES * size));
    for (int64_t q = 0; q < n; q += RM_LANES) rm_add_facts(&all, stage + q * size, 0, fmt);
  }
  for (int i = 0; i < RM_LANES; i++) f->lowest[l] = all.lowest[i] < f->lowest[l] ? all.lowest[i] : f->lowest[l];
  f->quiet |= (uint32_t)(all.quiet != 0) << l, f->signalling |= (uint32_t)(all.signalling != 0) << l;
  f->positive |= (uint32_t)(all.positive != 0) << l, f->negative |= (uint32_t)(all.negative != 0) << l;
}

/* Gathers all facts of columns [first, first + n) of a block, n <= RM_FACTS_COLUMNS, in a pass over k: column by column each
 * would be a walk through memory, and one through an im2col view. */
RM_STATIC void rm_gather_facts(rm_resolver *r, int64_t first, int n, const int fmt) {
  const rm_operand *o = &r->p->b;
  const int size = rm_size_of(fmt), whole = n / RM_LANES * RM_LANES;
  const int64_t column = r->block->col + first;
  char stage[RM_FACTS_COLUMNS * RM_FACTS_K * 4], rest[RM_LANES * 4] = {0};
  rm_facts f = {{0.0}, 0, 0, 0, 0};
  for (int l = 0; l < RM_FACTS_COLUMNS; l++) f.lowest[l] = 0x1p1000;
  const int by_column = o->im2col && !o->im2col->rows_adjacent;
  for (int l = 0; by_column && l < n; l++) rm_add_column_facts(&f, o, column + l, l, r->p->k, fmt);
  for (int64_t k = 0; k < r->p->k && !by_column; k += RM_FACTS_K) {
    const int64_t depth = r->p->k - k < RM_FACTS_K ? r->p->k - k : RM_FACTS_K;
    const char *at = stage;
    ptrdiff_t step = n * size;
    if (o->im2col) rm_im2col_fill(o->im2col, o->base, size, 1, column, n, k, depth, stage);
    else at = o->base + column * size + k * o->k_stride, step = o->k_stride;
    for (int64_t q = 0; q < depth; q++) {
      for (int l = 0; l < whole; l += RM_LANES) rm_add_facts(&f, at + q * step + l * size, l, fmt);
      if (whole == n) continue;
      __builtin_memcpy(rest, at + q * step + whole * size, (size_t)((n - whole) * size));
      rm_add_facts(&f, rest, whole, fmt);
    }
  }
  for (int l = 0; l < n; l++) {
    rm_vector_facts *facts = r->cols + first + l;
    facts->granule = (int16_t)(f.lowest[l] < 0x1p1000 ? rm_granule64(rm_bits64(f.lowest[l])) : RM_NO_GRANULE);
    facts->classes = (uint8_t)((f.quiet >> l & 1 ? RM_ACC_QNAN : 0) | (f.signalling >> l & 1 ? RM_ACC_SNAN : 0) |
                               (f.positive >> l & 1 ? RM_ACC_PINF : 0) | (f.negative >> l & 1 ? RM_ACC_NINF : 0));
    facts->known = RM_KNOWN_GRANULE | RM_KNOWN_CLASSES;
    facts->padded = r->padding && o->im2col && rm_im2col_is_padded(o->im2col, column + l);
  }
}

/* Gathers facts of these kinds (RM_KNOWN_ bits) of `lanes` columns from j on, where they are not known. */
RM_FN void rm_know_columns(rm_resolver *r, int64_t j, int lanes, int kinds) {
  const rm_operand *o = &r->p->b;
  const int fmt = r->p->fmt;
  for (int64_t c = j; c < j + lanes; c++) {
    if ((r->cols[c].known & kinds) == kinds) continue;
    if (fmt != RM_F16 && (o->im2col || o->row_stride == rm_size_of(fmt))) {
      const int64_t first = c / RM_FACTS_COLUMNS * RM_FACTS_COLUMNS;
      const int n = rm_min_int(r->block->cols - first, RM_FACTS_COLUMNS);
      if (fmt == RM_F32) rm_gather_facts(r, first, n, RM_F32);
      else rm_gather_facts(r, first, n, RM_BF16);
      continue;
    }
    if (kinds & RM_KNOWN_CLASSES) rm_column_classes(r, c);
    if (kinds & RM_KNOWN_GRANULE) rm_vector_granule(r->cols + c, o, r->block->col + c, r->p->k, fmt);
  }
}

/* Whether no column of the block has a signalling NaN, which is asked once. */
RM_FN int rm_no_column_signals(rm_resolver *r) {
  if (!r->quiet) {
    uint32_t classes = 0;
    for (int64_t j = 0; j < r->block->cols; j++) {
      rm_know_columns(r, j, 1, RM_KNOWN_CLASSES);
      classes |= r->cols[j].classes;
    }
    r->quiet = classes & RM_ACC_SNAN ? -1 : 1;
  }
  return r->quiet > 0;
}

/* Of the lanes that are NaN, those that stay NaN beside padding; adds their flags. Without padding nothing is asked once the
 * flag is up. */
RM_FN uint32_t rm_keep_nans(rm_resolver *r, int64_t i, int64_t j, uint32_t nan) {
  if (!nan || (!r->padding && (r->flags & RM_FLAG_INVALID))) return nan;
  const rm_vector_facts *a = rm_row_classes(r, i);
  if (!r->padding && (a->classes & RM_ACC_QNAN) && rm_no_column_signals(r)) {
    r->flags |= rm_nan_flags(a->classes);
    return nan;
  }
  uint32_t kept = nan;
  for (uint32_t left = nan; left; left &= left - 1) {
    const int l = __builtin_ctz(left);
    rm_know_columns(r, j + l, 1, RM_KNOWN_CLASSES);
    const rm_vector_facts *b = r->cols + j + l;
    if (rm_may_meet_padding(a, b)) kept &= ~(1u << l);
    else r->flags |= rm_nan_flags(a->classes | b->classes);
  }
  return kept;
}

/* The powers of two that divide all terms of elements (i, j), ...: those of the certificate (rm_granule_of). */
RM_FN vf64 rm_units(rm_resolver *r, int64_t i, int64_t j, int lanes, vf64 bias) {
  double added[RM_LANES], unit[RM_LANES] = {0};
  const int row = rm_vector_granule(r->rows + i, &r->p->a, r->block->row + i, r->p->k, r->p->fmt);
  rm_know_columns(r, j, lanes, RM_KNOWN_GRANULE);
  vf64_store(added, bias);
  for (int l = 0; l < lanes; l++) {
    int g = row + r->cols[j + l].granule;
    if (r->p->bias.base) {
      const int other = rm_granule64(rm_bits64(added[l]));
      g = other < g ? other : g;
    }
    unit[l] = rm_pow2(g > 1000 ? 1000 : g);
  }
  return vf64_load(unit);
}

/* Of the lanes of elements (i, j), ... those whose products are all 0, as where few elements of both operands are not. */
RM_STATIC uint32_t rm_vanishing(const rm_resolver *r, int64_t i, int64_t j, uint32_t lanes) {
  const rm_matmul_problem *p = r->p;
  const int64_t row = r->block->row + i, col = r->block->col + j;
  uint32_t found = lanes;
  if (p->fmt == RM_F32 && !p->b.im2col && p->b.row_stride == 4 && r->block->cols - j >= RM_LANES) { /* columns side by side */
    const char *b = p->b.base + 4 * col;
    const vf64 zero = vf64_set1(0.0);
    double x[RM_GATHER];
    for (int64_t k = 0; k < p->k && found; k += RM_GATHER) {
      const int64_t n = p->k - k < RM_GATHER ? p->k - k : RM_GATHER;
      rm_gather(x, &p->a, row, k, n, 1.0, RM_F32);
      for (int64_t q = 0; q < n; q += RM_LANES) /* x ends with zeros */
        for (uint32_t some = ~vm64_bits(vf64_eq(vf64_load(x + q), zero)) & ((1u << RM_LANES) - 1); some; some &= some - 1) {
          const char *at = b + (k + q + __builtin_ctz(some)) * p->b.k_stride;
          found &= vm64_bits(vf64_eq(rm_load_elements(at, RM_F32), zero));
        }
    }
    return found;
  }
  for (uint32_t left = lanes; left; left &= left - 1)
    if (!rm_products_vanish(p, row, col + __builtin_ctz(left))) found &= ~(1u << __builtin_ctz(left));
  return found;
}

/* The lanes of elements (i, j), ... whose sum with the bias is NaN. */
RM_FN uint32_t rm_nan_lanes(const rm_epilogue_b64 *e, int64_t i, int64_t j, const double *sums) {
  const rm_matmul_problem *p = e->p;
  vf64 c = vf64_load(sums);
  if (p->bias.base) {
    const int lanes = rm_min_int(e->block->cols - j, RM_LANES);
    c = vf64_add(c, rm_load_bias(&p->bias, e->block->row + i, e->block->col + j, lanes, p->fmt));
  }
  return vm64_bits(vf64_unord(c, c));
}

/* Decides elements (i, j), ... of the block, of which `flagged` are undecided: sums are what the fast path found. Returns the
 * lanes that are decided, which are written.
 *
 * A sum that is not finite is the answer (rm_decide_element_b64). With alpha and beta it is scaled by a finite alpha, not 0,
 * and d is no NaN: the result is that of the signs of alpha S, and of d where it is infinite (rm_special_alpha_beta), and NaN
 * of infinities of both signs.
 *
 * A sum of zeros is 0. An exact S is rounded, but not at random. With alpha and beta the test of the fast phase is repeated
 * for an S without error. */
RM_STATIC uint32_t rm_decide_vector_b64(rm_resolver *r, const rm_epilogue_b64 *e, int64_t i, int64_t j, uint32_t flagged,
                                        const double *sums) {
  const rm_matmul_problem *p = r->p;
  const rm_alpha_beta *s = p->alpha_beta;
  const int fmt = p->out_fmt, lanes = rm_min_int(r->block->cols - j, RM_LANES);
  const vf64 zero = vf64_set1(0.0);
  vf64 c = vf64_load(sums), bias = zero, old = zero;
  vf64 err = vf64_mul(vf64_set1(e->row_bound[i]), vf64_load(e->col_norm + j));
  if (p->bias.base) {
    bias = rm_load_bias(&p->bias, r->block->row + i, r->block->col + j, lanes, p->fmt);
    flagged &= ~vm64_bits(vf64_unord(bias, bias));
    c = vf64_add(c, bias);
    err = vf64_mad(vf64_set1(e->bias_bound), vf64_abs(bias), err);
  }
  if (s) {
    if (!rm_is_finite(s->alpha) || s->alpha == 0.0 || !rm_is_finite(s->beta)) return 0;
    old = rm_load_old(s, &e->output, i, j, lanes, fmt);
    flagged &= ~vm64_bits(vf64_unord(old, old));
  }
  const uint32_t finite = ~vm64_bits(vf64_not_finite(c, RM_F64));
  uint32_t special = flagged & ~finite, zeros = 0, bits[RM_LANES] = {0};
  uint32_t exact = flagged & finite & (r->many && !p->random.mode ? ~0u : 0u);
  if (exact) exact &= vm64_bits(vf64_lt(err, rm_units(r, i, j, lanes, bias)));
  if (!s && !p->bias.base) { /* a sum of multiples of one power of two that is 0 needs no second look */
    const uint32_t candidates = flagged & ~exact & vm64_bits(vf64_eq(c, zero));
    if (candidates) zeros = rm_vanishing(r, i, j, candidates);
  }
  if (exact) {
    vf64 value = c, margin = zero;
    if (s) value = rm_alpha_beta_vector(s, c, old, &margin);
    if (fmt == RM_F32) {
      float out[RM_LANES];
      const vf64 wide = s ? rm_margin_b64(value, margin) : zero;
      exact &= ~vf64_store_between_f32(out, s ? vf64_sub(value, wide) : value, s ? vf64_add(value, wide) : value);
      __builtin_memcpy(bits, out, sizeof bits);
    } else {
      uint16_t out[RM_LANES];
      double v[RM_LANES];
      vf64_store(v, value);
      if (s) exact &= ~rm_round_vector_16(value, margin, (char *)out, fmt);
      for (uint32_t left = exact; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        bits[l] = s ? out[l] : (uint32_t)rm_round_double(v[l], fmt);
        if ((bits[l] & ~(uint32_t)rm_sign_bit(fmt)) == rm_infinity_bits(fmt)) exact &= ~(1u << l);
      }
    }
  }
  if (special) {
    double v[RM_LANES];
    const vf64 one = vf64_set1(1.0);
    if (s) {
      c = vf64_mul(vf64_copysign(one, vf64_set1(s->alpha)), c);
      if (s->beta != 0.0) c = vf64_add(c, vf64_mul(vf64_copysign(one, vf64_set1(s->beta)), old));
    }
    const uint32_t nan = special & ~vm64_bits(vf64_is_infinite(c));
    special &= ~nan | rm_keep_nans(r, i, j, nan);
    const uint32_t infinity = (uint32_t)rm_infinity_bits(fmt), other = (uint32_t)rm_nan_bits(fmt),
                   sign = (uint32_t)rm_sign_bit(fmt);
    vf64_store(v, c);
    for (int l = 0; l < RM_LANES; l++) {
      const uint32_t at = v[l] != v[l] ? other : infinity | (v[l] < 0.0 ? sign : 0);
      bits[l] = special >> l & 1u ? at : bits[l];
    }
  }
  const uint32_t decided = special | exact | zeros;
  r->tiers->fast += __builtin_popcount(decided);
  if (fmt == RM_F32 && decided == (1u << RM_LANES) - 1 && e->output.whole[j / RM_LANES]) {
    __builtin_memcpy(rm_output_at(&e->output, i, j), bits, sizeof bits);
    return decided;
  }
  for (uint32_t left = decided; left; left &= left - 1) {
    const int l = __builtin_ctz(left);
    rm_write_bits(rm_output_at(&e->output, i, j + l), bits[l], fmt);
  }
  return decided;
}
