/* Recurrences, series and sums of powers in double-double with bounds of their errors, compiled once per ISA.
 *
 * u = 2^-53. A number is h + l with |l| <= u |h|, after a two-sum, whose parts are exact. The bounds hold with one rounding
 * or two in vf64_mad. What an operation loses below the normal numbers, and vf64_mul_err below 2^-968, is less than
 * 2^-1060, of factors below 2^16: RM_SPECIAL_TINY, once for a step, covers it. Products beyond 2^996 are infinite or NaN
 * somewhere, and so is the result. A bound itself is computed from positive numbers in fewer than 16 operations, which
 * RM_SPECIAL_MORE covers. */
#include "../../crlibm/exp/exp_dd.h"
#include "../../crlibm/lgamma/lgamma_vdd.h"
#include "kernels.h"

#define RM_SPECIAL_TINY 0x1p-1000
#define RM_SPECIAL_MORE (1.0 + 0x1p-48)

typedef struct {
  vf64 h, l;
} pair;

/* a b of two pairs, not yet with |l| <= u |h|. The product of the low parts, u^2, is left out; the low part has three terms
 * of u and less, whose four roundings are 7u^2 at most: 8u^2 |a b|, and |l| <= 3.1u |a b|. */
RM_FN pair times(pair a, pair b) {
  const vf64 p = vf64_mul(a.h, b.h);
  return (pair){p, vf64_mad(a.h, b.l, vf64_mad(a.l, b.h, vf64_mul_err(a.h, b.h, p)))};
}
RM_FN pair settled(pair a) {
  pair r;
  r.h = vf64_two_sum(a.h, a.l, &r.l);
  return r;
}
/* a + b: with |low parts| <= 3.1u |a| and |b|, the two-sum's rest and three roundings, 8u^2 (|a| + |b|) at most. */
RM_FN pair plus(pair a, pair b) {
  vf64 rest;
  const vf64 s = vf64_two_sum(a.h, b.h, &rest);
  return settled((pair){s, vf64_add(rest, vf64_add(a.l, b.l))});
}
RM_FN pair one(vf64 h) { return (pair){h, vf64_set1(0.0)}; }

/* a x + b = s + t, and how the step's errors depend on it: p is a x, S = |p| + |s|. |t| <= u |s| + u |p| before it is
 * rounded, by 4u^2 S at most. */
typedef struct {
  pair value;
  vf64 size, factor; /* S; |s| + 2^-50 S, which is more than |s + t| + 32u^2 S */
} slope;

RM_FN slope slope_of(vf64 x, double a, double b) {
  slope r;
  const vf64 at = vf64_mul(x, vf64_set1(a)), lost = vf64_mul_err(x, vf64_set1(a), at);
  vf64 rest;
  const vf64 s = vf64_two_sum(at, vf64_set1(b), &rest);
  r.value = (pair){s, vf64_add(rest, lost)};
  r.size = vf64_add(vf64_abs(at), vf64_abs(s));
  r.factor = vf64_mad(r.size, vf64_set1(0x1p-50), vf64_abs(s));
  return r;
}

/* One vector of a recurrence, degrees up to `most`. With H = |P_k|, H' = |P_(k-1)| as computed, and E and E' their bounds:
 *   (a x + b) P_k   t l is left out: 2u^2 S H; the low part's terms are u S H, 2u S H and u S H, which four roundings make
 *                   11u^2 S H; what s + t lost, times P_k, 4u^2 S (H + E); E times the slope
 *   c P_(k-1)       4u^2 c H', and c E'
 *   their sum       of low parts that are below 4u S H and 2u c H': 10u^2 S H + 6u^2 c H'
 * Together less than 32u^2 (S H + c H') + factor E + c E'. A quotient by d is h/d, and (l - (q d - h))/d: the residual is
 * known to 16u^2 H, and three roundings are less than 5u^2 H: with these 32u^2 of the quotient. P_1 is off by 4u^2 S, or
 * exact where a x is, with a a power of two. */
RM_STATIC void recurrence(const rm_recurrence *f, rm_special_chunk *chunk, int i, int most) {
  const vf64 x = vf64_load(chunk->x + i), degree = vf64_load(chunk->degree + i), zero = vf64_set1(0.0);
  const vf64 unit = vf64_set1(RM_BOUND(0x1p-101)), tiny = vf64_set1(RM_SPECIAL_TINY), more = vf64_set1(RM_SPECIAL_MORE);
  slope by = slope_of(x, f->first[0], f->first[1]);
  pair before = one(vf64_set1(1.0)), now = settled(by.value);
  const double a = __builtin_fabs(f->first[0]);
  vf64 err_before = zero, err = a == 1.0 || a == 2.0 || a == 4.0 ? zero : vf64_mad(by.size, unit, tiny);
  vm64 here = vf64_eq(degree, vf64_set1(1.0));
  vf64 h = vf64_select(here, now.h, vf64_select(vf64_eq(degree, zero), before.h, zero));
  vf64 l = vf64_select(here, now.l, zero), e = vf64_select(here, err, zero);
  for (int k = 1; k < most; k++) {
    const double kd = (double)k;
    if (k == 1 || f->a[1] != 0.0 || f->b[1] != 0.0) by = slope_of(x, f->a[0] + f->a[1] * kd, f->b[0] + f->b[1] * kd);
    const vf64 c = vf64_set1(f->c[0] + f->c[1] * kd);
    const pair first = times(by.value, now), second = times(before, one(vf64_neg(c)));
    const vf64 size = vf64_mad(by.size, vf64_abs(now.h), vf64_mul(c, vf64_abs(before.h)));
    vf64 wrong = vf64_mad(by.factor, err, vf64_mad(c, err_before, vf64_mad(size, unit, tiny)));
    pair next = plus(first, second);
    if (f->divided) {
      const vf64 d = vf64_set1(kd + 1.0), q = vf64_div(next.h, d);
      next = settled((pair){q, vf64_div(vf64_sub(next.l, vf64_mul_err(q, d, next.h)), d)});
      wrong = vf64_mad(vf64_abs(next.h), unit, vf64_add(vf64_div(wrong, d), tiny));
    }
    before = now, now = next, err_before = err, err = vf64_mul(wrong, more);
    here = vf64_eq(degree, vf64_set1(kd + 1.0));
    h = vf64_select(here, now.h, h), l = vf64_select(here, now.l, l), e = vf64_select(here, err, e);
  }
  vf64_store(chunk->hi + i, h), vf64_store(chunk->lo + i, l), vf64_store(chunk->err + i, e);
}

/* A series by Horner's rule in y = x^2/256, of at most 110 terms, whose magnitudes add up to Z.
 *   binary64   y is off by 1 rounding, its k-th power by k, and a step by two: less than 370u Z; then up to two products, of
 *              which exp is off by 2^-52: 2^-43 Z
 *   wide       a step is S y + c, |S y| and c at most the sum Z_k of what is left: 8u^2 |S y| for the product, and 9u^2 Z_k
 *              for the sum, as its low parts are 3.1u |S y| and u c, and for c. Together 110 18u^2 Z < 2^-95 Z; the rest of
 *              the series and x are within 2^-95 Z: 2^-93 Z. exp(-|x|) is within 2^-68.5 and its low part below 2^-18, so
 *              that its product leaves out u 2^-18 and rounds three times by that: with these 2^-67 of the value. */
RM_STATIC void series(const rm_even_series *f, rm_special_chunk *chunk, int i, int terms, int wide) {
  const vf64 x = vf64_load(chunk->x + i), at = vf64_mul(x, vf64_set1(0.0625));
  const double *c = f->c + 2 * (terms - 1);
  const vf64 sign = vf64_set1((double)f->sign);
  const vf64 size_y = vf64_mul(at, at), y = vf64_mul(size_y, sign), low = vf64_mul(vf64_mul_err(at, at, size_y), sign);
  pair sum = {vf64_set1(c[0]), vf64_set1(c[1])};
  vf64 size = sum.h;
  if (wide) {
    for (int k = terms - 1; k > 0; k--) {
      c -= 2;
      sum = plus(times(sum, (pair){y, low}), (pair){vf64_set1(c[0]), vf64_set1(c[1])});
      size = vf64_mad(size, size_y, vf64_set1(c[0]));
    }
  } else {
    for (int k = terms - 1; k > 0; k--) {
      c -= 2;
      sum.h = vf64_mad(sum.h, y, vf64_set1(c[0]));
      size = vf64_mad(size, size_y, vf64_set1(c[0]));
    }
    sum.l = vf64_set1(0.0);
  }
  if (f->order) sum = settled(times(sum, one(x))), size = vf64_mul(size, vf64_abs(x));
  vf64 err = vf64_mad(size, vf64_set1(wide ? RM_BOUND(0x1p-93) : RM_BOUND(0x1p-43)), vf64_set1(RM_SPECIAL_TINY));
  if (f->scaled) {
    vf64 unused;
    pair factor;
    rm_exp_sum_dd(vf64_neg(vf64_abs(x)), vf64_set1(0.0), &factor.h, &factor.l, &unused);
    sum = settled(times(sum, factor));
    err = vf64_mad(err, factor.h, vf64_mad(vf64_abs(sum.h), vf64_set1(RM_BOUND(0x1p-67)), vf64_set1(RM_SPECIAL_TINY)));
  }
  vf64_store(chunk->hi + i, sum.h), vf64_store(chunk->lo + i, sum.l),
      vf64_store(chunk->err + i, vf64_mul(err, vf64_set1(RM_SPECIAL_MORE)));
}

/* 1/t: q = RN(1/h), and q (1 - d) with d = q h - 1 + l q, below 3u: d^2 is left out, 9u^2, and four roundings make 5u^2. */
RM_FN pair inverse(pair t) {
  const vf64 q = vf64_div(vf64_set1(1.0), t.h);
  const vf64 d = vf64_mad(t.l, q, vf64_mul_err(q, t.h, vf64_set1(1.0)));
  return settled((pair){q, vf64_neg(vf64_mul(q, d))});
}
RM_FN pair power(pair r, int s) {
  pair p = r;
  for (int k = 1; k < s; k++) p = settled(times(p, r));
  return p;
}

/* The sum of (x + k)^-s, s = n + 1, up to a = x + N >= 24, and n times the rest by Euler's and Maclaurin's formula: a^-s (a +
 * n/2 + sum c[j] a^(1 - 2j)), whose terms from the 22nd on are below 2^-108 of it. Of a term x + k is exact, its inverse
 * within 15u^2, and a power of s <= 8 factors within 8 15u^2 + 7 9u^2 = 183u^2. 40 sums are within 40 8u^2 of the sum of
 * magnitudes, and the formula, 21 steps of a product and a sum as in a series, whose sizes are its value times 1.1 at most,
 * within 21 18u^2 1.1 + 2 183u^2 of itself. The last products and sums are within 40u^2: in all less than 1000u^2 = 2^-96
 * of the magnitudes. */
RM_STATIC void powers(const rm_digamma_derivative *f, rm_special_chunk *chunk, int i, int shift) {
  const vf64 x = vf64_load(chunk->x + i), zero = vf64_set1(0.0);
  const int n = f->order;
  pair sum = one(zero), at;
  vf64 size = zero;
  for (int k = 0; k < shift; k++) {
    at.h = vf64_two_sum(x, vf64_set1((double)k), &at.l);
    const pair term = power(inverse(at), n + 1);
    sum = plus(sum, term);
    size = vf64_add(size, vf64_abs(term.h));
  }
  at.h = vf64_two_sum(x, vf64_set1((double)shift), &at.l);
  const pair r = inverse(at), square = settled(times(r, r));
  const double *c = f->c + 2 * (RM_SPECIAL_POWERS - 1);
  pair rest = {vf64_set1(c[0]), vf64_set1(c[1])};
  for (int k = RM_SPECIAL_POWERS - 1; k > 0; k--) {
    c -= 2;
    rest = plus(times(rest, square), (pair){vf64_set1(c[0]), vf64_set1(c[1])});
  }
  rest = plus(at, plus(times(rest, r), one(vf64_set1(0.5 * (double)n))));
  rest = settled(times(rest, power(r, n + 1)));
  double factor = n % 2 ? 1.0 : -1.0;
  for (int k = 2; k < n; k++) factor *= (double)k; /* (n - 1)! */
  const vf64 of_n = vf64_set1((double)n), by = vf64_set1(factor);
  sum = plus(times(sum, one(of_n)), rest);
  sum = settled(times(sum, one(by)));
  size = vf64_mul(vf64_mad(size, of_n, rest.h), vf64_abs(by));
  vf64_store(chunk->hi + i, sum.h), vf64_store(chunk->lo + i, sum.l);
  vf64_store(chunk->err + i,
             vf64_mul(vf64_mad(size, vf64_set1(RM_BOUND(0x1p-95)), vf64_set1(RM_SPECIAL_TINY)), vf64_set1(RM_SPECIAL_MORE)));
}

/* A factor of a product: *f less 1, where that is above 1.5, which then is the last one. */
RM_FN void factor(vf64 *f, vf64 *last, pair *p) {
  const vf64 one = vf64_set1(1.0);
  *f = vf64_sub(*f, one);
  const vm64 more = vf64_lt(vf64_set1(1.5), *f);
  const vf64 by = vf64_select(more, *f, one), h = vf64_mul(p->h, by);
  *last = vf64_select(more, *f, *last);
  p->l = vf64_mad(p->l, by, vf64_mul_err(p->h, by, h)), p->h = h;
}

/* gamma(x), below -1/2 its magnitude, without a logarithm, whose error e^t would enlarge, by double-double numbers with
 * running bounds. With a = x, or -x below -1/2, m the nearest integer of a or 2, t = a - m, E = gamma(2 + t) = e^(t T(t)), T
 * as of lgamma:
 *   gamma(a)    E (a - 1) ... (a - m + 2) for a >= 1.5, E/a below and E/(a (a + 1)) below 1/2
 *   gamma(-a)   1/(a |r| S gamma(a)), r = a - the nearest integer, S = sin(pi r)/(pi r)
 * Of the factors, which are exact, every second one goes into one of two products of at most 86: after k of them the low part
 * is below k u of the product, and a step rounds twice by (k + 1) u^2, together less than 2^14 u^2 = 2^-92. As |t T| < 0.3,
 * an error e of it is less than 2e of E. Everything is above 2^-940, and below 2^600 but for gamma(a) itself: where that, or
 * an operation of its last product, is infinite, the value is not known. */
RM_STATIC void gamma_of(rm_special_chunk *chunk, int i, double most) {
  const rm_vdd unit = rm_vdd_exact(vf64_set1(1.0));
  const vf64 given = vf64_load(chunk->x + i);
  const double end = RM_LANES == 1 ? 48.0 : 172.0; /* one by one, many factors take longer than a logarithm */
  const vm64 outside = vm64_or(rm_gamma_special(given, RM_GAMMA_LEAST, end), vf64_lt(given, vf64_set1(-150.0)));
  const vf64 x = vf64_select(outside, vf64_set1(1.5), given);
  const vm64 below = vf64_le(x, vf64_set1(-0.5));
  const vf64 a = vf64_select(below, vf64_abs(x), x), square = vf64_mul(a, a);
  const vm64 low = vf64_lt(a, vf64_set1(1.5)), lowest = vf64_lt(a, vf64_set1(0.5));
  vf64 f = a, t = a, w, wl, e, err;
  pair first = one(unit.h), second = first;
  for (double j = 1.5; j < most && j < end; j += 2.0) factor(&f, &t, &first), factor(&f, &t, &second);
  t = vf64_select(lowest, a, vf64_sub(t, vf64_select(low, unit.h, vf64_set1(2.0))));
  const vf64 rest = vf64_set1(RM_BOUND(0x1p-92));
  rm_vdd p = rm_vdd_ordered(first.h, first.l, vf64_mul(first.h, rest)), power;
  rm_vdd whole = rm_vdd_ordered(a, square, vf64_mul(vf64_abs(a), rest)); /* its low part, below 2u a, rounds once */
  rm_vdd q = rm_vdd_ordered(second.h, second.l, vf64_mul(second.h, rest));
  whole.l = vf64_add(whole.l, vf64_mul_err(a, a, square));
  power = rm_vdd_times(rm_gamma_taylor_vdd(rm_lgamma_taylor, RM_LGAMMA_TAYLOR_FIRST, t), t);
  rm_vdd_known(rm_vdd_select(below, rm_vdd_neg(power), power), &w, &wl, &e);
  rm_exp_sum_dd(w, wl, &w, &wl, &err);
  power = rm_vdd_of(w, wl, vf64_mad(e, vf64_set1(2.0), err));
  rm_vdd under = rm_vdd_select(lowest, whole, rm_vdd_select(low, rm_vdd_exact(a), unit));
  if (!vm64_none(below)) {
    const vf64 r = vf64_abs(rm_gamma_part(vf64_select(below, a, vf64_set1(0.5))));
    rm_vdd turn = rm_vdd_times(rm_gamma_turn_vdd(rm_gamma_sine, r), r);
    turn = rm_vdd_select(low, turn, rm_vdd_mul(rm_vdd_mul(rm_vdd_times(turn, a), p), q));
    under = rm_vdd_select(below, turn, under);
    p = rm_vdd_select(below, unit, p), q = rm_vdd_select(below, unit, q);
  }
  const rm_vdd v = rm_vdd_div(rm_vdd_mul(rm_vdd_mul(power, p), q), under);
  vf64 hi, lo;
  rm_vdd_known(v, &hi, &lo, &err);
  vf64_store(chunk->hi + i, hi), vf64_store(chunk->lo + i, lo);
  vf64_store(chunk->err + i, vf64_select(outside, vf64_set1(__builtin_inf()), err));
}

/* Of a vector the greatest degree or magnitude, and the least number. */
RM_STATIC double most_of(const double *v) {
  double most = 0.0;
  for (int j = 0; j < RM_LANES; j++) most = __builtin_fabs(v[j]) > most ? __builtin_fabs(v[j]) : most;
  return most;
}
RM_STATIC double least_of(const double *v) {
  double least = v[0];
  for (int j = 1; j < RM_LANES; j++) least = v[j] < least ? v[j] : least;
  return least;
}

static void values(const rm_special_problem *p, rm_special_chunk *chunk, int count, int wide) {
  for (int i = 0; i < count; i += RM_LANES) {
    if (p->recurrence) {
      recurrence(p->recurrence, chunk, i, (int)most_of(chunk->degree + i));
    } else if (p->series) {
      const double most = most_of(chunk->x + i);
      const int terms = (int)(wide ? 20.0 + 1.4 * most : 11.0 + 1.2 * most) + 1;
      series(p->series, chunk, i, terms < p->series->terms ? terms : p->series->terms, wide);
    } else if (!p->derivative) {
      gamma_of(chunk, i, most_of(chunk->x + i));
    } else {
      const double least = least_of(chunk->x + i);
      powers(p->derivative, chunk, i, least < 24.0 ? (int)(24.0 - least) + 1 : 0);
    }
  }
}

extern const struct rm_special_kernels RM_ISA_SYMBOL(rm_special_table);
const struct rm_special_kernels RM_ISA_SYMBOL(rm_special_table) = {values};
