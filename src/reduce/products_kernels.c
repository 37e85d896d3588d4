/* Products as (h + l) 2^e in lanes, 1 <= |h| < 2 and |l| at most 2^-53: neither overflows nor underflows on the way.
 *
 * A factor is m 2^f, 1 <= |m| < 2. h m is p + rest, exactly: nothing overflows or underflows in products of numbers between
 * 1 and 4. l m is below 2^-52; low, its sum with rest, is below 2^-51, and both roundings together are at most 2^-106 +
 * 2^-105, or 2^-105 where they are one. h and l are the sum p + low, exactly (Fast2Sum, as |p| >= 1 > |low|), times a power
 * of two. l is 0, or 2^-220 and more: it has the last bit of low, and only a rest that is not 0, a multiple of 2^-104,
 * makes it much smaller; joins leave 2^-600. So nothing of it underflows, and a step is off by less than 2^-103 of the
 * product.
 *
 * Two lanes are joined by h h' and low = rest + (h l' + l h'): l l' is left out, at most 2^-106, and h l' and l h' are
 * rounded by 2^-106 each, their sum by 2^-105 and low, below 2^-50, by 2^-104: less than 2^-102 of the product. Of CHAINS
 * times 8 lanes a product has 31 such joins at most. A lane that is multiplied by 1 is not rounded. So k factors are off by
 * less than (k + 62) 2^-103 of their product: less than (k + 62) 2^-102 where this is below 2. The test takes (k + 32)
 * 2^-100, which is more by (3 k + 66) 2^-102: by far more than its ends are rounded, 2^-106 + k 2^-153.
 *
 * While l is 0, and where the other factor is a power of two, nothing is rounded: the product is h + l until a factor comes
 * to an l that is not 0. */
#include "../common/round_scaled.h"
#include "products.h"
#include "round_columns.h"

enum { CHAINS = 4, PART = 2048 }; /* chains of a row's total, and after how many factors it looks for special ones */

typedef struct {
  vf64 h, l, kind; /* kind: the product of the factors that are 0, infinite or NaN */
  vi64 e, lost;    /* lost: bits that are all 0 while nothing was rounded */
} product;

RM_FN product begun(void) {
  const vf64 one = vf64_set1(1.0);
  return (product){one, vf64_set1(0.0), one, vi64_set1(0), vi64_set1(0)};
}

/* The product p + low, and 2^(f/2^52) besides. */
RM_FN void put(product *s, vf64 p, vf64 low, vi64 f) {
  const vf64 high = vf64_add(p, low), left = vf64_sub(low, vf64_sub(high, p));
  const vi64 field = vi64_and(vf64_bits(high), vi64_set1(RM_INF_FIELD));
  s->h = vf64_from_bits(vi64_sub(vf64_bits(high), vi64_sub(field, vi64_set1(RM_ONE_FIELD))));
  s->l = vf64_mul(left, vf64_from_bits(vi64_sub(vi64_set1(2 * RM_ONE_FIELD), field)));
  s->e = vi64_add(s->e, vi64_sub(vi64_srl(vi64_add(field, f), 52), vi64_set1(2 * 1023)));
}

/* What a factor adds to `lost`. */
RM_FN vi64 lost_by(vf64 l, vm64 is_power) { return vf64_bits(vf64_select(is_power, vf64_set1(0.0), vf64_abs(l))); }

/* Subnormal numbers as normal ones, 2^less times as large; for 0, infinity and NaN, which go to *kind, 1. */
RM_COLD vf64 take_kind(vf64 v, vf64 *kind, vi64 *less) {
  const vf64 one = vf64_set1(1.0);
  const vi64 size = vf64_bits(vf64_abs(v));
  const vm64 ends = vm64_or(vi64_eq(size, vi64_set1(0)), vi64_ltu(vi64_set1(RM_INF_FIELD - 1), size));
  const vm64 small = vm64_andnot(vi64_ltu(size, vi64_set1(INT64_C(1) << 52)), ends);
  *kind = vf64_select(ends, v, one);
  /* 1022 in the lanes that are small, by a mask: a load of that number in these lanes alone is slow wherever there are none
   * and its page is in no use, since the fault that no lane needs is found anew each time. */
  const vf64 all = vf64_from_bits(vi64_set1(-1)), nothing = vf64_from_bits(vi64_set1(0));
  *less = vi64_and(vf64_bits(vf64_select(small, all, nothing)), vi64_set1(1022));
  return vf64_select(ends, one, vf64_select(small, rm_enlarge(v), v));
}

RM_FN void multiply(product *s, vf64 v) {
  vi64 field = vi64_and(vf64_bits(v), vi64_set1(RM_INF_FIELD));
  if (RM_UNLIKELY(!vm64_none(vm64_or(vi64_eq(field, vi64_set1(0)), vi64_eq(field, vi64_set1(RM_INF_FIELD)))))) {
    vf64 kind;
    vi64 less;
    v = take_kind(v, &kind, &less);
    field = vi64_and(vf64_bits(v), vi64_set1(RM_INF_FIELD));
    s->kind = vf64_mul(s->kind, kind), s->e = vi64_sub(s->e, less);
  }
  const vf64 m = vf64_from_bits(vi64_or(vi64_sub(vf64_bits(v), field), vi64_set1(RM_ONE_FIELD)));
  const vf64 p = vf64_mul(s->h, m), rest = vf64_mul_err(s->h, m, p);
  s->lost = vi64_or(s->lost, lost_by(s->l, vf64_eq(vf64_abs(m), vf64_set1(1.0))));
  put(s, p, vf64_mad(s->l, m, rest), field);
}

RM_FN void join(product *s, const product *t) {
  const vf64 p = vf64_mul(s->h, t->h), rest = vf64_mul_err(s->h, t->h, p);
  const vf64 low = vf64_add(rest, vf64_add(vf64_mul(s->h, t->l), vf64_mul(s->l, t->h)));
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0);
  const vm64 power_t = vm64_and(vf64_eq(vf64_abs(t->h), one), vf64_eq(t->l, zero));
  const vm64 power_s = vm64_and(vf64_eq(vf64_abs(s->h), one), vf64_eq(s->l, zero));
  s->e = vi64_add(s->e, t->e);
  s->lost = vi64_or(vi64_or(s->lost, t->lost), vi64_or(lost_by(s->l, power_t), lost_by(t->l, power_s)));
  s->kind = vf64_mul(s->kind, t->kind);
  put(s, p, low, vi64_set1(RM_ONE_FIELD));
}

/* Puts the product of all lanes to the first. */
RM_FN void join_lanes(product *s) {
  double h[2 * RM_LANES], l[2 * RM_LANES], kind[2 * RM_LANES];
  int64_t e[2 * RM_LANES], lost[2 * RM_LANES];
  for (int half = RM_LANES / 2; half; half /= 2) {
    const product none = begun();
    for (int k = 0; k < 2 * RM_LANES; k += RM_LANES) {
      const product *from = k ? &none : s;
      vf64_store(h + k, from->h), vf64_store(l + k, from->l), vf64_store(kind + k, from->kind);
      vi64_store(e + k, from->e), vi64_store(lost + k, from->lost);
    }
    const product t = {vf64_load(h + half), vf64_load(l + half), vf64_load(kind + half), vi64_load(e + half),
                       vi64_load(lost + half)};
    join(s, &t);
  }
}

/* The product of k factors, as rm_store_elements rounds it; returns the lanes in which it is open. */
RM_FN uint32_t rounded(const product *s, int64_t k, int to, vf64 *y) {
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0);
  const vf64 err = vf64_select(vi64_eq(s->lost, vi64_set1(0)), zero, vf64_set1(RM_BOUND(0x1p-100) * ((double)k + 32.0)));
  vm64 open;
  if (to == RM_F64) open = rm_round_scaled_f64(s->h, s->l, s->e, err, y);
  else open = rm_round_scaled_below(s->h, s->l, s->e, err, to, y);
  const vm64 known = vf64_ne(vf64_abs(s->kind), one);
  if (RM_UNLIKELY(!vm64_none(known))) {
    const vf64 made = vf64_mul(s->kind, s->h);
    *y = vf64_select(known, vf64_select(vf64_unord(made, made), vf64_nan(), made), *y);
    open = vm64_andnot(open, known);
  }
  return vm64_bits(open);
}

/* RM_LANES numbers, those beyond the first n being 1. */
RM_FN vf64 load(const char *x, int64_t n, int from) {
  double v[RM_LANES];
  if (RM_LIKELY(n >= RM_LANES)) return rm_load_elements(x, from);
  for (int k = 0; k < RM_LANES; k++) v[k] = k < n ? rm_read_element(x + k * rm_size_of(from), from) : 1.0;
  return vf64_load(v);
}
RM_FN void store(char *out, int64_t n, vf64 y, int to) {
  char buffer[8 * RM_LANES];
  if (RM_LIKELY(n >= RM_LANES)) {
    rm_store_elements(out, y, to);
    return;
  }
  rm_store_elements(buffer, y, to);
  for (int64_t k = 0; k < n * rm_size_of(to); k++) out[k] = buffer[k];
}

/* As many numbers as a vector has, or the products of two each: below binary64 these are exact and normal. */
RM_FN vf64 some_factors(const char *x, const int from) {
  const vf64 v = rm_load_elements(x, from);
  return from == RM_F64 ? v : vf64_mul(v, rm_load_elements(x + RM_LANES * rm_size_of(from), from));
}
RM_FN vm64 is_special(vf64 v) {
  const vf64 size = vf64_abs(v);
  return vm64_not(vm64_and(vf64_lt(vf64_set1(0.0), size), vf64_lt(size, vf64_from_bits(vi64_set1(RM_INF_FIELD)))));
}

/* The product of one row, whose parts are in lanes. Once there is a 0, an infinity or a NaN, only such factors and the
 * signs of the others count. */
RM_FN product total(int64_t n, const char *x, const int from) {
  const int64_t size = rm_size_of(from), step = (from == RM_F64 ? 1 : 2) * RM_LANES, group = CHAINS * step;
  const vf64 one = vf64_set1(1.0);
  product a = begun(), b = begun(), c = begun(), d = begun(); /* a step waits for the one before */
  vf64 kinds = one;
  int64_t i = 0, end = 0;
  int special = 0;
  while (!special && i + group <= n) {
    for (end = end + PART < n ? end + PART : n; i + group <= end; i += group) {
      const char *at = x + i * size;
      multiply(&a, some_factors(at, from));
      multiply(&b, some_factors(at + step * size, from));
      multiply(&c, some_factors(at + 2 * step * size, from));
      multiply(&d, some_factors(at + 3 * step * size, from));
    }
    special = !vm64_none(vf64_ne(vf64_abs(vf64_mul(vf64_mul(a.kind, b.kind), vf64_mul(c.kind, d.kind))), one));
  }
  for (; special && i + step <= n; i += step) {
    const vf64 v = some_factors(x + i * size, from);
    kinds = vf64_mul(kinds, vf64_select(is_special(v), v, vf64_copysign(one, v)));
  }
  for (; i < n; i += RM_LANES) multiply(&a, load(x + i * size, n - i, from));
  a.kind = vf64_mul(a.kind, kinds);
  join(&a, &b);
  join(&c, &d);
  join(&a, &c);
  return a;
}
/* A product of formats below binary64 in binary64, with exponents apart: *e, of the lanes' h. Between two steps here a lane
 * is in [1, 2), 0, infinite or NaN, and takes six factors of 2^-149 to 2^128 at most: nothing leaves the range, and 0,
 * infinities and NaNs have their products by IEEE 754's rules, in any order. */
RM_FN void take_exponents(vf64 *h, vi64 *e) {
  const vi64 bits = vf64_bits(*h), field = vi64_and(bits, vi64_set1(RM_INF_FIELD));
  const vm64 special = vm64_or(vi64_eq(field, vi64_set1(0)), vi64_eq(field, vi64_set1(RM_INF_FIELD)));
  const vf64 one = vf64_from_bits(vi64_set1(RM_ONE_FIELD));
  const vi64 taken = vf64_bits(vf64_select(special, one, vf64_from_bits(field)));
  *h = vf64_from_bits(vi64_sub(bits, vi64_sub(taken, vi64_set1(RM_ONE_FIELD))));
  *e = vi64_add(*e, vi64_sub(vi64_srl(taken, 52), vi64_set1(RM_ONE_FIELD >> 52)));
}

/* The product of a row in binary64, with its exponent cut to what formats below have. */
RM_FN double quick_total(int64_t n, const char *x, const int from) {
  const int64_t size = rm_size_of(from), step = 2 * RM_LANES, group = CHAINS * step;
  vf64 h[CHAINS];
  vi64 e[CHAINS];
  RM_UNROLL for (int c = 0; c < CHAINS; c++) h[c] = vf64_set1(1.0), e[c] = vi64_set1(0);
  int64_t i = 0;
  while (i + group <= n) {
    for (int k = 0; k < 3 && i + group <= n; k++, i += group) {
      RM_UNROLL for (int c = 0; c < CHAINS; c++) h[c] = vf64_mul(h[c], some_factors(x + (i + c * step) * size, from));
    }
    RM_UNROLL for (int c = 0; c < CHAINS; c++) take_exponents(h + c, e + c);
  }
  for (; i < n; i += RM_LANES) {
    h[0] = vf64_mul(h[0], load(x + i * size, n - i, from));
    take_exponents(h, e);
  }
  double lane[RM_LANES], v = 1.0;
  int64_t exponents[RM_LANES], all = 0;
  vf64_store(lane, vf64_mul(vf64_mul(h[0], h[1]), vf64_mul(h[2], h[3])));
  vi64_store(exponents, vi64_add(vi64_add(e[0], e[1]), vi64_add(e[2], e[3])));
  for (int l = 0; l < RM_LANES; l++) v *= lane[l], all += exponents[l];
  return v * rm_pow2(all < -500 ? -500 : all > 500 ? 500 : (int)all);
}

/* Rounds `count` rows to binary32 in binary64: factors are rounded with others once each at most, so that a product is off
 * by n u of it; n + 2 covers that and the roundings of the ends. What is infinite has an infinite factor, or is beyond the
 * range. Returns the rows that this leaves undecided. */
static uint32_t quick_rows(const rm_products_problem *p, int64_t row, int count) {
  const int64_t n = p->n, size = rm_size_of(p->fmt_out);
  const char *x = p->x + row * n * rm_size_of(p->fmt);
  double made[RM_LANES];
  unsigned char out[8 * RM_LANES] __attribute__((aligned(8)));
  for (int j = 0; j < RM_LANES; j++) {
    const char *const at = x + (j < count ? j : 0) * n * rm_size_of(p->fmt);
    if (j >= count) made[j] = made[0];
    else if (p->fmt == RM_F32) made[j] = quick_total(n, at, RM_F32);
    else if (p->fmt == RM_F16) made[j] = quick_total(n, at, RM_F16);
    else made[j] = quick_total(n, at, RM_BF16);
  }
  const vf64 v = vf64_load(made), unit = vf64_set1(RM_BOUND(0x1.06p-53) * (double)(n + 2));
  const vm64 nan = vf64_unord(v, v);
  const vf64 off = vf64_select(vf64_is_infinite(v), vf64_set1(0.0), vf64_mul(vf64_abs(v), unit));
  const vf64 a = vf64_round_f32(vf64_sub(v, off)), b = vf64_round_f32(vf64_add(v, off));
  const vm64 same = vi64_eq(vf64_bits(a), vf64_bits(b));
  rm_store_columns(out, vf64_select(nan, vf64_nan(), a), RM_F32);
  __builtin_memcpy(p->out + row * size, out, (size_t)(count * size));
  return vm64_bits(vm64_not(vm64_or(same, nan))) & ((UINT32_C(1) << count) - 1);
}

static void one_total(const rm_products_problem *p, int64_t row) {
  const char *x = p->x + row * p->n * rm_size_of(p->fmt);
  product s;
  vf64 y;
  switch (p->fmt) {
    case RM_F16: s = total(p->n, x, RM_F16); break;
    case RM_BF16: s = total(p->n, x, RM_BF16); break;
    case RM_F32: s = total(p->n, x, RM_F32); break;
    default: s = total(p->n, x, RM_F64);
  }
  join_lanes(&s);
  p->undecided[row] = rounded(&s, p->n, p->fmt_out, &y) & 1;
  store(p->out + row * rm_size_of(p->fmt_out), 1, y, p->fmt_out);
}

/* `count` rows from `row` on, in lanes. */
static void some_rows(const rm_products_problem *p, int64_t row, int count) {
  const int size = rm_size_of(p->fmt), size_out = rm_size_of(p->fmt_out);
  const int64_t n = p->n, first = row * (p->partial ? n : 1);
  const char *x = p->x + row * n * size;
  char *out = p->out + first * size_out;
  uint8_t *undecided = p->undecided + first;
  product s = begun();
  vf64 t[RM_LANES], y[RM_LANES];
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const int64_t some = n - i < RM_LANES ? n - i : RM_LANES;
    uint32_t open[RM_LANES], any = 0;
    for (int j = 0; j < RM_LANES; j++) t[j] = load(x + ((j < count ? j : 0) * n + i) * size, some, p->fmt);
    vf64_transpose(t);
    for (int c = 0; c < RM_LANES; c++) {
      if (c < some) multiply(&s, t[c]);
      y[c] = s.h, open[c] = 0;
      if (p->partial && c < some) any |= open[c] = rounded(&s, i + c + 1, p->fmt_out, y + c);
    }
    if (!p->partial) continue;
    vf64_transpose(y);
    for (int j = 0; j < count; j++) store(out + (j * n + i) * size_out, some, y[j], p->fmt_out);
    for (int c = 0; any && c < some; c++)
      for (int j = 0; j < count; j++) undecided[j * n + i + c] = open[c] >> j & 1;
  }
  if (p->partial) return;
  const uint32_t open = rounded(&s, n, p->fmt_out, y);
  store(out, count, y[0], p->fmt_out);
  for (int j = 0; j < count; j++) undecided[j] = open >> j & 1;
}

static void rows(const rm_products_problem *p, int64_t begin, int64_t end) {
  const int alone = !p->partial && (p->n >= 2 * CHAINS * RM_LANES || end - begin == 1);
  const int quick = alone && p->n > 2 && p->fmt != RM_F64 && p->fmt_out == RM_F32;
  for (int64_t r = begin; r < end; r += RM_LANES) {
    const int count = end - r < RM_LANES ? (int)(end - r) : RM_LANES;
    if (!alone) some_rows(p, r, count);
    const uint32_t open = quick ? quick_rows(p, r, count) : ~UINT32_C(0);
    for (int j = 0; alone && j < count; j++)
      if (open >> j & 1) one_total(p, r + j);
  }
}

const struct rm_products_kernels RM_ISA_SYMBOL(rm_products_table) = {rows};
