/* The vocabulary of crlibm/simd for any number of lanes, but for its arithmetic: what moves, compares and selects, and
 * integers. A proof includes it and says what its values are: VALUES(name, e) defines an operation of two values by one of x
 * and y, ONE(name, e) one of x. */
#ifndef RM_PROOF_LANES_H
#define RM_PROOF_LANES_H

/* The build whose constants hold (RM_CFG_SIMD), without its intrinsics. */
#define RM_SIMD_SCALAR_H
#define RM_SIMD_AVX2_H
#define RM_SIMD_AVX512_H
#define RM_SIMD_NEON_H

#include <stddef.h>
#include <stdint.h>

#include "../crlibm/config.h"
#include "../crlibm/fp/bits.h"

#if RM_SIMD == RM_SIMD_AVX512
#define RM_LANES 8
#elif RM_SIMD == RM_SIMD_AVX2
#define RM_LANES 4
#elif RM_SIMD == RM_SIMD_NEON
#define RM_LANES 2
#else
#define RM_LANES 1
#endif

typedef struct {
  double v[RM_LANES];
} vf64;
typedef struct {
  int64_t v[RM_LANES];
} vi64;
typedef struct {
  int v[RM_LANES];
} vm64;

#define EACH for (int q_ = 0; q_ < RM_LANES; q_++)
#define ONE(name, e)            \
  RM_FN vf64 name(vf64 a) {     \
    vf64 r;                     \
    EACH {                      \
      const double x = a.v[q_]; \
      r.v[q_] = (e);            \
    }                           \
    return r;                   \
  }
#define TWO(kind, type, name, e)                         \
  RM_FN kind name(type a, type b) {                      \
    kind r;                                              \
    EACH { r.v[q_] = lane_of_##name(a.v[q_], b.v[q_]); } \
    return r;                                            \
  }
#define VALUES(name, e)                                     \
  static inline double lane_of_##name(double x, double y) { \
    (void)x, (void)y;                                       \
    return (e);                                             \
  }                                                         \
  TWO(vf64, vf64, name, e)
#define COMPARES(name, e)                                              \
  static inline int lane_of_##name(double x, double y) { return (e); } \
  TWO(vm64, vf64, name, e)
#define INTEGERS(name, e)                                      \
  static inline int64_t lane_of_##name(int64_t a, int64_t b) { \
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;           \
    return (int64_t)(e);                                       \
  }                                                            \
  TWO(vi64, vi64, name, e)
#define TESTS(name, e)                                     \
  static inline int lane_of_##name(int64_t a, int64_t b) { \
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;       \
    return (e);                                            \
  }                                                        \
  TWO(vm64, vi64, name, e)
#define MASKS(name, e)                                           \
  static inline int lane_of_##name(int x, int y) { return (e); } \
  TWO(vm64, vm64, name, e)

RM_FN vf64 vf64_load(const double *p) {
  vf64 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RM_FN void vf64_store(double *p, vf64 a) { __builtin_memcpy(p, &a, sizeof a); }
RM_FN vf64 vf64_set1(double x) {
  vf64 r;
  EACH r.v[q_] = x;
  return r;
}
RM_FN vf64 vf64_load_f32(const float *p) {
  vf64 r;
  float f;
  EACH __builtin_memcpy(&f, p + q_, 4), r.v[q_] = f;
  return r;
}
RM_FN vf64 vf64_load_f16(const uint16_t *p) {
  vf64 r;
  uint16_t h;
  EACH __builtin_memcpy(&h, p + q_, 2), r.v[q_] = rm_f16_to_f32(h);
  return r;
}
RM_FN vf64 vf64_load_bf16(const uint16_t *p) {
  vf64 r;
  uint16_t h;
  EACH __builtin_memcpy(&h, p + q_, 2), r.v[q_] = rm_bf16_to_f32(h);
  return r;
}

COMPARES(vf64_lt, x < y)
COMPARES(vf64_le, x <= y)
COMPARES(vf64_eq, x == y)
COMPARES(vf64_ne, x != y)
COMPARES(vf64_unord, x != x || y != y)
INTEGERS(vi64_add, x + y)
INTEGERS(vi64_sub, x - y)
INTEGERS(vi64_and, x &y)
INTEGERS(vi64_or, x | y)
INTEGERS(vi64_xor, x ^ y)
INTEGERS(vi64_mul_low, (x & 0xffffffff) * (y & 0xffffffff))
TESTS(vi64_disjoint, (x & y) == 0)
TESTS(vi64_eq, x == y)
TESTS(vi64_ltu, x < y)
MASKS(vm64_and, x &y)
MASKS(vm64_or, x | y)
MASKS(vm64_andnot, x & !y)
RM_FN vi64 vi64_load(const int64_t *p) {
  vi64 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RM_FN void vi64_store(int64_t *p, vi64 a) { __builtin_memcpy(p, &a, sizeof a); }
RM_FN vi64 vi64_set1(int64_t x) {
  vi64 r;
  EACH r.v[q_] = x;
  return r;
}
RM_FN vi64 vf64_bits(vf64 a) {
  vi64 r;
  __builtin_memcpy(&r, &a, sizeof r);
  return r;
}
RM_FN vf64 vf64_from_bits(vi64 a) {
  vf64 r;
  __builtin_memcpy(&r, &a, sizeof r);
  return r;
}
RM_FN vi64 vi64_sll(vi64 a, int n) {
  EACH a.v[q_] = (int64_t)((uint64_t)a.v[q_] << n);
  return a;
}
RM_FN vi64 vi64_srl(vi64 a, int n) {
  EACH a.v[q_] = (int64_t)((uint64_t)a.v[q_] >> n);
  return a;
}
RM_FN vi64 vi64_sra(vi64 a, int n) {
  EACH a.v[q_] >>= n;
  return a;
}
RM_FN vf64 vi64_to_f64(vi64 a) {
  vf64 r;
  EACH r.v[q_] = (double)a.v[q_];
  return r;
}
RM_FN vf64 vi64_round_f64(vi64 a) { return vi64_to_f64(a); }
RM_FN vm64 vm64_not(vm64 a) {
  EACH a.v[q_] = !a.v[q_];
  return a;
}
RM_FN int vm64_none(vm64 a) {
  int any = 0;
  EACH any |= a.v[q_];
  return !any;
}
RM_FN uint32_t vm64_bits(vm64 a) {
  uint32_t r = 0;
  EACH r |= (uint32_t)(a.v[q_] != 0) << q_;
  return r;
}
RM_FN vf64 vf64_select(vm64 m, vf64 a, vf64 b) {
  EACH a.v[q_] = m.v[q_] ? a.v[q_] : b.v[q_];
  return a;
}
RM_FN vf64 vf64_lookup16(const double *t, vi64 i) {
  vf64 r;
  EACH r.v[q_] = t[i.v[q_] & 15];
  return r;
}
RM_FN vi64 vi64_lookup16(const int64_t *t, vi64 i) {
  vi64 r;
  EACH r.v[q_] = t[i.v[q_] & 15];
  return r;
}
RM_FN void vf64_transpose(vf64 t[RM_LANES]) {
  for (int i = 0; i < RM_LANES; i++)
    for (int j = 0; j < i; j++) {
      const double x = t[i].v[j];
      t[i].v[j] = t[j].v[i];
      t[j].v[i] = x;
    }
}
RM_FN vi64 vi64_load_u32(const void *p) {
  vi64 r;
  EACH r.v[q_] = ((const uint32_t *)p)[q_];
  return r;
}
RM_FN vi64 vi64_load_u32_halves(const void *low, const void *high) { /* with 8 lanes alone */
  uint32_t w[8];
  vi64 r;
  __builtin_memcpy(w, low, 16);
  __builtin_memcpy(w + 4, high, 16);
  for (int i = 0; i < RM_LANES; i++) r.v[i] = w[i];
  return r;
}
RM_FN vi64 vi64_pair_numbers(void) {
  vi64 r;
  EACH r.v[q_] = q_;
  return r;
}
RM_FN void vi64_store_pairs(int64_t *p, vi64 a, vi64 b) { EACH p[2 * q_] = a.v[q_], p[2 * q_ + 1] = b.v[q_]; }

#endif
