/* The slow tiers of optimiser steps: each quantity of an element by the formula in double-double, then in wide numbers, and
 * where something is not finite by its limit. Also compiled as device code. */
#include <stddef.h>

#include "../../crlibm/fp/ball.h"
#include "../../crlibm/fp/exact.h"
#include "../../crlibm/fp/near.h"
#include "optimizers.h"

#define RM_NUM near
#include "optimizers_formula.h"
#undef RM_NUM
#define RM_NUM ball
#include "optimizers_formula.h"
#undef RM_NUM

/* Adam's p' where x = beta1^t and y = beta2^t are so small that they are not seen beside 1: 1 when its limit for x = y = 0
 * is an exact number, and the side on which p' lies is known.
 *
 * The quotient is F times its limit, and F > 1 exactly when (root + eps) > (1 - x)(root (1 - y)^(-1/2) + eps), root =
 * sqrt(s), that is x (root + eps) - root y/2 + rest > 0, where |rest| <= root (x y + y^2) <= 2 root max(x, y)^2. A number
 * one limb below the last place of the limit, and below every boundary of rounding, stands for the difference when this is
 * smaller. */
RM_COLD int beside_limit(const rm_optimizer *o, double p, double m, double s, uint32_t *flags, uint64_t *bits) {
  enum { SMALL = -16000, LIMBS = 64 };
  const uint64_t one = 1;
  rm_step_numbers_ball c;
  rm_ball limit, root, below, x, y, t;
  rm_ball_set(&x, o->beta1, LIMBS);
  rm_ball_pow(&x, &x, (uint64_t)o->t);
  rm_ball_set(&y, o->beta2, LIMBS);
  rm_ball_pow(&y, &y, (uint64_t)o->t);
  const int64_t top_x = rm_ball_is_zero(&x) ? -RM_BALL_EXPONENT : rm_ball_top(&x);
  const int64_t top_y = rm_ball_is_zero(&y) ? -RM_BALL_EXPONENT : rm_ball_top(&y), top = rm_ball_max(top_x, top_y);
  if (top >= SMALL) return 0;

  step_numbers_ball(&c, o, RM_BALL_LIMBS);
  rm_ball_set_u64(&c.d1, 1, RM_BALL_LIMBS);
  rm_ball_copy(&c.d2, &c.d1);
  adam_parameter_ball(&limit, &c, o, p, m, s, RM_BALL_LIMBS);
  rm_ball_set(&t, p, RM_BALL_LIMBS);
  rm_ball_mul(&t, &t, &c.a);
  rm_ball_sub(&t, &t, &limit); /* the quotient */
  const int64_t last = (limit.e < -1100 ? limit.e : -1100) - 64;
  const int quotient = rm_ball_sign(&t);
  if (!rm_ball_is_exact(&limit) || quotient == 0 || quotient == RM_SIGN_UNKNOWN || rm_ball_top(&t) + top + 3 > last) return 0;

  rm_ball_set(&root, s, LIMBS);
  rm_ball_sqrt(&root, &root);
  rm_ball_set(&below, o->eps, LIMBS);
  rm_ball_add(&below, &below, &root);
  rm_ball_mul(&x, &x, &below);
  rm_ball_mul(&y, &y, &root);
  rm_ball_scale(&y, &y, -1);
  rm_ball_sub(&x, &x, &y);
  if (!rm_ball_is_zero(&root)) rm_ball_widen(&x, &x, rm_ball_top(&root) + 2 * top + 1);
  const int larger = rm_ball_sign(&x);
  if (larger == 0 || larger == RM_SIGN_UNKNOWN) return 0;
  rm_ball_store(&t, larger == quotient, &one, 1, last, 0.0, RM_BALL_LIMBS); /* p' = a p - quotient F */
  rm_ball_add(&limit, &limit, &t);
  return rm_ball_is_exact(&limit) && rm_ball_round(&limit, o->format, RM_NEAREST, flags, bits);
}

/* The last tier. The states and SGD's parameter are sums of products of at most five binary64 numbers, multiples of 2^-6500
 * below 2^6200: at 512 limbs, 32,768 bits, they are exact, so they are decided.
 *
 * A boundary q is Adam's p' only if sqrt(s/D2) is rational, that is, with X = a p - q, if s D1^2 X^2 = D2 (lr m' - eps D1
 * X)^2. Both sides are dyadic; D1 and D2 have up to 53 t bits, so that for t <= 150 the sides have fewer than 31,000 bits,
 * and cannot be nearer than 2^-31000 of each other without being equal: then q is the value. For larger t the separation is
 * not proved, since the powers betak^t have millions of bits. Where these are too small to be seen, p' is beside an exact
 * limit; else an interval of relative width 2^-32000 that holds a boundary is taken for it. */
RM_COLD uint64_t widely(int which, const rm_optimizer *o, double p, double g, double m, double v, uint32_t *flags) {
  uint64_t bits = 0;
  for (int n = 4; n <= RM_BALL_LIMBS; n = n == 4 ? 32 : n * 16) {
    rm_step_numbers_ball c;
    rm_ball r;
    step_numbers_ball(&c, o, n);
    quantity_ball(&r, which, &c, o, p, g, m, v, n);
    if (rm_ball_round(&r, o->format, RM_NEAREST, flags, &bits)) return bits;
    if (n < RM_BALL_LIMBS) continue;
    if (o->kind == RM_ADAM && which == PARAMETER && beside_limit(o, p, m, v, flags, &bits)) return bits;
    rm_ball_round_separated(&r, RM_BALL_EXPONENT, o->format, RM_NEAREST, flags, &bits);
  }
  return bits;
}

RM_LOCAL uint64_t finite_quantity(int which, const rm_optimizer *o, double p, double g, double m, double v, uint32_t *flags) {
  rm_step_numbers_near c;
  rm_near r;
  uint64_t bits;
  __builtin_memcpy(&c, o->numbers, sizeof c);
  quantity_near(&r, which, &c, o, p, g, m, v, 0);
  if (rm_near_round(&r, o->format, RM_NEAREST, flags, &bits)) return bits;
  return widely(which, o, p, g, m, v, flags);
}

RM_LOCAL int is_finite(double x) { return x - x == 0.0; }

/* A finite number as its sign: what IEEE 754's rules for infinities ask of it. */
RM_LOCAL double sign_of(double x) { return !is_finite(x) ? x : x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

/* The result of a formula over signs: the canonical NaN, or an infinity. A NaN that no operand was is invalid. */
RM_LOCAL uint64_t limit(double r, int nan_in, int format, uint32_t *flags) {
  if (r == r) return rm_signed_infinity(r < 0.0, format);
  if (!nan_in) *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(format);
}

/* Where an operand is not finite, the limit of the formula: IEEE 754's rules for each of its operations, over signs. No
 * operation then rounds or overflows. */
RM_LOCAL double direction_sign(const rm_optimizer *o, double p, double g) {
  const double d = o->negate ? -sign_of(g) : sign_of(g);
  return o->decay == 0.0 || o->decoupled ? d : d + sign_of(p);
}

RM_LOCAL uint64_t first_moment(const rm_optimizer *o, double p, double g, double m, uint32_t *flags) {
  const double d = direction_sign(o, p, g);
  const int averaged = o->kind == RM_ADAM || !o->first;
  if (is_finite(d) && (is_finite(m) || !averaged))
    return finite_quantity(FIRST_MOMENT, o, p, g, averaged ? m : 0.0, 0.0, flags);
  const double r = averaged ? sign_of(o->beta1) * sign_of(m) + sign_of(o->constants.keep1[0]) * d : d;
  return limit(r, m != m || d != d, o->format, flags);
}

RM_LOCAL uint64_t second_moment(const rm_optimizer *o, double p, double g, double v, uint32_t *flags) {
  const double d = direction_sign(o, p, g);
  if (is_finite(d) && is_finite(v)) return finite_quantity(SECOND_MOMENT, o, p, g, 0.0, v, flags);
  return limit(sign_of(o->beta2) * sign_of(v) + d * d, v != v || d != d, o->format, flags);
}

RM_LOCAL uint64_t sgd_parameter(const rm_optimizer *o, double p, double g, double m, uint32_t *flags) {
  double x = o->m && !o->nesterov ? sign_of(m) : direction_sign(o, p, g);
  if (o->m && o->nesterov) x += sign_of(o->beta1) * sign_of(m);
  const double r = sign_of(p) - sign_of(o->lr) * x;
  if (is_finite(r)) return finite_quantity(PARAMETER, o, p, g, m, 0.0, flags);
  return limit(r, p != p || x != x, o->format, flags);
}

RM_LOCAL uint64_t adam_parameter(const rm_optimizer *o, double p, double m, double s, uint32_t *flags) {
  const int nan_in = p != p || m != m || s != s;
  if (s < 0.0) return limit(rm_from_bits64(rm_nan_bits(RM_F64)), nan_in, o->format, flags);
  const double below = sign_of(s) + sign_of(o->eps), above = sign_of(o->lr) * sign_of(m);
  if (below == 0.0 && above != 0.0 && is_finite(above) && !nan_in) *flags |= RM_FLAG_DIVBYZERO;
  const double q = above / below, r = sign_of(o->constants.a[0]) * sign_of(p) - q;
  if (!is_finite(r)) return limit(r, nan_in, o->format, flags);
  if (!is_finite(below)) return finite_quantity(PARAMETER, o, p, 0.0, 0.0, 1.0, flags); /* q = 0 */
  return finite_quantity(PARAMETER, o, p, 0.0, m, s, flags);
}

RM_SHARED uint32_t rm_optimizer_slow(const rm_optimizer *o, rm_optimizer_element *e) {
  const int format = o->format;
  const double p = rm_to_double(e->p, format), g = rm_to_double(e->g, format);
  uint32_t flags = 0;
  if (rm_is_signalling(e->p, format) | rm_is_signalling(e->g, format) | rm_is_signalling(e->m, format) |
      rm_is_signalling(e->v, format) | rm_is_signalling(e->w, format))
    flags |= RM_FLAG_INVALID;
  if (o->m) e->m = first_moment(o, p, g, rm_to_double(e->m, format), &flags);
  if (o->kind == RM_SGD) {
    e->p = sgd_parameter(o, p, g, o->m ? rm_to_double(e->m, format) : 0.0, &flags);
    return flags;
  }
  e->v = second_moment(o, p, g, rm_to_double(e->v, format), &flags);
  double s = rm_to_double(e->v, format);
  if (o->w) {
    const double w = rm_to_double(e->w, format);
    if (!(w > s)) e->w = w != w ? rm_nan_bits(format) : e->v;
    s = rm_to_double(e->w, format);
  }
  e->p = adam_parameter(o, p, rm_to_double(e->m, format), s, &flags);
  return flags;
}

RM_SHARED uint32_t rm_optimizer_slowly(const rm_optimizer *o, int64_t begin, int64_t end) {
  const size_t size = (size_t)rm_size_of(o->format);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    rm_optimizer_element e = {0, 0, 0, 0, 0}; /* little endian */
    const size_t at = (size_t)i * size;
    __builtin_memcpy(&e.p, o->p + at, size);
    __builtin_memcpy(&e.g, o->g + at, size);
    if (o->m) __builtin_memcpy(&e.m, o->m + at, size);
    if (o->v) __builtin_memcpy(&e.v, o->v + at, size);
    if (o->w) __builtin_memcpy(&e.w, o->w + at, size);
    flags |= rm_optimizer_slow(o, &e);
    __builtin_memcpy(o->p + at, &e.p, size);
    if (o->m) __builtin_memcpy(o->m + at, &e.m, size);
    if (o->v) __builtin_memcpy(o->v + at, &e.v, size);
    if (o->w) __builtin_memcpy(o->w + at, &e.w, size);
  }
  return flags;
}
