/* One loop per function and format over the kernels of crlibm/<function>. Included by loops.c only.
 *
 * A kernel gives, for a vector of inputs, a result and the lanes that it leaves open:
 *   vf64 rm_<f>_eval(vf64 x)                                   binary64, relative error below RM_<F>_F32_ERR
 *   void rm_<f>_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err)      double-double, absolute error below |err|
 *   RM_<F>_ODD: both evaluate f(|x|), and the result takes the sign of x
 *   vm64 rm_<f>_special(vf64 x, int format)                    lanes outside their domain, for results in this format
 *   vm64 rm_<f>_settled(vf64 x, int format, vf64 *y)           special lanes whose result is known at once, put into y
 * The block loop stores results and tests one mask; only flagged lanes that are not settled are computed again, by rm_slow_table. */
#ifndef RM_ELEMENTWISE_MAP_H
#define RM_ELEMENTWISE_MAP_H

#include "../../crlibm/fp/round.h"
#include "slow.h"

/* A NaN whose use is an invalid operation: above infinity, below the first quiet one. */
RM_FN int rm_is_signalling(uint64_t bits, int format) {
  uint64_t size = bits & (rm_sign_bit(format) - 1);
  return size > rm_infinity_bits(format) && size < rm_nan_bits(format);
}

enum { RM_BUFFER = 256 }; /* elements of a strided array that are gathered at a time; a multiple of 2 RM_LANES */

typedef vm64 rm_settled(vf64 x, int format, vf64 *y);

#define RM_DEFINE_MAP(fmt, FMT, type, load, store)                                                                       \
  typedef vm64 rm_step_##fmt(vf64 x, vf64 *y);                                                                           \
                                                                                                                         \
  /* The elements of `mask` again, by the slow path. x is not y: the block loop copies it before it stores. */           \
  RM_COLD uint32_t redo_##fmt(const type *x, uint32_t mask, type *y, int function) {                                     \
    uint32_t flags = 0;                                                                                                  \
    for (int i = 0; mask >> i; i++)                                                                                      \
      if (mask >> i & 1u) {                                                                                              \
        uint64_t bits = 0; /* little endian */                                                                           \
        __builtin_memcpy(&bits, x + i, sizeof(type));                                                                    \
        if (rm_is_signalling(bits, FMT)) flags |= RM_FLAG_INVALID; /* a conversion would quieten it */                   \
        bits = rm_slow_table[function](rm_to_double(bits, FMT), FMT, RM_NEAREST, &flags);                                \
        __builtin_memcpy(y + i, &bits, sizeof(type));                                                                    \
      }                                                                                                                  \
    return flags;                                                                                                        \
  }                                                                                                                      \
                                                                                                                         \
  RM_FN uint32_t map_contiguous_##fmt(rm_step_##fmt *step, rm_settled *settled, int function, int64_t n, const type *x,  \
                                      type *y) {                                                                         \
    uint32_t flags = 0;                                                                                                  \
    int64_t i = 0;                                                                                                       \
    for (; i + 2 * RM_LANES <= n; i += 2 * RM_LANES) {                                                                   \
      vf64 y0, y1;                                                                                                       \
      vm64 m0 = step(load(x + i), &y0), m1 = step(load(x + i + RM_LANES), &y1);                                          \
      if (RM_LIKELY(vm64_none(vm64_or(m0, m1)))) {                                                                       \
        store(y + i, y0);                                                                                                \
        store(y + i + RM_LANES, y1);                                                                                     \
      } else {                                                                                                           \
        type in[2 * RM_LANES];                                                                                           \
        __builtin_memcpy(in, x + i, sizeof in);                                                                          \
        m0 = vm64_andnot(m0, settled(load(in), FMT, &y0));                                                               \
        m1 = vm64_andnot(m1, settled(load(in + RM_LANES), FMT, &y1));                                                    \
        store(y + i, y0);                                                                                                \
        store(y + i + RM_LANES, y1);                                                                                     \
        uint32_t mask = vm64_bits(m0) | vm64_bits(m1) << RM_LANES;                                                       \
        if (mask) flags |= redo_##fmt(in, mask, y + i, function);                                                        \
      }                                                                                                                  \
    }                                                                                                                    \
    while (i < n) { /* the tail, in a padded vector */                                                                   \
      int count = n - i < RM_LANES ? (int)(n - i) : RM_LANES;                                                            \
      type in[RM_LANES] = {0}, out[RM_LANES];                                                                            \
      __builtin_memcpy(in, x + i, (size_t)count * sizeof(type));                                                         \
      vf64 y0;                                                                                                           \
      uint32_t mask = vm64_bits(step(load(in), &y0)) & ((1u << count) - 1u);                                             \
      store(out, y0);                                                                                                    \
      if (RM_UNLIKELY(mask)) flags |= redo_##fmt(in, mask, out, function);                                               \
      __builtin_memcpy(y + i, out, (size_t)count * sizeof(type));                                                        \
      i += count;                                                                                                        \
    }                                                                                                                    \
    return flags;                                                                                                        \
  }                                                                                                                      \
                                                                                                                         \
  RM_FN uint32_t map_##fmt(rm_step_##fmt *step, rm_settled *settled, int function, int64_t n, const char *x, ptrdiff_t sx,\
                           char *y, ptrdiff_t sy) {                                                                      \
    if (sx == sizeof(type) && sy == sizeof(type))                                                                        \
      return map_contiguous_##fmt(step, settled, function, n, (const type *)(const void *)x, (type *)(void *)y);         \
    uint32_t flags = 0;                                                                                                  \
    type buffer[RM_BUFFER];                                                                                              \
    for (int64_t i = 0; i < n; i += RM_BUFFER) {                                                                         \
      int64_t count = n - i < RM_BUFFER ? n - i : RM_BUFFER;                                                             \
      for (int64_t j = 0; j < count; j++) __builtin_memcpy(buffer + j, x + (i + j) * sx, sizeof(type));                  \
      flags |= map_contiguous_##fmt(step, settled, function, count, buffer, buffer);                                     \
      for (int64_t j = 0; j < count; j++) __builtin_memcpy(y + (i + j) * sy, buffer + j, sizeof(type));                  \
    }                                                                                                                    \
    return flags;                                                                                                        \
  }

RM_DEFINE_MAP(f16, RM_F16, uint16_t, vf64_load_f16, vf64_store_f16)
RM_DEFINE_MAP(bf16, RM_BF16, uint16_t, vf64_load_bf16, vf64_store_bf16)
RM_DEFINE_MAP(f32, RM_F32, float, vf64_load_f32, vf64_store_f32)
RM_DEFINE_MAP(f64, RM_F64, double, vf64_load, vf64_store)

/* The four loops of one function. The steps are inlined into the loops. */
#define RM_MAP_FUNCTION(name, NAME)                                                                                      \
  RM_FN vm64 step_##name##_f16(vf64 x, vf64 *y) {                                                                        \
    vf64 v = rm_##name##_eval(x);                                                                                        \
    *y = RM_##NAME##_ODD ? vf64_copysign(v, x) : v;                                                                      \
    return vm64_or(rm_##name##_special(x, RM_F16), vf64_undecided_f16(v));                                               \
  }                                                                                                                      \
  RM_FN vm64 step_##name##_bf16(vf64 x, vf64 *y) {                                                                       \
    vf64 v = rm_##name##_eval(x);                                                                                        \
    *y = RM_##NAME##_ODD ? vf64_copysign(v, x) : v;                                                                      \
    return vm64_or(rm_##name##_special(x, RM_BF16), vf64_undecided_bf16(v));                                             \
  }                                                                                                                      \
  RM_FN vm64 step_##name##_f32(vf64 x, vf64 *y) {                                                                        \
    vf64 v = rm_##name##_eval(x);                                                                                        \
    *y = RM_##NAME##_ODD ? vf64_copysign(v, x) : v;                                                                      \
    return vm64_or(rm_##name##_special(x, RM_F32), vf64_undecided_f32(v, RM_##NAME##_F32_ERR));                          \
  }                                                                                                                      \
  RM_FN vm64 step_##name##_f64(vf64 x, vf64 *y) {                                                                        \
    vf64 hi, lo, err, v;                                                                                                 \
    rm_##name##_dd(x, &hi, &lo, &err);                                                                                   \
    vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);                                                                \
    *y = RM_##NAME##_ODD ? vf64_copysign(v, x) : v;                                                                      \
    return vm64_or(rm_##name##_special(x, RM_F64), undecided);                                                           \
  }                                                                                                                      \
  RM_MAP_ENTRY(name, f16)                                                                                                \
  RM_MAP_ENTRY(name, bf16)                                                                                               \
  RM_MAP_ENTRY(name, f32)                                                                                                \
  RM_MAP_ENTRY(name, f64)

#define RM_MAP_ENTRY(name, fmt)                                                                                          \
  RM_LOCAL uint32_t map_##name##_##fmt(int64_t n, const char *x, ptrdiff_t sx, char *y, ptrdiff_t sy) {                  \
    return map_##fmt(step_##name##_##fmt, rm_##name##_settled, RM_FN_##name, n, x, sx, y, sy);                           \
  }

#endif
