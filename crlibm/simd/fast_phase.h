/* The fast phase of a function in each format: it evaluates a vector, rounds, and says which lanes are undecided.
 * RM_FAST_PHASE makes the four of a function from its kernels:
 *
 *   vf64 rm_<f>_eval(vf64 x ...)                                    binary64, relative error below RM_<F>_B64_ERR
 *   void rm_<f>_dd(vf64 x ..., vf64 *hi, vf64 *lo, vf64 *err)       double-double, absolute error below |err|
 *   vm64 rm_<f>_special(vf64 x ..., int format)                     lanes outside their domain, for results in this format
 *   RM_<F>_ODD                                                      1: both evaluate f(|x|), and the result takes the sign of
 *                                                                   x
 *
 * The fast phase is vm64 rm_<f>_fast_<format>(const vf64 *x, vf64 *y): the arguments are x[0], x[1] ...; lanes of *y that are
 * not in the returned mask store as the correctly rounded result. A function may write its fast phase itself. */
#pragma once

#include "undecided.h"

/* The arguments of a function, as a list taken from an array and as parameters, by their number. */
#define RM_ARGUMENTS_1(x) (x)[0]
#define RM_ARGUMENTS_2(x) (x)[0], (x)[1]
#define RM_ARGUMENTS_3(x) (x)[0], (x)[1], (x)[2]
#define RM_VECTORS_1 vf64 x
#define RM_VECTORS_2 vf64 x, vf64 y
#define RM_VECTORS_3 vf64 x, vf64 y, vf64 z
#define RM_NAMES_1 x
#define RM_NAMES_2 x, y
#define RM_NAMES_3 x, y, z
/* Of those parameters all but the first, where only that one is used. */
#define RM_UNUSED_1 (void)0
#define RM_UNUSED_2 (void)y
#define RM_UNUSED_3 (void)y, (void)z

/* The evaluation as one copy for both 16-bit formats, whose loops have tables or binary32 before it. */
#define RM_SHARED_EVAL(name, arity) \
  RM_NOINLINE vf64 rm_##name##_shared(RM_VECTORS_##arity) { return rm_##name##_eval(RM_NAMES_##arity); }
#define RM_FAST_FORMAT(name, NAME, arity, eval, fmt, FMT, undecided)              \
  RM_FN vm64 rm_##name##_fast_##fmt(const vf64 *x, vf64 *y) {                     \
    vf64 v = rm_##name##_##eval(RM_ARGUMENTS_##arity(x));                         \
    *y = RM_##NAME##_ODD ? vf64_copysign(v, x[0]) : v;                            \
    return vm64_or(rm_##name##_special(RM_ARGUMENTS_##arity(x), FMT), undecided); \
  }
/* The three formats of rm_<f>_eval, and that of rm_<f>_dd: a function that writes the other itself, or whose signs differ,
 * takes one. */
#define RM_FAST_PHASE_B64(name, NAME, arity)                                       \
  RM_SHARED_EVAL(name, arity)                                                      \
  RM_FAST_FORMAT(name, NAME, arity, shared, f16, RM_F16, vf64_undecided_f16(v))    \
  RM_FAST_FORMAT(name, NAME, arity, shared, bf16, RM_BF16, vf64_undecided_bf16(v)) \
  RM_FAST_FORMAT(name, NAME, arity, eval, f32, RM_F32, vf64_undecided_f32(v, RM_##NAME##_B64_ERR))
/* The same of a function whose results may be subnormal. */
#define RM_FAST_PHASE_B64_ANY(name, NAME, arity)                                                                \
  RM_SHARED_EVAL(name, arity)                                                                                   \
  RM_FAST_FORMAT(name, NAME, arity, shared, f16, RM_F16, vf64_undecided_any(v, RM_##NAME##_B64_ERR, RM_F16))    \
  RM_FAST_FORMAT(name, NAME, arity, shared, bf16, RM_BF16, vf64_undecided_any(v, RM_##NAME##_B64_ERR, RM_BF16)) \
  RM_FAST_FORMAT(name, NAME, arity, eval, f32, RM_F32, vf64_undecided_any(v, RM_##NAME##_B64_ERR, RM_F32))
#define RM_FAST_PHASE_DD(name, odd, arity)                                           \
  RM_FN vm64 rm_##name##_fast_f64(const vf64 *x, vf64 *y) {                          \
    vf64 hi, lo, err, v;                                                             \
    rm_##name##_dd(RM_ARGUMENTS_##arity(x), &hi, &lo, &err);                         \
    vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);                            \
    *y = odd ? vf64_copysign(v, x[0]) : v;                                           \
    return vm64_or(rm_##name##_special(RM_ARGUMENTS_##arity(x), RM_F64), undecided); \
  }
#define RM_FAST_PHASE(name, NAME, arity) \
  RM_FAST_PHASE_B64(name, NAME, arity)   \
  RM_FAST_PHASE_DD(name, RM_##NAME##_ODD, arity)

/* The same for kernels whose results may be zero or subnormal, of either sign, and whose special lanes (asked for in f64
 * only) do not include those. overflow: 1 when a result may overflow or an argument's infinity reach it, which the accurate
 * phase then sees. */
#define RM_FAST_FORMAT_ANY(name, NAME, arity, eval, overflow, fmt, FMT)        \
  RM_FN vm64 rm_##name##_fast_##fmt(const vf64 *x, vf64 *y) {                  \
    *y = rm_##name##_##eval(RM_ARGUMENTS_##arity(x));                          \
    vm64 undecided = vf64_undecided_any(*y, RM_##NAME##_B64_ERR, FMT);         \
    return overflow ? vm64_or(undecided, vf64_overflows(*y, FMT)) : undecided; \
  }
#define RM_FAST_PHASE_DD_ANY(name, arity)                                            \
  RM_FN vm64 rm_##name##_fast_f64(const vf64 *x, vf64 *y) {                          \
    vf64 hi, lo, err, v;                                                             \
    rm_##name##_dd(RM_ARGUMENTS_##arity(x), &hi, &lo, &err);                         \
    vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);                            \
    *y = vf64_copysign(v, hi); /* -0 + lo is +0 */                                   \
    return vm64_or(rm_##name##_special(RM_ARGUMENTS_##arity(x), RM_F64), undecided); \
  }
#define RM_FAST_PHASE_ANY(name, NAME, arity, overflow)                   \
  RM_SHARED_EVAL(name, arity)                                            \
  RM_FAST_FORMAT_ANY(name, NAME, arity, shared, overflow, f16, RM_F16)   \
  RM_FAST_FORMAT_ANY(name, NAME, arity, shared, overflow, bf16, RM_BF16) \
  RM_FAST_FORMAT_ANY(name, NAME, arity, eval, overflow, f32, RM_F32)     \
  RM_FAST_PHASE_DD_ANY(name, arity)

/* The same for a function that changes sign: vf64 rm_<f>_eval(vf64 x ..., vf64 *err) is within err, which includes 2^-52 of
 * the result. */
#define RM_FAST_FORMAT_WITHIN(name, arity, eval, fmt, FMT)                        \
  RM_FN vm64 rm_##name##_fast_##fmt(const vf64 *x, vf64 *y) {                     \
    vf64 err;                                                                     \
    *y = rm_##name##_##eval(RM_ARGUMENTS_##arity(x), &err);                       \
    return vm64_or(vf64_overflows(*y, FMT), vf64_undecided_within(*y, err, FMT)); \
  }
#define RM_FAST_PHASE_WITHIN(name, arity)                                                                                \
  RM_NOINLINE vf64 rm_##name##_shared(RM_VECTORS_##arity, vf64 *err) { return rm_##name##_eval(RM_NAMES_##arity, err); } \
  RM_FAST_FORMAT_WITHIN(name, arity, shared, f16, RM_F16)                                                                \
  RM_FAST_FORMAT_WITHIN(name, arity, shared, bf16, RM_BF16)                                                              \
  RM_FAST_FORMAT_WITHIN(name, arity, eval, f32, RM_F32)                                                                  \
  RM_FAST_PHASE_DD_ANY(name, arity)

/* For a function none of whose special lanes can be decided in the vector. */
#define RM_NONE_DECIDED(name, arity)                                        \
  RM_FN vm64 rm_##name##_decided(RM_VECTORS_##arity, int format, vf64 *r) { \
    (void)format, (void)r, RM_UNUSED_##arity;                               \
    return vf64_lt(x, x);                                                   \
  }

/* For a function without a double-double kernel: every f64 lane is undecided. */
#define RM_NO_DD(name, arity)                                                               \
  RM_FN void rm_##name##_dd(RM_VECTORS_##arity, vf64 *hi, vf64 *lo, vf64 *err) {            \
    RM_UNUSED_##arity;                                                                      \
    *hi = x, *lo = vf64_set1(0.0), *err = vf64_from_bits(vi64_set1(INT64_C(0x7ff8) << 48)); \
  }
