/* Whole numbers beside the quotients of f32 by a number a, by vectors, where a fused multiplication and addition is one
 * instruction.
 *
 * u = |x| is 0 or between 2^-149 and 2^128, and d = |a| between 2^-200 and 2^200. With h = RN(1/d), RN(u h) is within 2.01
 * 2^-53 of u/d, relatively. Where it is below 2^51 it is off by less than 0.51, so that its whole number m differs by one at
 * most from that of u/d. The residual u - m d, rounded once, tells which it is: below 0 (m - 1), d or more (m + 1) or
 * between. Rounding changes no comparison with 0 or d: for m = 0 the residual is u; else u >= d/2, so that the residual is a
 * multiple of 2^-52 of the power of 2 in d, and a number where it is below twice that power. The quotient is a whole number
 * where the residual is 0 or d.
 *
 * From 2^51 on let q = RN(u/d), of which m is the whole number. Below 2^52 the residual is between -d and d, a number as
 * above; from there on m = q, whose residual is a number as that of each rounded quotient is. It tells whether the result is
 * above or below m. Below 2^53 it is m or next to it. From there on m is rounded to odd (odd.h) by what the residual tells.
 *
 * FLOOR is minus the whole number above u/d where x and a have different signs.
 *
 * Where a is a number of binary32 between 2^-100 and 2^100 the same holds in binary32, of products below 2^22, which are off
 * by less than 0.51: the residual is 0 or at least 2^-149, and for m >= 1 a multiple of 2^-23 of the power of 2 in d, but
 * where u is below that power: then it is within 2^-21 d of 0. From 2^50 on the result is RN(u/d). Let B be a boundary of
 * rounding, t 2^c, t < 2^25: of u, a multiple of 2^-24 u, and of B d, one of 2^-49 B d, the difference is 0 or at least 2^-49
 * u but for 2^-20 of that, so that u/d is B or further from it than 1. */
#pragma once

#include "../../../crlibm/simd/neighbours.h"
#include "args.h"

#if RM_HAS_FMA && RM_HAS_VF32
RM_FN int rm_quotients_takes(const rm_formula_problem *p) {
  const double size = __builtin_fabs(p->a);
  return p->format == RM_F32 && (p->formula == RM_FORMULA_FLOOR || p->formula == RM_FORMULA_TRUNC) &&
         rm_formula_by_number(p) && size >= 0x1p-200 && size <= 0x1p200;
}

/* m, the residual of which is `rest`, or the whole number next to it that is below u/d; or, in the lanes `apart`, above. */
RM_FN vf64 rm_quotient_whole(vf64 m, vf64 rest, vf64 d, const int floor, vm64 apart) {
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0);
  const vf64 least = vf64_select(vf64_lt(rest, zero), vf64_sub(m, one), m);
  const vf64 below = vf64_select(vf64_le(d, rest), vf64_add(m, one), least);
  if (!floor) return below;
  const vm64 inexact = vm64_and(vf64_ne(rest, zero), vf64_ne(rest, d));
  return vf64_select(vm64_and(inexact, apart), vf64_add(below, one), below);
}

/* Of RM_LANES elements at x, of which some are not finite or have a quotient of 2^51 or more. */
RM_NOINLINE uint32_t rm_quotients_far(const rm_formula_problem *p, const char *at, const vf64 *given, vf64 *result) {
  const int floor = p->formula == RM_FORMULA_FLOOR;
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), x = *given, u = vf64_abs(x), d = vf64_set1(__builtin_fabs(p->a));
  const vm64 apart = floor ? vf64_lt(x, zero) : vf64_lt(zero, zero);
  const vf64 m = vf64_toward_zero(vf64_div(u, d)), rest = vf64_nmad(m, d, u);
  const vf64 whole = rm_quotient_whole(m, rest, d, floor, apart);
  /* The same of m from 2^53 on as a sign; a residual of -d or less leaves the whole number above below m, too. */
  vf64 step = vf64_select(vf64_lt(rest, zero), vf64_neg(one), vf64_select(vf64_le(d, rest), one, zero));
  if (floor) {
    const vf64 up = vf64_select(vf64_lt(zero, rest), one, vf64_select(vf64_le(rest, vf64_neg(d)), vf64_neg(one), zero));
    step = vf64_select(apart, up, step);
  }
  vf64 r = vf64_select(vf64_lt(m, vf64_set1(0x1p53)), whole, vf64_to_odd(m, step));
  const vm64 nan = vf64_unord(x, x), infinite = vf64_is_infinite(x), beyond = vf64_not_finite(r, RM_F32);
  uint32_t flags = 0;
  if (vm64_bits(nan) && rm_any_signalling(at, RM_LANES, RM_F32)) flags |= RM_FLAG_INVALID;
  if (floor && vm64_bits(infinite)) flags |= RM_FLAG_INVALID;
  if (vm64_bits(beyond) & ~vm64_bits(vm64_or(nan, infinite))) flags |= RM_FLAG_OVERFLOW;
  r = vf64_copysign(vf64_select(infinite, u, r), x);
  *result = vf64_select(floor ? vm64_or(nan, infinite) : nan, vf64_nan(), r);
  return flags;
}

#if RM_B32
/* As rm_quotient_whole. */
RM_FN vf32 rm_single_whole(vf32 m, vf32 rest, vf32 d, const int floor, vf32 x) {
  const vf32 zero = vf32_set1(0.0f), one = vf32_set1(1.0f);
  const vf32 least = vf32_select(vf32_lt(rest, zero), vf32_sub(m, one), m);
  const vf32 below = vf32_select(vf32_nle(d, rest), least, vf32_add(m, one));
  if (!floor) return below;
  const vf32 above = vf32_select(vf32_ne(rest, d), vf32_add(below, one), below);
  return vf32_select(vf32_lt(x, zero), vf32_select(vf32_ne(rest, zero), above, below), below);
}

/* 2 RM_LANES elements at `at`, x with the sign of the quotient, whose quotients q below 2^22 have the result r. */
RM_NOINLINE uint32_t rm_single_far(const rm_formula_problem *p, const char *at, const vf32 *given, const vf32 *near,
                                   vf32 *r) {
  const int floor = p->formula == RM_FORMULA_FLOOR;
  const double size = __builtin_fabs(p->a);
  const vf32 x = *given, u = vf32_abs(x), q = *near, far = vf32_set1(0x1p50f), canonical = vf32_set1(__builtin_nanf(""));
  const vf32 infinity = vf32_from_bits(vi32_set1(0x7f800000));
  vf32 v = vf32_div(u, vf32_set1((float)size));
  const uint32_t some = vm32_bits(vf32_lt(q, far)) & ~vm32_bits(vf32_lt(q, vf32_set1(0x1p22f)));
  if (some) {
    const vf64 d = vf64_set1(size), inverse = vf64_set1(1.0 / size), sign = vf64_set1(p->a);
    vf64 w[2];
    RM_UNROLL for (int j = 0; j < 2; j++) {
      const void *const from = at + j * RM_LANES * 4;
      const vf64 given_x = vf64_load_f32((const float *)from), wide = vf64_abs(given_x);
      const vf64 m = vf64_toward_zero(vf64_mul(wide, inverse));
      const vm64 apart = vf64_lt(vf64_mul(given_x, vf64_copysign(vf64_set1(1.0), sign)), vf64_set1(0.0));
      w[j] = rm_quotient_whole(m, vf64_nmad(m, d, wide), d, floor, apart);
    }
#if RM_HAS_NEIGHBOURS
    const vf32 whole = vf32_from_two(w[0], w[1]);
#else
    float both[2 * RM_LANES];
    vf64_store_f32(both, w[0]), vf64_store_f32(both + RM_LANES, w[1]);
    const vf32 whole = vf32_load_f32(both);
#endif
    v = vf32_select(vf32_lt(q, far), whole, v);
  }
  v = vf32_select(vf32_lt(q, vf32_set1(0x1p22f)), vf32_abs(*r), v);
  const uint32_t nan = vm32_bits(vf32_ne(x, x)), infinite = vm32_bits(vf32_nle(infinity, u)) ^ ((1u << 2 * RM_LANES) - 1);
  uint32_t flags = 0;
  if (nan && rm_any_signalling(at, 2 * RM_LANES, RM_F32)) flags |= RM_FLAG_INVALID;
  if (floor && infinite & ~nan) {
    flags |= RM_FLAG_INVALID;
    v = vf32_select(vf32_nle(infinity, u), v, canonical);
  }
  const uint32_t beyond = vm32_bits(vf32_nle(infinity, v)) ^ ((1u << 2 * RM_LANES) - 1);
  if (beyond & ~infinite) flags |= RM_FLAG_OVERFLOW;
  *r = vf32_select(vf32_ne(v, v), canonical, vf32_copysign(v, x));
  return flags;
}

RM_FN int rm_single_takes(double a) {
  const double size = __builtin_fabs(a);
  return (double)(float)a == a && size >= 0x1p-100 && size <= 0x1p100;
}
/* Elements [i, end), 4 RM_LANES at a time; `rest` takes the last ones. */
RM_FN uint32_t rm_single_loop(const rm_formula_problem *p, int64_t i, int64_t end, const int floor, rm_formula_fn *rest) {
  const float size = (float)__builtin_fabs(p->a);
  const vf32 d = vf32_set1(size), inverse = vf32_set1(1.0f / size);
  const vi32 sign = vi32_set1(p->a < 0.0 ? INT32_MIN : 0);
  uint32_t flags = 0;
  for (; i + 4 * RM_LANES <= end; i += 4 * RM_LANES) {
    vf32 x[2], r[2], q[2];
    const char *const at = p->x + (ptrdiff_t)i * 4;
    RM_UNROLL for (int j = 0; j < 2; j++) {
      const void *const from = at + j * 2 * RM_LANES * 4;
      x[j] = vf32_from_bits(vi32_xor(vf32_bits(vf32_load_f32((const float *)from)), sign));
      const vf32 u = vf32_abs(x[j]);
      q[j] = vf32_mul(u, inverse);
      const vf32 m = vf32_toward_zero(q[j]);
      r[j] = vf32_copysign(rm_single_whole(m, vf32_fnma(m, d, u), d, floor, x[j]), x[j]);
    }
    if (RM_UNLIKELY(!vf32_all_below(q[0], q[1], 0x1p22f)))
      for (int j = 0; j < 2; j++) {
        /* The whole number toward zero of an infinite x, as beside a mask, is there. */
        const vm32 finite = vf32_nle(vf32_from_bits(vi32_set1(0x7f800000)), vf32_abs(x[j]));
        const uint32_t large = vm32_bits(vf32_nle(vf32_set1(0x1p22f), q[j])) ^ ((1u << 2 * RM_LANES) - 1);
        if (!(large & vm32_bits(finite)) && (!floor || !large) && vm32_none(vf32_ne(x[j], x[j]))) continue;
        const vf32 given = x[j], near = q[j]; /* x, q and r themselves stay in registers */
        vf32 found = r[j];
        flags |= rm_single_far(p, at + j * 2 * RM_LANES * 4, &given, &near, &found);
        r[j] = found;
      }
    RM_UNROLL for (int j = 0; j < 2; j++) {
      void *const to = p->out + (ptrdiff_t)(i + j * 2 * RM_LANES) * 4;
      vf32_store_f32((float *)to, r[j]);
    }
  }
  return i < end ? flags | rest(p, i, end) : flags;
}
#endif

/* Elements [i, end), 2 RM_LANES at a time; `rest` takes the last ones. */
RM_FN uint32_t rm_quotients_loop(const rm_formula_problem *p, int64_t i, int64_t end, const int floor, rm_formula_fn *rest) {
  const double size = __builtin_fabs(p->a);
  const vf64 zero = vf64_set1(0.0), d = vf64_set1(size), inverse = vf64_set1(1.0 / size), near = vf64_set1(0x1p51);
  const vi64 sign = vi64_set1(p->a < 0.0 ? INT64_MIN : 0);
  uint32_t flags = 0;
  for (; i + 2 * RM_LANES <= end; i += 2 * RM_LANES) {
    vf64 x[2], r[2], q[2];
    RM_UNROLL for (int j = 0; j < 2; j++) {
      const void *const at = p->x + (ptrdiff_t)(i + j * RM_LANES) * 4;
      x[j] = vf64_from_bits(vi64_xor(vf64_bits(vf64_load_f32((const float *)at)), sign));
      const vf64 u = vf64_abs(x[j]);
      q[j] = vf64_mul(u, inverse);
      const vf64 m = vf64_toward_zero(q[j]);
      r[j] = vf64_copysign(rm_quotient_whole(m, vf64_nmad(m, d, u), d, floor, vf64_lt(x[j], zero)), x[j]);
    }
    if (RM_UNLIKELY(!vm64_none(vm64_not(vm64_and(vf64_lt(q[0], near), vf64_lt(q[1], near))))))
      for (int j = 0; j < 2; j++) {
        const vf64 given = x[j]; /* x and r themselves stay in registers */
        vf64 found;
        flags |= rm_quotients_far(p, p->x + (ptrdiff_t)(i + j * RM_LANES) * 4, &given, &found);
        r[j] = found;
      }
    RM_UNROLL for (int j = 0; j < 2; j++) {
      void *const to = p->out + (ptrdiff_t)(i + j * RM_LANES) * 4;
      vf64_store_f32((float *)to, r[j]);
    }
  }
  return i < end ? flags | rest(p, i, end) : flags;
}

RM_STATIC uint32_t rm_quotients(const rm_formula_problem *p, int64_t i, int64_t end, rm_formula_fn *rest) {
#if RM_B32
  if (rm_single_takes(p->a))
    return p->formula == RM_FORMULA_FLOOR ? rm_single_loop(p, i, end, 1, rest) : rm_single_loop(p, i, end, 0, rest);
#endif
  if (p->formula == RM_FORMULA_FLOOR) return rm_quotients_loop(p, i, end, 1, rest);
  return rm_quotients_loop(p, i, end, 0, rest);
}
#endif
