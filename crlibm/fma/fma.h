/* x y + z, rounded once.
 *
 * f64 with RM_HAS_FMA: the machine's operation. f32 and the 16-bit formats: x y is exact in binary64, and x y + z, rounded to
 * odd (simd/machine.h), is rounded once by the store; nothing underflows, since x y is 0 or at least 2^-298. f64 without
 * RM_HAS_FMA (Boldo and Melquiond 2008): x y = uh + ul and z + ul = th + tl and uh + th = vh + vl exactly, tl + vl is rounded
 * to odd, and vh + that to nearest. Exact products need |x|, |y| < 2^996 and 2^-968 <= |x y|; |x y|, |z| < 2^1000 keep sums
 * from overflow. A subnormal result is exact then: the product is a multiple of 2^-1074. Other lanes, unless x y = 0, are
 * left undecided. */
#pragma once

#include "../simd/machine.h"

RM_FN vf64 rm_fma_odd(vf64 x, vf64 y, vf64 z) {
  vf64 e, s = vf64_two_sum(vf64_mul(x, y), z, &e);
  return vf64_to_odd(s, e);
}

#if RM_HAS_FMA
RM_FN vm64 rm_fma_once(vf64 x, vf64 y, vf64 z, vf64 *r) {
  *r = vf64_mad(x, y, z);
  return vf64_not_finite(*r, RM_F64);
}
#else
RM_FN vm64 rm_fma_once(vf64 x, vf64 y, vf64 z, vf64 *r) {
  const vf64 zero = vf64_set1(0.0), large = vf64_set1(0x1p1000), factor = vf64_set1(0x1p996);
  vf64 uh = vf64_mul(x, y), ul = vf64_mul_err(x, y, uh), tl, vl, e;
  vf64 th = vf64_two_sum(z, ul, &tl), vh = vf64_two_sum(uh, th, &vl), s = vf64_two_sum(tl, vl, &e);
  vm64 null = vm64_or(vf64_eq(x, zero), vf64_eq(y, zero)), small = vf64_lt(vf64_abs(uh), vf64_set1(0x1p-968));
  vm64 inside = vm64_and(vm64_and(vf64_lt(vf64_abs(x), factor), vf64_lt(vf64_abs(y), factor)),
                         vm64_and(vf64_lt(vf64_abs(uh), large), vf64_lt(vf64_abs(z), large)));
  *r = vf64_select(null, vf64_add(uh, z), vf64_add(vh, vf64_to_odd(s, e)));
  return vm64_or(vf64_not_finite(*r, RM_F64), vm64_andnot(vm64_or(small, vm64_not(inside)), null));
}
#endif

/* Without RM_HAS_FMA the product of f64 may overflow although x y + z does not: known is then what is infinite because an
 * operand is. */
RM_FN vm64 rm_fma_decided(vf64 x, vf64 y, vf64 z, int format, vf64 *result) {
  const vm64 known = vf64_decide_machine(vf64_mad(x, y, z), result);
  if (RM_HAS_FMA || format != RM_F64) return known;
  return vm64_and(vf64_is_infinite(*result), vm64_or(vm64_or(vf64_is_infinite(x), vf64_is_infinite(y)), vf64_is_infinite(z)));
}

RM_MACHINE_FAST_FORMAT(fma, f16, RM_F16, vf64_to_odd16(rm_fma_odd(x[0], x[1], x[2])))
RM_MACHINE_FAST_FORMAT(fma, bf16, RM_BF16, vf64_to_odd16(rm_fma_odd(x[0], x[1], x[2])))
RM_MACHINE_FAST_FORMAT(fma, f32, RM_F32, rm_fma_odd(x[0], x[1], x[2]))
RM_FN vm64 rm_fma_fast_f64(const vf64 *x, vf64 *y) { return rm_fma_once(x[0], x[1], x[2], y); }

#if RM_HAS_VF32 && RM_HAS_FMA
RM_MACHINE_SPAN(fma, 3, f32, RM_F32, float, vf32_fma(x[0], x[1], x[2]))
#define RM_SPAN_fma_f32 , rm_fma_span_f32
#endif
/* Rounding to nearest f32 first is not innocuous, but where it gives a midpoint that x y + z is not; rounding to odd is, in
 * the normal range of f32. f16 numbers are multiples of 2^-24, so x y + z is 0 or within it but for its length. In bf16,
 * numbers below the normal range end at 2^-133 and those of f32 at 2^-149: 16 places more there too. */
#if RM_HAS_FMA_TO_ODD
#define RM_FMA_SPAN(fmt, FMT)                                                                                            \
  RM_MACHINE_SPAN(fma_to_odd, 3, fmt, FMT, uint16_t, vf32_fma_to_odd(x[0], x[1], x[2]))                                  \
  RM_NOINLINE int64_t rm_fma_span_##fmt(const uint16_t *const *in, int64_t i, int64_t n, uint16_t *y, uint32_t *flags) { \
    const uint32_t before = vf32_to_odd_begin();                                                                         \
    i = rm_fma_to_odd_span_##fmt(in, i, n, y, flags);                                                                    \
    vf32_to_odd_end(before);                                                                                             \
    return i;                                                                                                            \
  }
RM_FMA_SPAN(f16, RM_F16)
RM_FMA_SPAN(bf16, RM_BF16)
#define RM_SPAN_fma_f16 , rm_fma_span_f16
#define RM_SPAN_fma_bf16 , rm_fma_span_bf16
#endif
