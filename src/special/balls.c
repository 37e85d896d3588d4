/* Special functions in double-double with running bounds of their errors (crlibm/enclosure/dd_ball.h): Bessel's Y and
 * K, Airy's Ai, Hurwitz's zeta, gamma and beta, the incomplete gamma functions and sin(x)/x. Only what series and
 * expansions leave out is added to the bounds here; where they do not serve, the value is unknown, and the caller
 * computes it. Compiled once: the loops are scalar. */
#include <pthread.h>
#include <stddef.h>

#include "../../crlibm/betaln/betaln_dd.h"
#include "../../crlibm/sin/sin_accurate.h"
#include "../../include/repmath/special.h"
#include "../common/elements.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "kernels.h"

typedef rm_dd_ball ball;

/* Calls of the operations: inlining them would make twice the code. */
RM_COLD void ball_add(ball *r, const ball *a, const ball *b) { rm_dd_ball_add(r, a, b); }
RM_COLD void ball_sub(ball *r, const ball *a, const ball *b) { rm_dd_ball_sub(r, a, b); }
RM_COLD void ball_mul(ball *r, const ball *a, const ball *b) { rm_dd_ball_mul(r, a, b); }

enum {
  GRAIN = 256, /* elements that are worth a thread */
  QUICK = 4096, /* the same of gamma */
  TERMS = 200, /* of which the reciprocals are kept */
  NODES = 36, /* of the trapezoidal rule */
  BERNOULLI = 16
};
#define RM_SPECIAL_STEP 0.125 /* of the trapezoidal rule */

/* What all elements share, which is computed once: 1/k, the sums H_k of the first k of these, and at the nodes t, multiples
 * of the step, cosh t - 1, cosh t and cosh(t/3). */
typedef struct {
  ball inverse[TERMS], harmonic[TERMS];
  ball less[NODES], weight[NODES], third[NODES];
  ball pi, euler;
} shared;

typedef struct {
  int function, format;
  const double *a, *x;
  char *out;
  uint8_t *undecided;
} problem;

/* B_2j/(2j)!, rounded: within 2^-106 of itself. */
static const double bernoulli[2 * BERNOULLI] = {
    0x1.5555555555555p-4,   0x1.5555555555555p-58,   -0x1.6c16c16c16c17p-10,  0x1.f49f49f49f49fp-65,   0x1.1566abc011567p-15,
    -0x1.50ffbaa655100p-69, -0x1.bbd779334ef0bp-21,  0x1.4e65f77088199p-75,   0x1.66a8f2bf70ebep-26,   -0x1.75a7bb0599f07p-80,
    -0x1.22805d644267fp-31, 0x1.16a73200360d2p-88,   0x1.d6db2c4e09162p-37,   -0x1.1ed444b9ec588p-95,  -0x1.7da4e1f79955cp-42,
    -0x1.2ff894d037a17p-96, 0x1.355871d652e9ep-47,   -0x1.88d4ccd141422p-101, -0x1.f57d968caacf1p-53,  0x1.9c31f0af5255fp-108,
    0x1.967e1f09c376fp-58,  -0x1.3ea5a927db8abp-116, -0x1.497d9033a2b5cp-63,  -0x1.b843f32aad364p-117, 0x1.0b132d7c6ad06p-68,
    0x1.01d4526c8e75ep-122, -0x1.b0f72d59f1c16p-74,  -0x1.f30b7489fb679p-128, 0x1.5ef2da4cca26dp-79,   0x1.6b993adfdd467p-133,
    -0x1.1c77df96de38bp-84, 0x1.dac59dd0d33acp-143};

/* A constant of two parts, which are rounded: within 2^-105 of it. */
static void constant(ball *r, double h, double l) { rm_dd_ball_finish(r, h, l, 1, __builtin_fabs(h) * 0x1p-105); }
static void number(ball *r, double x) { rm_dd_ball_set(r, x, 0); }
static void times(ball *r, double x) {
  ball t;
  number(&t, x);
  ball_mul(r, r, &t);
}
static void plus(ball *r, double x) {
  ball t;
  number(&t, x);
  ball_add(r, r, &t);
}
static void subtract_from(ball *r, double x) {
  rm_dd_ball_neg(r, r);
  plus(r, x);
}
static double size_of(const ball *a) { return rm_dd_ball_max(a); }

/* `small`, below, is the size of terms that are left out, whose bound is added: what decides nearly all roundings to the
 * format. */

static shared kept;
static void fill(void) {
  shared *const s = &kept;
  ball t, e;
  number(&s->harmonic[0], 0.0);
  for (int k = 1; k < TERMS; k++) {
    number(&t, (double)k);
    number(&e, 1.0);
    rm_dd_ball_div(&s->inverse[k], &e, &t);
    ball_add(&s->harmonic[k], &s->harmonic[k - 1], &s->inverse[k]);
  }
  constant(&s->pi, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
  constant(&s->euler, 0x1.2788cfc6fb619p-1, -0x1.6cb90701fbfabp-58);
  for (int k = 0; k < NODES; k++) {
    for (int thirds = 0; thirds < 2; thirds++) {
      ball *const to = thirds ? &s->third[k] : &s->weight[k];
      number(&t, RM_SPECIAL_STEP * (double)k);
      if (thirds) ball_mul(&t, &t, &s->inverse[3]);
      rm_dd_ball_exp(&e, &t);
      number(&t, 1.0);
      rm_dd_ball_div(&t, &t, &e);
      ball_add(to, &e, &t);
      rm_dd_ball_scale(to, to, -1);
    }
    s->less[k] = s->weight[k];
    plus(&s->less[k], -1.0);
  }
}

/* sin and cos of a: those of its high part h, and by sin(h + l) = sin h + l cos h within l^2/2. */
static void sin_cos(ball *sine, ball *cosine, const ball *a) {
  double h, l, e;
  ball low = {a->lo, 0.0, a->err}, t;
  for (int turn = 0; turn < 2; turn++) {
    int64_t k;
    rm_sin_reduce_any(a->hi, &k, &h, &l, &e);
    k += 8 * turn;
    rm_sin_reduced_dd(k, h, l, e, &h, &l, &e);
    ball *const to = turn ? cosine : sine;
    rm_dd_ball_finish(to, h, l, 1, e);
    if (k >> 4 & 1) rm_dd_ball_neg(to, to);
  }
  const double off = size_of(&low);
  if (off == 0.0) return;
  const ball s = *sine;
  ball_mul(&t, cosine, &low);
  ball_add(sine, sine, &t);
  ball_mul(&t, &s, &low);
  ball_sub(cosine, cosine, &t);
  rm_gamma_widen(sine, off * off);
  rm_gamma_widen(cosine, off * off);
}

/* The sums of y^k/(k! (k + nu)!) and of h_k times that, h_k = H_k or 2 H_k + 1/(k + 1). Once a term is below a ninth
 * of the one before, with h_k at most twice the one before, the rest of both sums is below the last terms. */
static void bessel_sums(const shared *s, ball *plain, ball *weighted, const ball *y, int nu, double small) {
  ball term, h, t;
  number(&term, 1.0);
  *plain = term;
  number(weighted, nu ? 1.0 : 0.0);
  for (int k = 1; k < TERMS - 1; k++) {
    ball_mul(&term, &term, y);
    ball_mul(&term, &term, &s->inverse[k]);
    if (k + nu > 1) ball_mul(&term, &term, &s->inverse[k + nu]);
    h = s->harmonic[k];
    if (nu) {
      rm_dd_ball_scale(&h, &h, 1);
      ball_add(&h, &h, &s->inverse[k + 1]);
    }
    ball_mul(&t, &term, &h);
    ball_add(plain, plain, &term);
    ball_add(weighted, weighted, &t);
    if (__builtin_fabs(t.hi) < small && 9.0 * __builtin_fabs(y->hi) < (double)(k * (k + nu))) {
      rm_gamma_widen(plain, size_of(&t));
      rm_gamma_widen(weighted, size_of(&t));
      return;
    }
  }
  rm_dd_ball_unknown(plain);
}

/* K (sign 1), or pi/2 Y (sign -1), by the series of DLMF 10.8 and 10.31. */
static void second_kind(const shared *s, ball *r, double x, int nu, int sign, double small) {
  ball y, plain, weighted, log;
  number(&y, x);
  ball_mul(&y, &y, &y);
  rm_dd_ball_scale(&y, &y, -2);
  if (sign < 0) rm_dd_ball_neg(&y, &y);
  bessel_sums(s, &plain, &weighted, &y, nu, small);
  rm_lgamma_log(&log, 0.5 * x);
  ball_add(&log, &log, &s->euler);
  ball_mul(&plain, &plain, &log);
  if (nu == 0) {
    ball_sub(r, &weighted, &plain);
    if (sign < 0) rm_dd_ball_neg(r, r);
    return;
  }
  rm_dd_ball_scale(&weighted, &weighted, -1);
  ball_sub(&plain, &plain, &weighted);
  times(&plain, 0.5 * x);
  number(&y, x);
  number(r, (double)sign);
  rm_dd_ball_div(r, r, &y);
  ball_add(r, r, &plain);
}

/* Asymptotic expansions with terms t_k = above(k)/(below(k) z) t_(k-1): kind 0 and 1 are Bessel's functions of these
 * orders, 4 nu^2 - (2k - 1)^2 over 8k; kind 2 is Airy's, (6k - 5)(6k - 1) over 72k. `even` gets the sum of all terms
 * with alternating signs, or those of even k, and then `odd` those of odd k, whose signs alternate likewise. The rest
 * of each is at most its first term that is left out (DLMF 10.17(iii), 10.40(ii), 9.7(iii)), which the last two terms
 * bound as long as the terms fall. Order 1 has one positive factor, 3, then negative ones: its terms count as negative
 * from the second one on. Of Bessel's functions Q is -odd. */
static void expansion(const shared *s, ball *even, ball *odd, const ball *z, int kind, double small) {
  ball term, inverse, *to;
  number(&term, 1.0);
  rm_dd_ball_div(&inverse, &term, z);
  number(even, 0.0);
  if (odd) number(odd, 0.0);
  double before = 2.0;
  for (int k = 0; k < TERMS; k++) {
    const double size = __builtin_fabs(term.hi);
    if (k > 2 && (size < 0.25 * small || size > 0.99 * before)) {
      const double rest = 4.0 * (before < 1.0 ? before : 1.0) + term.err;
      rm_gamma_widen(even, size < 0.25 * small ? size_of(&term) * 2.0 : rest);
      if (odd) rm_gamma_widen(odd, size < 0.25 * small ? size_of(&term) * 2.0 : rest);
      return;
    }
    to = odd && k % 2 ? odd : even;
    if ((odd ? k / 2 : k) % 2) ball_sub(to, to, &term);
    else ball_add(to, to, &term);
    before = size;
    const double j = (double)(k + 1);
    const double factor =
        kind == 2 ? (6.0 * j - 5.0) * (6.0 * j - 1.0) : 4.0 * (double)kind - (2.0 * j - 1.0) * (2.0 * j - 1.0);
    if (k + 1 == TERMS) break;
    ball_mul(&term, &term, &inverse);
    ball_mul(&term, &term, &s->inverse[k + 1]);
    times(&term, kind == 2 ? factor : kind == 1 && k == 0 ? -factor : __builtin_fabs(factor));
    if (kind == 2) ball_mul(&term, &term, &s->inverse[9]);
    rm_dd_ball_scale(&term, &term, -3);
  }
  rm_dd_ball_unknown(even);
}

/* e^z K_nu(z), the integral of f(t) = exp(-z (cosh t - 1)) cosh(nu t) over t >= 0, by the trapezoidal rule of step h =
 * 1/8, for 2 <= z <= 26. Of an even entire function its error is the sum of the Fourier transforms at 2 pi m/h, m >= 1,
 * each at most e^(-2 pi m d/h) times the integral of |f(t + i d)| over all t, and this is at most 2 e^z K_nu(z cos d),
 * as |cosh nu(t + i d)| <= cosh nu t. With d = 3/2, cos d > 0.0707 and 2 pi d/h > 75.39 the error is below e^z
 * K_1(0.0707 z) e^-75.39 2.01 < 2^-72, which is largest at z = 26. Once e^(-z (cosh t - 1)) is below 2^-80, z sinh t >
 * 55, and terms fall by e^(h - 55 h): the last one bounds the rest. That is before t = 4.5, where z (cosh t - 1) > 88. */
static void trapezoid(const shared *s, ball *r, const ball *z, const ball *weights) {
  ball e, sum;
  number(&sum, 0.5);
  for (int k = 1;; k++) {
    if (k == NODES) {
      rm_gamma_widen(&sum, size_of(&e));
      break;
    }
    ball_mul(&e, z, &s->less[k]);
    rm_dd_ball_neg(&e, &e);
    rm_dd_ball_exp(&e, &e);
    if (weights) ball_mul(&e, &e, weights + k);
    ball_add(&sum, &sum, &e);
    if (e.hi < 0x1p-80) {
      rm_gamma_widen(&sum, size_of(&e));
      break;
    }
  }
  rm_dd_ball_scale(r, &sum, -3);
  rm_gamma_widen(r, 0x1p-72);
}

static void modified_k(const shared *s, ball *r, double x, int nu, int scaled, double small) {
  ball z, t;
  number(&z, x);
  if (x < 2.0) {
    second_kind(s, r, x, nu, 1, small);
    if (!scaled) return;
    rm_dd_ball_exp(&t, &z);
  } else {
    if (x < 26.0) {
      trapezoid(s, r, &z, nu ? s->weight : NULL);
    } else {
      expansion(s, r, NULL, &z, nu, small);
      rm_dd_ball_scale(&t, &s->pi, -1);
      rm_dd_ball_div(&t, &t, &z);
      rm_dd_ball_sqrt(&t, &t);
      ball_mul(r, r, &t);
    }
    if (scaled) return;
    rm_dd_ball_neg(&t, &z);
    rm_dd_ball_exp(&t, &t);
  }
  ball_mul(r, r, &t);
}

static void bessel_y(const shared *s, ball *r, double x, int nu, double small) {
  ball z, p, q, sine, cosine, less, more;
  number(&z, x);
  if (x < 25.0) {
    second_kind(s, r, x, nu, -1, small);
    rm_dd_ball_scale(r, r, 1);
    rm_dd_ball_div(r, r, &s->pi);
    return;
  }
  expansion(s, &p, &q, &z, nu, small);
  rm_dd_ball_neg(&q, &q);
  sin_cos(&sine, &cosine, &z);
  ball_sub(&less, &sine, &cosine);
  ball_add(&more, &sine, &cosine);
  if (nu) {
    z = less, less = more, more = z;
    rm_dd_ball_neg(&less, &less);
    number(&z, x);
  }
  ball_mul(&p, &p, &less);
  ball_mul(&q, &q, &more);
  ball_add(&p, &p, &q);
  ball_mul(&z, &z, &s->pi);
  rm_dd_ball_sqrt(&z, &z);
  rm_dd_ball_div(r, &p, &z);
}

/* Ai by its series, whose two parts have falling terms once 2 |x|^3 is below k (k - 1); by K_(1/3) for 2 <= zeta <= 26,
 * and by its expansions. */
static void airy(const shared *s, ball *r, double x, double small) {
  ball z, root, zeta, p, q, t;
  const double size = __builtin_fabs(x);
  number(&z, size);
  rm_dd_ball_sqrt(&root, &z);
  ball_mul(&zeta, &root, &z);
  rm_dd_ball_scale(&zeta, &zeta, 1);
  ball_mul(&zeta, &zeta, &s->inverse[3]);
  if (size < 0x1p-100 || size > 0x1p100) {
    rm_dd_ball_unknown(r);
  } else if (x < 0.0 ? zeta.hi < 25.0 : zeta.hi < 2.5) {
    ball cube, sums[2];
    number(&t, x);
    ball_mul(&cube, &t, &t);
    ball_mul(&cube, &cube, &t);
    for (int first = 0; first < 2; first++) {
      ball term = t;
      if (!first) number(&term, 1.0);
      sums[first] = term;
      for (int k = 3; k < TERMS; k += 3) {
        ball_mul(&term, &term, &cube);
        ball_mul(&term, &term, &s->inverse[k + first]);
        ball_mul(&term, &term, &s->inverse[k + first - 1]);
        ball_add(&sums[first], &sums[first], &term);
        if (size_of(&term) < small * size && 3.0 * __builtin_fabs(cube.hi) < (double)(k * (k - 1))) break;
        if (k + 3 >= TERMS) rm_dd_ball_unknown(&sums[first]);
      }
      rm_gamma_widen(&sums[first], size_of(&term));
    }
    constant(&p, 0x1.6b8c7962715b8p-2, 0x1.7a96d7bb04e65p-56);
    constant(&q, 0x1.0907f42b70f8bp-2, -0x1.d1459035afde2p-56);
    ball_mul(&p, &p, &sums[0]);
    ball_mul(&q, &q, &sums[1]);
    ball_sub(r, &p, &q);
  } else if (x > 0.0) {
    if (zeta.hi < 26.0) {
      trapezoid(s, &p, &zeta, s->third);
      ball_mul(&t, &z, &s->inverse[3]);
      rm_dd_ball_sqrt(&t, &t);
      ball_mul(&p, &p, &t);
      rm_dd_ball_div(&p, &p, &s->pi);
    } else {
      expansion(s, &p, NULL, &zeta, 2, small);
      ball_mul(&t, &root, &s->pi);
      rm_dd_ball_sqrt(&t, &t);
      rm_dd_ball_scale(&t, &t, 1);
      rm_dd_ball_div(&p, &p, &t);
    }
    rm_dd_ball_neg(&t, &zeta);
    rm_dd_ball_exp(&t, &t);
    ball_mul(r, &p, &t);
  } else {
    ball sine, cosine, more;
    expansion(s, &p, &q, &zeta, 2, small);
    sin_cos(&sine, &cosine, &zeta);
    ball_add(&more, &sine, &cosine);
    ball_sub(&sine, &sine, &cosine);
    ball_mul(&p, &p, &more);
    ball_mul(&q, &q, &sine);
    ball_add(&p, &p, &q);
    ball_mul(&t, &root, &s->pi);
    rm_dd_ball_scale(&t, &t, 1);
    rm_dd_ball_sqrt(&t, &t);
    rm_dd_ball_div(r, &p, &t);
  }
}

/* (q + k)^-s. */
static void power(ball *r, double s, double q, double k) {
  ball t, e;
  number(&t, q);
  plus(&t, k);
  rm_dd_ball_log(&e, &t);
  times(&e, -s);
  rm_dd_ball_exp(r, &e);
}

/* Of q > 0: terms to a = q + n >= 16 + s/2, or 10 + s/2, then Euler's and Maclaurin's formula, whose rest is at most the
 * first term left out. */
static void zeta_of(ball *r, double order, double q, double small) {
  ball term, a, inverse, rising, t, at;
  const double until = (small < 0x1p-100 ? 16.0 : 10.0) + 0.5 * order;
  if (!(q > 0.0 && q < 0x1p200 && order < 600.0 && order > 1.0)) {
    rm_dd_ball_unknown(r);
    return;
  }
  number(r, 0.0);
  int n = 0;
  for (; q + (double)n < until; n++) {
    power(&term, order, q, (double)n);
    ball_add(r, r, &term);
    /* The rest from a = q + n + 1 on is at most a^-s (1 + a/(s - 1)), and a < 2^9. */
    if (order > 3.0 && n > 0 && term.hi < r->hi * (0x1p20 * small)) {
      rm_gamma_widen(r, size_of(&term) * 0x1p10);
      return;
    }
  }
  number(&a, q);
  plus(&a, (double)n);
  power(&at, order, q, (double)n);
  number(&t, 1.0);
  rm_dd_ball_div(&inverse, &t, &a);
  number(&t, order);
  plus(&t, -1.0);
  rm_dd_ball_div(&t, &a, &t);
  plus(&t, 0.5);
  ball_mul(&t, &t, &at);
  ball_add(r, r, &t);
  number(&rising, order);
  ball_mul(&rising, &rising, &inverse);
  ball_mul(&rising, &rising, &at);
  for (int j = 0; j < BERNOULLI; j++) {
    constant(&t, bernoulli[2 * j], bernoulli[2 * j + 1]);
    ball_mul(&t, &t, &rising);
    if (j == BERNOULLI - 1 || __builtin_fabs(t.hi) < r->hi * (0x1p10 * small)) {
      rm_gamma_widen(r, size_of(&t));
      return;
    }
    ball_add(r, r, &t);
    for (int i = 1; i <= 2; i++) {
      number(&t, order);
      plus(&t, (double)(2 * j + i));
      ball_mul(&rising, &rising, &t);
      ball_mul(&rising, &rising, &inverse);
    }
  }
}

/* x^a e^-x over Gamma(a + 1), times a/x where `below`. */
static void gamma_factor(ball *r, double a, double x, int below) {
  ball t, gamma;
  rm_lgamma_log(r, x);
  number(&t, a);
  if (below) plus(&t, -1.0);
  ball_mul(r, r, &t);
  plus(r, -x);
  if (a == 1.0 || a == 2.0) number(&gamma, 0.0);
  else rm_lgamma_dd_ball(&gamma, a);
  ball_sub(r, r, &gamma);
  if (!below) {
    rm_lgamma_log(&t, a);
    ball_sub(r, r, &t);
  }
  rm_dd_ball_exp(r, r);
}

/* F = 1/(x + (1 - b)/(1 + 1/(x + (2 - b)/(1 + 2/(x + ...))))), 0 < b <= 1, between consecutive convergents, as all
 * numbers are positive. */
static void fraction(ball *r, const ball *b, double x, double small) {
  ball ends[2], t, one;
  const int n = (int)((small < 0x1p-100 ? 160.0 : 80.0) / x) + 8;
  number(&one, 1.0);
  for (int which = 0; which < 2; which++) {
    ball *const v = &ends[which];
    /* The innermost denominator is x of level n, or 1 of the next half. */
    number(v, x);
    if (which) {
      number(&t, (double)n + 1.0);
      ball_sub(&t, &t, b);
      ball_add(v, v, &t);
    }
    for (int k = n; k > 0; k--) {
      number(&t, (double)k);
      rm_dd_ball_div(&t, &t, v);
      ball_add(&t, &t, &one);
      number(v, (double)k);
      ball_sub(v, v, b);
      rm_dd_ball_div(v, v, &t);
      plus(v, x);
    }
    rm_dd_ball_div(v, &one, v);
  }
  ball_sub(&t, &ends[0], &ends[1]);
  *r = ends[0];
  rm_gamma_widen(r, size_of(&t));
}

/* P(a, x) below a + 1 or 2, by DLMF 8.7.1; else Q(a, x) = D (1 + (a - 1)/x + (a - 1)(a - 2)/x^2 + ... + x F), D = x^(a
 * - 1) e^-x/Gamma(a), the last product of order b = a - m, 0 < b <= 1. Then 1 less that, where this is asked for. */
static void incomplete_gamma(ball *r, double a, double x, int upper, double small) {
  ball sum, term, t, factor;
  if (!(a > 0x1p-100 && a < 0x1p20 && x > 0x1p-100 && x < 0x1p21)) {
    rm_dd_ball_unknown(r);
    return;
  }
  const int lower = x < a + 1.0 || x < 2.0;
  number(&sum, 1.0);
  term = sum;
  gamma_factor(&factor, a, x, !lower);
  if (lower) {
    for (int k = 1;; k++) {
      number(&t, a);
      plus(&t, (double)k);
      times(&term, x);
      rm_dd_ball_div(&term, &term, &t);
      ball_add(&sum, &sum, &term);
      /* Terms fall by x/(a + k + 1) and more, so the rest is below term times (a + k + 1)/(a + k + 1 - x). */
      const double ahead = a + (double)k + 1.0, rest = size_of(&term) * (ahead / (ahead - x)) * 1.01;
      if (k > 4 && ahead - x > 0.5 && rest < sum.hi * (0x1p20 * small)) {
        rm_gamma_widen(&sum, rest);
        break;
      }
      if (k == 4096) {
        rm_dd_ball_unknown(r);
        return;
      }
    }
  } else {
    const int m = (int)a - (a == (double)(int)a);
    int k = 1;
    for (; k <= m; k++) {
      number(&t, a);
      plus(&t, -(double)k);
      ball_mul(&term, &term, &t);
      number(&t, x);
      rm_dd_ball_div(&term, &term, &t);
      if (k < m) ball_add(&sum, &sum, &term);
      if (term.hi < small) break; /* the rest: fewer than m falling terms, and x F < 1 times one */
      if (k == 4096) {
        rm_dd_ball_unknown(r);
        return;
      }
    }
    if (k <= m) {
      rm_gamma_widen(&sum, size_of(&term) * ((double)m + 2.0));
    } else {
      ball b;
      number(&b, a);
      plus(&b, -(double)m);
      fraction(&t, &b, x, small);
      times(&t, x);
      ball_mul(&t, &t, &term);
      if (m == 0) sum = t;
      else ball_add(&sum, &sum, &t);
    }
  }
  ball_mul(r, &factor, &sum);
  if (upper == lower) subtract_from(r, 1.0);
}

/* e^a for the logarithm a of a gamma or beta function, as a square, which is finite as long as the value is. */
static void exp_of(ball *r, const ball *a) {
  ball t = *a;
  rm_dd_ball_scale(&t, &t, -1);
  rm_dd_ball_exp(&t, &t);
  ball_mul(r, &t, &t);
}

/* Gamma(x). Left out are integers, at which it is one or has no value, and numbers at which binary64 has 0 or infinity. */
static void gamma_of(ball *r, double x) {
  ball t;
  if (!(x > -192.0 && x < 172.0)) return;
  const int floor = (int)x - (x < (double)(int)x);
  if (x == (double)floor) return;
  if (x > -0.5) rm_lgamma_dd_ball(&t, x);
  else rm_lgamma_reflected_dd_ball(&t, x);
  exp_of(r, &t);
  if (x < 0.0 && floor & 1) rm_dd_ball_neg(r, r);
}

/* B(a, b) of positive numbers; 1/b of a = 1, which may be a boundary of rounding, is left out. */
static void beta_of(ball *r, double a, double b) {
  ball t;
  if (!(a > 0.0 && b > 0.0) || a == 1.0 || b == 1.0) return;
  rm_betaln_dd_ball(&t, a < b ? a : b, a < b ? b : a, 0);
  exp_of(r, &t);
}

/* sin(x)/x; below 1/1024 1 - x^2/6 + x^4/120 - x^6/5040 within x^8/362880. */
static void spherical(const shared *s, ball *r, double x) {
  ball z, cosine;
  number(&z, __builtin_fabs(x));
  if (z.hi < 0x1p-200 || z.hi > 0x1p900) {
    rm_dd_ball_unknown(r);
  } else if (z.hi < 0x1p-10) {
    ball_mul(&z, &z, &z);
    const double next = z.hi * z.hi * z.hi * z.hi;
    number(r, 1.0);
    for (int k = 7; k > 2; k -= 2) {
      ball_mul(r, r, &z);
      ball_mul(r, r, &s->inverse[k]);
      ball_mul(r, r, &s->inverse[k - 1]);
      subtract_from(r, 1.0);
    }
    rm_gamma_widen(r, next);
  } else {
    sin_cos(r, &cosine, &z);
    rm_dd_ball_div(r, r, &z);
  }
}

static void value(const problem *p, ball *r, double a, double x) {
  const shared *const s = &kept;
  const int f = p->function;
  const double small = p->format == RM_F64 ? 0x1p-110 : 0x1p-72;
  rm_dd_ball_unknown(r);
  if (!rm_is_finite(x) || !rm_is_finite(a)) return;
  if (f == RM_SPECIAL_SPHERICAL_J0) spherical(s, r, x);
  else if (f == RM_SPECIAL_AIRY_AI) airy(s, r, x, small);
  else if (f == RM_SPECIAL_ZETA) zeta_of(r, a, x, small);
  else if (f == RM_SPECIAL_IGAMMA || f == RM_SPECIAL_IGAMMAC) incomplete_gamma(r, a, x, f == RM_SPECIAL_IGAMMAC, small);
  else if (f == RM_SPECIAL_GAMMA) gamma_of(r, x);
  else if (f == RM_SPECIAL_BETA) beta_of(r, a, x);
  else if (!(x > 0x1p-200 && x < 0x1p200)) return;
  else if (f <= RM_SPECIAL_Y1) bessel_y(s, r, x, f - RM_SPECIAL_Y0, small);
  else modified_k(s, r, x, (f - RM_SPECIAL_K0) % 2, f >= RM_SPECIAL_K0E, small);
}

static int is_whole(double x) { return __builtin_fabs(x) >= 0x1p53 || x == (double)(int64_t)x; }

/* Values that are known at once, as docs/spec.md has them: NaN, infinities and 0. The others are left to the caller. */
static int special_value(int f, double a, double x, double *known) {
  const double infinity = __builtin_inf();
  *known = __builtin_nan("");
  if (x != x) return 1;
  if (f <= RM_SPECIAL_K1E) {
    if (x == 0.0) *known = f <= RM_SPECIAL_Y1 ? -infinity : infinity;
    if (x == infinity) *known = 0.0;
    return x <= 0.0 || x == infinity;
  }
  if (f <= RM_SPECIAL_AIRY_AI) {
    *known = 0.0;
    return __builtin_fabs(x) == infinity;
  }
  if (f == RM_SPECIAL_ZETA) {
    if (!(a >= 1.0)) return 1;
    *known = infinity;
    if (a == 1.0 || (x <= 0.0 && x > -infinity && is_whole(x))) return 1;
    *known = x == infinity ? 0.0 : __builtin_nan("");
    return x == infinity || x == -infinity || (x < 0.0 && (a == infinity || !is_whole(a)));
  }
  return f <= RM_SPECIAL_IGAMMAC && (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (a == infinity && x == infinity));
}

static void one(const problem *p, int64_t i) {
  double at_once;
  p->undecided[i] = 0;
  if (p->function < RM_SPECIAL_GAMMA && special_value(p->function, p->a ? p->a[i] : 0.0, p->x[i], &at_once)) {
    const uint64_t sign = at_once < 0.0 ? (uint64_t)1 << (8 * rm_size_of(p->format) - 1) : 0;
    const uint64_t found = at_once != at_once ? rm_nan_bits(p->format)
                           : at_once == 0.0   ? 0
                                              : sign | rm_infinity_bits(p->format);
    rm_write_bits(p->out + i * rm_size_of(p->format), found, p->format);
    return;
  }
  ball r;
  uint64_t bits = 0;
  uint32_t flags = 0;
  value(p, &r, p->a ? p->a[i] : 0.0, p->x[i]);
  /* Positive values that are 0 in the narrower formats. */
  const int positive = p->function >= RM_SPECIAL_K0 && p->function != RM_SPECIAL_SPHERICAL_J0 && p->x[i] > 0.0;
  const int nothing = positive && p->format != RM_F64 && size_of(&r) < 0x1p-200;
  const int known = nothing || (r.hi != 0.0 && rm_dd_ball_round(&r, p->format, RM_NEAREST, &flags, &bits));
  if (known) rm_write_bits(p->out + i * rm_size_of(p->format), bits, p->format);
  p->undecided[i] = (uint8_t)!known;
}
static uint32_t part(const void *context, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) one(context, i);
  return 0;
}
/* gamma by vectors (kernels.c); what its bound leaves undecided as above. The last chunk is filled up by its first
 * element. */
static uint32_t quick_part(const void *context, int64_t begin, int64_t end) {
  const problem *p = context;
  const rm_special_problem q = {.format = p->format};
  rm_special_chunk chunk;
  for (int64_t i = begin; i < end; i += RM_SPECIAL_CHUNK) {
    const int count = end - i < RM_SPECIAL_CHUNK ? (int)(end - i) : RM_SPECIAL_CHUNK;
    for (int j = 0; j < RM_SPECIAL_CHUNK; j++) {
      const int64_t at = i + (j < count ? j : 0);
      chunk.x[j] = p->x[at];
    }
    rm_special_kernels()->values(&q, &chunk, count, 1);
    for (int j = 0; j < count; j++) {
      const double x = chunk.x[j];
      const int odd = x <= -0.5 && rm_is_finite(chunk.err[j]) && ((int)x - (x < (double)(int)x)) & 1;
      const double sign = odd ? -1.0 : 1.0;
      char *const to = p->out + (i + j) * rm_size_of(p->format);
      p->undecided[i + j] = 0;
      if (!rm_special_round(p->format, sign * chunk.hi[j], sign * chunk.lo[j], chunk.err[j], to)) one(p, i + j);
    }
  }
  return 0;
}

rm_status rm_special_values(int function, int format, int64_t n, const double *a, const double *x, void *out,
                            uint8_t *undecided, int64_t *left) {
  if (function < RM_SPECIAL_Y0 || function > RM_SPECIAL_BETA) return RM_STATUS(RM_ERR_ENUM, 1);
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  if (!left) return RM_STATUS(RM_ERR_NULL, 8);
  *left = 0;
  if (n == 0) return RM_OK;
  if (!a && function >= RM_SPECIAL_ZETA && function != RM_SPECIAL_GAMMA) return RM_STATUS(RM_ERR_NULL, 4);
  if (!x) return RM_STATUS(RM_ERR_NULL, 5);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  if (!undecided) return RM_STATUS(RM_ERR_NULL, 7);
  if (!rm_special_kernels()) return RM_ERR_ISA;
  const rm_env env = rm_env_enter();
  const int quick = function == RM_SPECIAL_GAMMA;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!quick) (void)pthread_once(&once, fill);
  const problem p = {.function = function, .format = format, .a = a, .x = x, .out = out, .undecided = undecided};
  rm_in_parts(n, quick ? QUICK : GRAIN, quick ? quick_part : part, &p);
  rm_env_leave(env, 0);
  for (int64_t i = 0; i < n; i++) *left += undecided[i];
  return RM_OK;
}
