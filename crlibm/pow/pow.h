/* pow: the fast kernels, their domain and the fast phases. The kernels compute |x|^y; the result has the sign of x for odd
 * y. */
#pragma once

#include "../simd/fast_phase.h"
#include "../simd/machine.h"
#include "pow_b64.h"
#include "pow_dd.h"

/* The sign bit of the result in the lanes of *integer, where y is an integer below 2^51; in others with x < 0 it is unknown
 * whether y is one. For |y| < 2^51 the bits of y + 1.5 2^52 end in those of the integer nearest to y. */
RM_FN vi64 rm_pow_sign(vf64 x, vf64 y, vm64 *integer) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 t = vf64_add(y, magic);
  *integer = vm64_and(vf64_eq(vf64_sub(t, magic), y), vf64_lt(vf64_abs(y), vf64_set1(0x1p51)));
  return vi64_and(vi64_sll(vf64_bits(t), 63), vf64_bits(x));
}

/* The lanes in which a = |x| is positive, finite and normal (as every positive number of the other formats is in binary64),
 * and the result normal in the format for z = y log a known within 2^-46: the ranges are those of exp. */
RM_FN vm64 rm_pow_regular(vf64 a, vf64 z, int format) {
  const int64_t min = INT64_C(1) << 52, infinity = INT64_C(0x7ff) << 52;
  vm64 base = vi64_ltu(vi64_sub(vf64_bits(a), vi64_set1(min)), vi64_set1(infinity - min));
  return vm64_and(base, vf64_le(vf64_abs(z), vf64_set1(format == RM_F64 ? 708.3 : format == RM_F16 ? 9.7 : 87.3)));
}

/* a^y, and z = y log a; one copy for both 16-bit formats. */
RM_FN vf64 rm_pow_eval(vf64 a, vf64 y, vf64 *z) {
  *z = rm_pow_exponent(a, y);
  return rm_exp_eval(*z);
}
RM_NOINLINE vf64 rm_pow_shared(vf64 a, vf64 y, vf64 *z) { return rm_pow_eval(a, y, z); }

#define RM_POW_FAST_B64(eval, fmt, FMT, undecided)                                 \
  RM_FN vm64 rm_pow_fast_##fmt(const vf64 *x, vf64 *y) {                           \
    vf64 z, a = vf64_abs(x[0]), v = rm_pow_##eval(a, x[1], &z);                    \
    vm64 integer, regular = rm_pow_regular(a, z, FMT);                             \
    *y = vf64_from_bits(vi64_or(vf64_bits(v), rm_pow_sign(x[0], x[1], &integer))); \
    vm64 unknown = vm64_andnot(vf64_lt(x[0], vf64_set1(0.0)), integer);            \
    return vm64_or(vm64_or(unknown, undecided), vm64_not(regular));                \
  }
RM_POW_FAST_B64(shared, f16, RM_F16, vf64_undecided_f16(v))
RM_POW_FAST_B64(shared, bf16, RM_BF16, vf64_undecided_bf16(v))
RM_POW_FAST_B64(eval, f32, RM_F32, vf64_undecided_f32(v, RM_POW_B64_ERR))

/* An exact y log a needs |y| >= 2^-900 or y = 0; for an x so near to 1 that a greater y overflows on the way, z or the
 * result is NaN and not decided. */
RM_FN vm64 rm_pow_fast_f64(const vf64 *x, vf64 *y) {
  const int64_t min = (INT64_C(1023) - 900) << 52;
  vf64 a = vf64_abs(x[0]), zh, zl, rh, rl, v;
  vi64 k;
  rm_pow_exponent_dd(a, x[1], &zh, &zl);
  rm_exp_reduce_dd(zh, zl, &k, &rh, &rl);
  vm64 integer, undecided = rm_exp_fast_dd(k, rh, rl, RM_POW_DD_ERR, &v), regular = rm_pow_regular(a, zh, RM_F64);
  vm64 tiny = vi64_ltu(vi64_sub(vf64_bits(vf64_abs(x[1])), vi64_set1(1)), vi64_set1(min - 1));
  *y = vf64_from_bits(vi64_or(vf64_bits(v), rm_pow_sign(x[0], x[1], &integer)));
  vm64 unknown = vm64_andnot(vf64_lt(x[0], vf64_set1(0.0)), integer);
  return vm64_or(vm64_or(unknown, undecided), vm64_or(tiny, vm64_not(regular)));
}

#if RM_HAS_VF32
/* Cubes of f32, by vectors. The square of 24 bits is exact in binary64, and its product with x is p + e, exactly: at least
 * 2^-447 if it is not 0. Rounded to odd, that rounds to f32 as the cube does. A vector whose exponents are all 3 needs no
 * other phase: a NaN gives NaN, and an infinity of a finite x is an overflow. */
RM_FN int64_t rm_pow_span_f32(const float *const *x, int64_t i, int64_t n, float *y, uint32_t *flags) {
  const vf64 three = vf64_set1(3.0);
  for (; i + 2 * RM_LANES <= n; i += 2 * RM_LANES) {
    const vf64 k0 = vf64_load_f32(x[1] + i), k1 = vf64_load_f32(x[1] + i + RM_LANES);
    const vf64 apart = vf64_add(vf64_abs(vf64_sub(k0, three)), vf64_abs(vf64_sub(k1, three)));
    if (!vm64_none(vf64_ne(apart, vf64_set1(0.0)))) break;
    vf64 r[2], v[2];
    RM_UNROLL for (int h = 0; h < 2; h++) {
      v[h] = vf64_load_f32(x[0] + i + h * RM_LANES);
      const vf64 square = vf64_mul(v[h], v[h]), p = vf64_mul(square, v[h]);
      r[h] = vf64_to_odd(p, vf64_mul_err(square, v[h], p));
      const vm64 large = vf64_not_finite(p, RM_F32);
      if (RM_UNLIKELY(!vm64_none(large))) {
        const vm64 nan = vm64_andnot(vf64_not_finite(p, RM_F64), vf64_is_infinite(p)),
                   given = vm64_or(nan, vf64_is_infinite(v[h]));
        r[h] = vf64_select(nan, vf64_nan(), vf64_select(large, p, r[h]));
        if (!vm64_none(vm64_andnot(large, given))) *flags |= RM_FLAG_OVERFLOW;
        if (!vm64_none(nan) && rm_any_signalling(x[0] + i + h * RM_LANES, RM_LANES, RM_F32)) *flags |= RM_FLAG_INVALID;
      }
    }
    vf64_store_f32(y + i, r[0]);
    vf64_store_f32(y + i + RM_LANES, r[1]);
  }
  return i;
}
#define RM_SPAN_pow_f32 , rm_pow_span_f32
#endif

/* Lanes with a known result, put into *r:
 *   NaN       of a NaN, but for x = 1 and y = 0; of a negative number and a y that is no integer (it is invalid)
 *   0, inf    of an infinity, but for |x| = 1 and y = 0: infinite where |x| > 1 and y > 0, or |x| < 1 and y < 0
 *   0         x = 0 and 0 < y; f64: y log|x| below -745.2, where RN gives 0
 *   the power in f32 and the 16-bit formats, with y log|x| cut to 200. For results that are no zero or infinity, below 104,
 *   the errors of
 *             pow_b64.h grow by less than 104/87.3 and are below 2 RM_POW_B64_ERR
 * Numbers from 2^53 on, in the smaller formats from 2^51 on, are even. Of others from 2^51 on it is not known whether they
 * are odd. */
#define RM_NUMBER_OF_NAN_pow , 1
RM_FN vm64 rm_pow_decided(vf64 x, vf64 y, int format, vf64 *r) {
  const int64_t normal = INT64_C(1) << 52, infinity = INT64_C(0x7ff) << 52;
  const vf64 nought = vf64_set1(0.0), one = vf64_set1(1.0), a = vf64_abs(x), end = vf64_set1(200.0);
  const vf64 z = rm_pow_exponent(a, y);
  vm64 integer;
  const vi64 sign = rm_pow_sign(x, y, &integer);
  const vm64 even = vf64_le(vf64_set1(format == RM_F64 ? 0x1p53 : 0x1p51), vf64_abs(y)), above = vf64_lt(nought, y);
  const vm64 finite = vi64_ltu(vi64_sub(vf64_bits(a), vi64_set1(normal)), vi64_set1(infinity - normal));
  const vm64 far = vm64_or(vf64_is_infinite(x), vf64_is_infinite(y)), small = vf64_lt(vf64_abs(y), vf64_set1(0x1p51));
  vm64 zero = vm64_and(vf64_eq(x, nought), above);
  if (format == RM_F64) {
    zero = vm64_or(zero, vm64_and(finite, vf64_lt(z, vf64_set1(-745.2))));
    *r = nought;
  } else {
    const vf64 v = rm_exp_eval(vf64_min(end, vf64_max(vf64_neg(end), z)));
    zero = vm64_or(zero, vm64_and(finite, vf64_decide_any(v, 2.0 * RM_POW_B64_ERR, format, r)));
    *r = vf64_select(finite, *r, nought);
  }
  const vm64 large = vf64_lt(one, a), same = vm64_or(vm64_and(large, above), vm64_not(vm64_or(large, above)));
  *r = vf64_select(far, vf64_select(same, vf64_from_bits(vi64_set1(infinity)), nought), *r);
  *r = vf64_select(integer, vf64_from_bits(vi64_or(vf64_bits(*r), sign)), *r);
  const vm64 invalid = vm64_andnot(vm64_and(vm64_andnot(vf64_lt(x, nought), far), small), integer);
  const vm64 none = vm64_or(invalid, vf64_unord(x, y));
  *r = vf64_select(none, vf64_nan(), *r);
  const vm64 signs = vm64_or(vm64_or(small, even), vf64_lt(nought, vf64_copysign(one, x)));
  const vm64 power = vm64_and(vm64_or(far, zero), signs);
  return vm64_andnot(vm64_andnot(vm64_or(power, none), vf64_eq(a, one)), vf64_eq(y, nought));
}
