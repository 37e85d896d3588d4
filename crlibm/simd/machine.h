/* The fast phase of functions that are one machine operation (add, subtract, multiply, divide, sqrt), and rounding to odd.
 *
 * In f64 the operation itself is correctly rounded. In the other formats it is done in binary64, and the store rounds again,
 * to f16 and bf16 by way of f32. A second rounding is innocuous (Figueroa 1995) unless the first one gives a midpoint b of
 * two numbers of the format that the exact v is not. So let v != b, and x, y be numbers of p bits, times units that are
 * powers of two; b = B w with an odd B < 2^(p+1), w half a unit in the last place at b, w > 2^-(p+1) |b|. Then v is further
 * from b than the first rounding can move it:
 *   x + y  v - b is a multiple of the lowest of the three units. If that is w, it is large. If it is the unit of an operand,
 *          and |v - b| <= d |b|, this operand is below 2^p d |b|, and the other one is within (2^p + 1) d |b| of b; but no
 *          number of the format is nearer to b than w. (2^p + 1) d < 2^-(p+1) for f32 and d = 2^-53, for p <= 11 and d =
 *          2^-24.
 *   x y    has 2p bits: exact, in binary64 for f32, in f32 for the others.
 *   x/y    b y has 2p + 1 bits, so x - b y is at least 2^-(2p+1) |b y| or 2^-p |x|: |v - b| > 2^-(2p+1) (1 - 2^-p) |b|.
 *   sqrt x b^2 has 2p + 2 bits. For f32, |x - b^2| > 2^-50 b^2, |v - b| > 2^-51.1 b. For the others, with 2^k <= b < 2^(k+1),
 *          x and b^2 are multiples of 2^(2k-22), and |v - b| >= 2^(2k-22)/(v + b) > 2^(k-24) (1 + 2^-13), half a unit of f32.
 * The f32 number on the way to f16 and bf16 is RN24(v), since their numbers are f32 numbers. Below the normal range:
 *   x + y  is exact
 *   f32    B is smaller, and the lines on x/y hold
 *   f16    results are normal f32 numbers, and the lines on x y and x/y hold
 *   bf16   f32 has the quantum 2^-149. Below 2^-134, half the least number, every rounding gives 0; x y has 16 bits and is a
 *          multiple of 2^-149 from there on, exact; |x/y - b| >= 2^-8 w = 2^-142, f32 errs by 2^-150 */
#pragma once

#include "../fp/round.h"
#include "undecided.h"

/* A number rounds to an infinity from here on: the midpoint beyond the largest finite number. */
RM_FN double rm_overflow_limit(int format) {
  return format == RM_F64    ? rm_from_bits64(UINT64_C(0x7ff0000000000000))
         : format == RM_F32  ? 0x1.ffffffp127
         : format == RM_BF16 ? 0x1.ffp127
                             : 0x1.ffep15;
}

/* The lanes that are NaN, or whose rounding to the format gives an infinity: they may raise flags. */
RM_FN vm64 vf64_not_finite(vf64 y, int format) {
  return vm64_not(vf64_lt(vf64_abs(y), vf64_set1(rm_overflow_limit(format))));
}

RM_FN vm64 vf64_is_infinite(vf64 y) { return vi64_eq(vf64_bits(vf64_abs(y)), vi64_set1(INT64_C(2047) << 52)); }

/* The fast phases of a function whose result in binary64 is `value`, an expression in x[0], x[1]. */
#define RM_MACHINE_FAST_FORMAT(name, fmt, FMT, value)         \
  RM_FN vm64 rm_##name##_fast_##fmt(const vf64 *x, vf64 *y) { \
    *y = value;                                               \
    return vf64_not_finite(*y, FMT);                          \
  }
#define RM_MACHINE_FAST_PHASE(name, value)           \
  RM_MACHINE_FAST_FORMAT(name, f16, RM_F16, value)   \
  RM_MACHINE_FAST_FORMAT(name, bf16, RM_BF16, value) \
  RM_MACHINE_FAST_FORMAT(name, f32, RM_F32, value)   \
  RM_MACHINE_FAST_FORMAT(name, f64, RM_F64, value)

/* The canonical NaN. */
RM_FN vf64 vf64_nan(void) { return vf64_from_bits(vi64_set1((int64_t)rm_nan_bits(RM_F64))); }

/* The lanes in which the argument is invalid: the result is NaN, and the loop raises the flag. */
RM_FN vm64 vf64_decide_invalid(vm64 outside, vf64 *y) {
  *y = vf64_select(outside, vf64_nan(), *y);
  return outside;
}

/* The lanes in which the result is +0. */
RM_FN vm64 vf64_decide_zero(vm64 zero, vf64 *y) {
  *y = vf64_select(zero, vf64_set1(0.0), *y);
  return zero;
}

/* v is known within rel of itself, 2^-51 <= rel <= 2^-38, where it is a number, and f32 and the 16-bit formats may have it as
 * zero, subnormal or infinite: the lanes whose rounding it decides, put into *y. */
RM_FN vm64 vf64_decide_any(vf64 v, double rel, int format, vf64 *y) {
  *y = v;
  return vm64_not(vf64_undecided_any(v, rel, format));
}

/* v as the compiler does not know it. LLVM takes the bits of an operation's NaN for arbitrary, and leaves out a selection of
 * the canonical NaN where it sees both: sqrt(-1) kept the sign that x86 gives it. */
RM_FN vf64 vf64_opaque(vf64 v) {
#if !RM_DEVICE
  __asm__("" : "+m"(v));
#endif
  return v;
}

/* The elements of a machine operation whose fast phase gave no finite number: v, the operation in binary64, is their result,
 * but for the bits of a NaN. (It rounds to an infinity as the result does, since the limit is a binary64 number.) */
RM_FN vm64 vf64_decide_machine(vf64 result, vf64 *y) {
  const vf64 v = vf64_opaque(result);
  const vm64 nan = vf64_unord(v, v);
  *y = vf64_select(nan, vf64_nan(), v);
  return vm64_or(nan, vm64_not(nan));
}

/* Whether one of n elements, at most 4 RM_LANES, is a signalling NaN: above infinity, below the first quiet NaN
 * (fp/round.h). */
#define RM_ANY_SIGNALLING(type)                                                                          \
  {                                                                                                      \
    type bits[4 * RM_LANES];                                                                             \
    const type size = (type)(rm_sign_bit(format) - 1);                                                   \
    const type first = (type)(rm_infinity_bits(format) + 1), room = (type)(rm_nan_bits(format) - first); \
    int any = 0;                                                                                         \
    __builtin_memcpy(bits, p, (uint64_t)n * sizeof *bits);                                               \
    for (int j = 0; j < n; j++) any |= (type)((bits[j] & size) - first) < room;                          \
    return any;                                                                                          \
  }
RM_FN int rm_any_signalling(const void *p, int n, int format) {
  switch (format) {
    case RM_F64: RM_ANY_SIGNALLING(uint64_t)
    case RM_F32: RM_ANY_SIGNALLING(uint32_t)
    default: RM_ANY_SIGNALLING(uint16_t)
  }
}

/* Spans: RM_SPAN_<f>_<format>, where it is defined, names a function that computes elements i, ... of n, 4 RM_LANES at a
 * time, in binary32 throughout (correctly rounded for f32, and RN24(v) on the way to f16 and bf16). It stops before the
 * first that are fewer, and returns where; without RM_B32 also, with nothing stored, before the first that need the fast
 * phase. The definition begins with an extra comma: see map.h. */
#if RM_HAS_VF32
#if RM_B32
/* 4 RM_LANES results v of which some are NaN, or infinite in the format, from arguments x: the canonical NaN, and their
 * flags, as in rm_redo (src/elementwise/special.h). */
RM_NOINLINE uint32_t rm_span_exceptions(const vf32 (*x)[2], int arity, float limit, vf32 *v) {
  const vf32 infinity = vf32_from_bits(vi32_set1(0x7f800000)), canonical = vf32_from_bits(vi32_set1(0x7fc00000));
  const vf32 zero = vf32_set1(0.0f);
  uint32_t flags = 0;
  for (int j = 0; j < 2; j++) {
    const vm32 none = vf32_ne(v[j], v[j]);
    /* 0 takes the place of results that owe nothing: a NaN of a NaN, an infinity of an infinity. */
    vf32 invalid = v[j], large = vf32_select(none, zero, v[j]), pole = zero;
    for (int k = 0; k < arity; k++) {
      invalid = vf32_select(vf32_ne(x[k][j], x[k][j]), zero, invalid);
      large = vf32_select(vf32_nle(infinity, vf32_abs(x[k][j])), large, zero);
    }
    if (arity < 3) {
      const vm32 no_pole = vf32_ne(x[arity - 1][j], zero);
      pole = vf32_select(no_pole, zero, large);
      large = vf32_select(no_pole, large, zero);
    }
    if (!vm32_none(vf32_ne(invalid, invalid))) flags |= RM_FLAG_INVALID;
    if (!vf32_all_below(pole, pole, limit)) flags |= RM_FLAG_DIVBYZERO;
    if (!vf32_all_below(large, large, limit)) flags |= RM_FLAG_OVERFLOW;
    v[j] = vf32_select(none, canonical, v[j]);
  }
  return flags;
}
#define RM_SPAN_EXCEPTIONS(arity, FMT)                       \
  *flags |= rm_span_exceptions(all, arity, (float)limit, v); \
  RM_UNROLL for (int k = 0; k < arity; k++) if (rm_any_signalling(in[k] + i, 4 * RM_LANES, FMT)) *flags |= RM_FLAG_INVALID;
#else
#define RM_SPAN_EXCEPTIONS(arity, FMT) break;
#endif
#define RM_MACHINE_SPAN(name, arity, fmt, FMT, type, value)                                                     \
  RM_FN int64_t rm_##name##_span_##fmt(const type *const *in, int64_t i, int64_t n, type *y, uint32_t *flags) { \
    (void)flags;                                                                                                \
    for (; i + 4 * RM_LANES <= n; i += 4 * RM_LANES) {                                                          \
      vf32 all[arity][2], v[2];                                                                                 \
      RM_UNROLL for (int k = 0; k < arity; k++) vf32_load2_##fmt(in[k] + i, all[k]);                            \
      RM_UNROLL for (int j = 0; j < 2; j++) {                                                                   \
        vf32 x[arity];                                                                                          \
        RM_UNROLL for (int k = 0; k < arity; k++) x[k] = all[k][j];                                             \
        v[j] = value;                                                                                           \
      }                                                                                                         \
      /* f32 has no number between its greatest and infinity */                                                 \
      const double limit = FMT == RM_F32 ? rm_overflow_limit(RM_F64) : rm_overflow_limit(FMT);                  \
      if (RM_UNLIKELY(!vf32_all_below(v[0], v[1], (float)limit))) { RM_SPAN_EXCEPTIONS(arity, FMT) }            \
      vf32_store2_##fmt(y + i, v);                                                                              \
    }                                                                                                           \
    return i;                                                                                                   \
  }
#else
#define RM_MACHINE_SPAN(name, arity, fmt, FMT, type, value)
#endif
#define RM_MACHINE_SPANS(name, arity, value)                   \
  RM_MACHINE_SPAN(name, arity, f16, RM_F16, uint16_t, value)   \
  RM_MACHINE_SPAN(name, arity, bf16, RM_BF16, uint16_t, value) \
  RM_MACHINE_SPAN(name, arity, f32, RM_F32, float, value)

/* v = s + e, s = RN(v), rounded to odd: v itself when e = 0, else the one of its two neighbours whose last bit is 1. Rounding
 * that to nearest in a precision smaller by two bits or more rounds v (Boldo and Melquiond 2008). */
RM_FN vf64 vf64_to_odd(vf64 s, vf64 e) {
  vi64 b = vf64_bits(s), away = vi64_or(vi64_sra(vi64_xor(b, vf64_bits(e)), 63), vi64_set1(1)); /* 1, or -1 towards 0 */
  vm64 stay = vm64_or(vm64_not(vi64_disjoint(b, vi64_set1(1))), vf64_eq(e, vf64_set1(0.0)));
  return vf64_select(stay, s, vf64_from_bits(vi64_add(b, away)));
}

/* The same to 16 bits, of a number that is rounded to odd. An f32 number when it is 2^-134 or more; smaller ones are 0 in f16
 * and bf16, by way of f32 too. So storing it to these formats rounds once. */
RM_FN vf64 vf64_to_odd16(vf64 v) {
  const int64_t low = (INT64_C(1) << 37) - 1;
  vi64 b = vf64_bits(v), any = vi64_add(vi64_and(b, vi64_set1(low)), vi64_set1(low)); /* bit 37: something is cut off */
  return vf64_from_bits(vi64_and(vi64_or(b, any), vi64_set1(~low)));
}
