/* The accurate phase of optimiser steps evaluates each quantity of an element in double-double, then in balls, and takes the
 * limit of the formula where an operand is not finite. It is also device code. */
#include <stddef.h>

#include "../../../crlibm/enclosure/ball.h"
#include "../../../crlibm/fp/exact.h"
#include "../../../crlibm/enclosure/dd_ball.h"
#include "args.h"

#define RM_NUM dd_ball
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "formula.inc"
#undef RM_NUM

/* On which side of a boundary q of rounding Adam's p' lies: the sign of p' - q, or RM_SIGN_UNKNOWN.
 *
 * With x = beta1^t, y = beta2^t, X = a p - q, L = lr m, E = eps X and G = L - E it is the sign of A - B, A = X (1 - x)
 * sqrt(s/(1 - y)), B = G + E x: the difference of X and the quotient times positive numbers. Where A and B have one sign it
 * is that sign times the sign of
 *   F = s X^2 (1 - x)^2 - (1 - y) (G + E x)^2 = c00 + c10 x + c20 x^2 + y (G^2 + 2 G E x + E^2 x^2),
 *   c00 = s X^2 - G^2, c10 = -2 (s X^2 + G E), c20 = s X^2 - E^2.
 * The coefficients are exact: a p is a multiple of 2^-3222 below 2^3073, q no longer, so that those of F are multiples of
 * 2^-8592 below 2^8200. Where powers are too small to be seen beside c00 = 0, F is taken relatively to the larger one, z: F/z
 * = (x/z)(c10 + c20 x + 2 G E y + E^2 x y) + (y/z) G^2. So F is found wherever no two different terms cancel to the precision
 * n of the powers; with powers that fit, however they cancel. Since F is a multiple of 2^-(8592 + t (2 k1 + k2)), beta's
 * being multiples of 2^-k1 and 2^-k2, it is 0 where it is nearer to 0 than that. */
typedef struct {
  rm_ball x, y, x_z, y_z; /* x/z and y/z; all 0 when both are */
  /* F is 0 or at least 2^separation; beyond t = 2^40, where that is not computed, no interval is below 2^separation. */
  int64_t separation;
} rm_step_powers;

RM_STATIC int64_t rm_fraction_bits(double beta) { /* beta is a multiple of 2^-k, k the result */
  int e;
  if (beta == 0.0) return 0;
  const uint64_t m = rm_decompose(beta, &e);
  return rm_clz64(m & (0 - m)) - 63 - e;
}

RM_COLD void rm_step_powers_of(rm_step_powers *w, const rm_optimizer *o, int n) {
  rm_ball one, ratio;
  const int64_t fractions = 2 * rm_fraction_bits(o->beta1) + rm_fraction_bits(o->beta2);
  const int first = o->beta1 >= o->beta2;
  rm_ball_set(&w->x, o->beta1, n);
  rm_ball_pow(&w->x, &w->x, (uint64_t)o->t);
  rm_ball_set(&w->y, o->beta2, n);
  rm_ball_pow(&w->y, &w->y, (uint64_t)o->t);
  rm_ball_set(&one, first ? o->beta1 : o->beta2, n);
  rm_ball_set(&ratio, first ? o->beta2 : o->beta1, n);
  if (o->beta1 == o->beta2) rm_ball_set_u64(&ratio, o->beta1 != 0.0, n);
  else rm_ball_div(&ratio, &ratio, &one);
  rm_ball_pow(&ratio, &ratio, (uint64_t)o->t);
  rm_ball_set_u64(&one, o->beta1 != 0.0 || o->beta2 != 0.0, n);
  rm_ball_copy(first ? &w->x_z : &w->y_z, &one);
  rm_ball_copy(first ? &w->y_z : &w->x_z, &ratio);
  w->separation = o->t > (INT64_C(1) << 40) ? -RM_BALL_EXPONENT : -8592 - o->t * fractions;
}

/* r = u v + r */
RM_COLD void rm_ball_add_product(rm_ball *r, const rm_ball *u, const rm_ball *v) {
  rm_ball t;
  rm_ball_mul(&t, u, v);
  rm_ball_add(r, r, &t);
}

/* The sign of F; square = s X^2. f and t are room. */
RM_COLD int rm_adam_sign_of_f(const rm_step_powers *w, const rm_ball *square, const rm_ball *g, const rm_ball *e, rm_ball *f,
                              rm_ball *t) {
  rm_ball c00, ge;
  rm_ball_mul(&ge, g, e);
  rm_ball_mul(&c00, g, g);
  rm_ball_sub(&c00, square, &c00);
  const int flat = rm_ball_is_zero(&c00);
  /* f = c10 + c20 x + 2 G E y + E^2 x y */
  rm_ball_mul(f, e, e);
  rm_ball_mul(f, f, &w->y);
  rm_ball_add(f, f, square);
  rm_ball_mul(t, e, e);
  rm_ball_sub(f, f, t);
  rm_ball_mul(f, f, &w->x);
  rm_ball_add(t, square, &ge);
  rm_ball_scale(t, t, 1);
  rm_ball_sub(f, f, t);
  rm_ball_scale(&ge, &ge, 1);
  rm_ball_add_product(f, &ge, &w->y);
  rm_ball_mul(f, f, flat ? &w->x_z : &w->x);
  rm_ball_mul(t, g, g);
  rm_ball_add_product(f, t, flat ? &w->y_z : &w->y);
  rm_ball_add(f, f, &c00);
  const int sign = rm_ball_sign(f);
  if (sign != RM_SIGN_UNKNOWN || rm_ball_is_unknown(f)) return sign;
  const int64_t top_z = flat ? rm_ball_max(rm_ball_top(&w->x), rm_ball_top(&w->y)) : 0;
  return rm_ball_top(f) + top_z < w->separation ? 0 : sign;
}

RM_COLD int rm_adam_side(const rm_optimizer *o, const rm_step_powers *w, const rm_ball *q, double p, double m, double s) {
  enum { N = RM_BALL_LIMBS };
  rm_ball x, l, e, t, f;
  rm_ball_set_u64(&x, 1, N); /* x = X */
  if (o->decoupled) {
    rm_ball_set(&t, o->lr, N);
    rm_ball_set(&e, o->decay, N);
    rm_ball_mul(&t, &t, &e);
    rm_ball_sub(&x, &x, &t);
  }
  rm_ball_set(&t, p, N);
  rm_ball_mul(&x, &x, &t);
  rm_ball_sub(&x, &x, q);
  rm_ball_set(&l, m, N); /* l = L, then G */
  rm_ball_set(&t, o->lr, N);
  rm_ball_mul(&l, &l, &t);
  rm_ball_set(&e, o->eps, N);
  rm_ball_mul(&e, &e, &x);
  rm_ball_sub(&l, &l, &e);
  rm_ball_mul(&t, &e, &w->x); /* B */
  rm_ball_add(&t, &l, &t);
  const int above = s == 0.0 ? 0 : rm_ball_sign(&x);
  int below = rm_ball_sign(&t);
  if (below == RM_SIGN_UNKNOWN && rm_ball_is_zero(&l)) below = rm_ball_sign(&e); /* x > 0 */
  if (above == 0) return below == RM_SIGN_UNKNOWN ? below : -below;
  if (below == 0 || below == -above) return above;
  rm_ball_set(&t, s, N); /* then x = s X^2 */
  rm_ball_mul(&x, &x, &x);
  rm_ball_mul(&x, &x, &t);
  const int sign = rm_adam_sign_of_f(w, &x, &l, &e, &f, &t);
  if (sign == RM_SIGN_UNKNOWN) return sign;
  if (below != RM_SIGN_UNKNOWN) return above * sign;
  return sign > 0 ? above : RM_SIGN_UNKNOWN; /* |A| > |B|, whatever the sign of B */
}

/* The boundary of rounding between two neighbours of a format, `near` the one of smaller magnitude, `far` perhaps infinite:
 * their middle; under stochastic rounding near + T (far - near) with the threshold T of the word; under random rounding the
 * one of them that no number beyond it, or before it, gives, and so under the modes of IEEE 754. Above the largest number the
 * distance is that below it. */
RM_COLD void rm_boundary_between(rm_ball *q, uint64_t near, uint64_t far, int format, rm_mode mode) {
  rm_ball t, share;
  const int endless = (far & ~rm_sign_bit(format)) == rm_infinity_bits(format);
  rm_ball_set(q, rm_to_double(near, format), RM_BALL_LIMBS);
  rm_ball_set(&t, rm_to_double(endless ? near - 1 : far, format), RM_BALL_LIMBS);
  rm_ball_sub(&t, &t, q);
  if (endless) rm_ball_neg(&t, &t);
  const int kind = rm_mode_kind(mode), outwards = near & rm_sign_bit(format) ? RM_DOWN : RM_UP;
  if (kind == RM_RANDOM || (kind != RM_NEAREST && kind < RM_STOCHASTIC)) {
    if (kind == RM_RANDOM ? rm_mode_word(mode) >> 31 : kind == outwards) return;
  } else if (kind == RM_STOCHASTIC) {
    rm_ball_set_u64(&share, 2 * (uint64_t)rm_mode_word(mode) + 1, RM_BALL_LIMBS);
    rm_ball_mul(&t, &t, &share);
    rm_ball_scale(&t, &t, -33);
  } else {
    rm_ball_scale(&t, &t, -1);
  }
  rm_ball_add(q, q, &t);
}

/* Adam's p' within r, when r holds one boundary of rounding, by the side on which it lies. Around 0 that is 0 itself where
 * both ends become zeros; where a mode gives numbers of the format alone themselves also where they become the least numbers,
 * or one of them does. */
RM_COLD int rm_adam_beside_boundary(const rm_optimizer *o, const rm_ball *r, double p, double m, double s, int n,
                                    rm_mode mode, uint32_t *flags, uint64_t *bits) {
  const uint64_t one = 1, sign = rm_sign_bit(o->format);
  const uint64_t least = rm_mode_kind(mode) != RM_NEAREST && rm_mode_kind(mode) != RM_STOCHASTIC;
  rm_ball_ends ends;
  rm_step_powers w;
  rm_ball q, hair;
  if (!rm_ball_round_ends(r, o->format, mode, &ends)) return 0;
  if (ends.zero) {
    if (((ends.near | ends.far) & ~sign) > least) return 0;
    rm_ball_set_u64(&q, 0, RM_BALL_LIMBS);
  } else {
    if (ends.far != ends.near + 1) return 0;
    rm_boundary_between(&q, ends.near, ends.far, o->format, mode);
  }
  rm_step_powers_of(&w, o, n);
  const int side = rm_adam_side(o, &w, &q, p, m, s);
  if (side == RM_SIGN_UNKNOWN) return 0;
  rm_ball_store(&hair, side < 0, &one, side != 0, -1200, 0.0,
                RM_BALL_LIMBS); /* below half of every step between boundaries, thresholds too */
  rm_ball_add(&q, &q, &hair);
  return rm_ball_round(&q, o->format, mode, flags, bits);
}

/* The last phase. The states and SGD's parameter are sums of products of at most five binary64 numbers, multiples of 2^-5370
 * below 2^4100: at 512 limbs they are exact, so they are decided.
 *
 * Adam's p' is on a boundary of rounding, or beside one by less than any precision shows, where its limit for x = y = 0 is a
 * boundary. So when a precision leaves one boundary, the side is asked for. That stays unknown only where the powers, cut to
 * 512 limbs, cancel to more than 30,000 bits without being equal: then RM_STEP_UNDECIDED is among the flags and the result is
 * NaN. */
RM_COLD uint64_t rm_step_decide_in_balls(int which, const rm_optimizer *o, rm_mode mode, double p, double g, double m,
                                         double v, uint32_t *flags) {
  uint64_t bits = 0;
  for (int n = 4; n <= RM_BALL_LIMBS; n = n == 4 ? 32 : n * 4) {
    rm_step_numbers_ball c;
    rm_ball r;
    rm_step_numbers_of_ball(&c, o, n);
    rm_step_quantity_ball(&r, which, &c, o, p, g, m, v, n);
    if (rm_ball_round(&r, o->format, mode, flags, &bits)) return bits;
    if (o->kind == RM_ADAM && which == PARAMETER && rm_adam_beside_boundary(o, &r, p, m, v, n, mode, flags, &bits))
      return bits;
  }
  *flags |= RM_STEP_UNDECIDED;
  return rm_nan_bits(o->format);
}

/* `word` decides what is rounded at random. */
RM_STATIC uint64_t rm_step_finite(int which, const rm_optimizer *o, uint32_t word, double p, double g, double m, double v,
                                  uint32_t *flags) {
  const rm_mode mode = o->random.mode ? rm_rounding_mode(o->random.mode, word) : RM_NEAREST;
  rm_step_numbers_dd_ball c;
  rm_dd_ball r;
  uint64_t bits;
  __builtin_memcpy(&c, o->numbers, sizeof c);
  rm_step_quantity_dd_ball(&r, which, &c, o, p, g, m, v, 0);
  if (!rm_dd_ball_round(&r, o->format, mode, flags, &bits)) bits = rm_step_decide_in_balls(which, o, mode, p, g, m, v, flags);
  return o->random.mode == RM_ROUND_UP_DOWN ? rm_round_up_down(bits, o->format, word) : bits;
}

/* A finite number as its sign: what IEEE 754's rules for infinities ask of it. */
RM_STATIC double rm_step_sign(double x) { return !rm_is_finite(x) ? x : x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

/* The result of a formula over signs: the canonical NaN, or an infinity. A NaN that no operand was is invalid. */
RM_STATIC uint64_t rm_step_limit(double r, int nan_in, int format, uint32_t *flags) {
  if (!rm_is_nan(r)) return rm_signed_infinity(r < 0.0, format);
  if (!nan_in) *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(format);
}

/* Where an operand is not finite, the limit of the formula: IEEE 754's rules for each of its operations, over signs. No
 * operation then rounds or overflows. */
RM_STATIC double rm_step_direction_sign(const rm_optimizer *o, double p, double g) {
  const double d = o->negate ? -rm_step_sign(g) : rm_step_sign(g);
  return o->decay == 0.0 || o->decoupled ? d : d + rm_step_sign(p);
}

RM_STATIC uint64_t rm_accurate_first_moment(const rm_optimizer *o, uint32_t word, double p, double g, double m,
                                            uint32_t *flags) {
  const double d = rm_step_direction_sign(o, p, g);
  const int averaged = o->kind == RM_ADAM || !o->first;
  if (rm_is_finite(d) && (rm_is_finite(m) || !averaged))
    return rm_step_finite(FIRST_MOMENT, o, word, p, g, averaged ? m : 0.0, 0.0, flags);
  const double r = averaged ? rm_step_sign(o->beta1) * rm_step_sign(m) + rm_step_sign(o->constants.keep1[0]) * d : d;
  return rm_step_limit(r, rm_is_nan(m) || rm_is_nan(d), o->format, flags);
}

RM_STATIC uint64_t rm_accurate_second_moment(const rm_optimizer *o, uint32_t word, double p, double g, double v,
                                             uint32_t *flags) {
  const double d = rm_step_direction_sign(o, p, g);
  if (rm_is_finite(d) && rm_is_finite(v)) return rm_step_finite(SECOND_MOMENT, o, word, p, g, 0.0, v, flags);
  return rm_step_limit(rm_step_sign(o->beta2) * rm_step_sign(v) + d * d, rm_is_nan(v) || rm_is_nan(d), o->format, flags);
}

RM_STATIC uint64_t rm_accurate_sgd_parameter(const rm_optimizer *o, uint32_t word, double p, double g, double m,
                                             uint32_t *flags) {
  double x = o->m && !o->nesterov ? rm_step_sign(m) : rm_step_direction_sign(o, p, g);
  if (o->m && o->nesterov) x += rm_step_sign(o->beta1) * rm_step_sign(m);
  const double r = rm_step_sign(p) - rm_step_sign(o->lr) * x;
  if (rm_is_finite(r)) return rm_step_finite(PARAMETER, o, word, p, g, m, 0.0, flags);
  return rm_step_limit(r, rm_is_nan(p) || rm_is_nan(x), o->format, flags);
}

RM_STATIC uint64_t rm_accurate_adam_parameter(const rm_optimizer *o, uint32_t word, double p, double m, double s,
                                              uint32_t *flags) {
  const int nan_in = rm_is_nan(p) || rm_is_nan(m) || rm_is_nan(s);
  if (s < 0.0) return rm_step_limit(rm_from_bits64(rm_nan_bits(RM_F64)), nan_in, o->format, flags);
  const double below = rm_step_sign(s) + rm_step_sign(o->eps), above = rm_step_sign(o->lr) * rm_step_sign(m);
  if (below == 0.0 && above != 0.0 && rm_is_finite(above) && !nan_in) *flags |= RM_FLAG_DIVBYZERO;
  const double q = above / below, r = rm_step_sign(o->constants.a[0]) * rm_step_sign(p) - q;
  if (!rm_is_finite(r)) return rm_step_limit(r, nan_in, o->format, flags);
  if (!rm_is_finite(below)) return rm_step_finite(PARAMETER, o, word, p, 0.0, 0.0, 1.0, flags); /* q = 0 */
  return rm_step_finite(PARAMETER, o, word, p, 0.0, m, s, flags);
}

RM_HOST_EXTERN uint32_t rm_optimizer_accurate(const rm_optimizer *o, rm_optimizer_element *e) {
  const int format = o->format;
  const double p = rm_to_double(e->p, format), g = rm_to_double(e->g, format);
  uint32_t flags = 0;
  if (rm_is_signalling(e->p, format) | rm_is_signalling(e->g, format) | rm_is_signalling(e->m, format) |
      rm_is_signalling(e->v, format) | rm_is_signalling(e->w, format))
    flags |= RM_FLAG_INVALID;
  if (o->m) e->m = rm_accurate_first_moment(o, e->word[FIRST_MOMENT], p, g, rm_to_double(e->m, format), &flags);
  if (o->kind == RM_SGD) {
    e->p = rm_accurate_sgd_parameter(o, e->word[PARAMETER], p, g, o->m ? rm_to_double(e->m, format) : 0.0, &flags);
    return flags;
  }
  e->v = rm_accurate_second_moment(o, e->word[SECOND_MOMENT], p, g, rm_to_double(e->v, format), &flags);
  double s = rm_to_double(e->v, format);
  if (o->w) {
    const double w = rm_to_double(e->w, format);
    if (!(w > s)) e->w = rm_is_nan(w) ? rm_nan_bits(format) : e->v;
    s = rm_to_double(e->w, format);
  }
  e->p = rm_accurate_adam_parameter(o, e->word[PARAMETER], p, rm_to_double(e->m, format), s, &flags);
  return flags;
}

RM_HOST_EXTERN uint32_t rm_optimizer_accurate_range(const rm_optimizer *o, int64_t begin, int64_t end) {
  const size_t size = (size_t)rm_size_of(o->format);
  uint32_t flags = 0;
  rm_rounding_words words[QUANTITIES];
  for (int k = 0; k < QUANTITIES; k++) words[k] = rm_rounding_words_of(&o->random), words[k].stream += rm_step_stream(k);
  for (int64_t i = begin; i < end; i++) {
    rm_optimizer_element e = {0, 0, 0, 0, 0, {0}}; /* little endian */
    for (int k = 0; o->random.mode && k < QUANTITIES; k++) e.word[k] = rm_rounding_word(words + k, o->random.first + i);
    const size_t at = (size_t)i * size;
    __builtin_memcpy(&e.p, o->p + at, size);
    __builtin_memcpy(&e.g, o->g + at, size);
    if (o->m) __builtin_memcpy(&e.m, o->m + at, size);
    if (o->v) __builtin_memcpy(&e.v, o->v + at, size);
    if (o->w) __builtin_memcpy(&e.w, o->w + at, size);
    flags |= rm_optimizer_accurate(o, &e);
    __builtin_memcpy(o->p + at, &e.p, size);
    if (o->m) __builtin_memcpy(o->m + at, &e.m, size);
    if (o->v) __builtin_memcpy(o->v + at, &e.v, size);
    if (o->w) __builtin_memcpy(o->w + at, &e.w, size);
  }
  return flags;
}
