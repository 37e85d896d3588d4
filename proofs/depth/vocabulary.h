/* The vocabulary of crlibm/simd for any number of lanes, over depths instead of numbers. 0 is nothing: the +0 that a sum begins with,
 * padding. d + 1 is a value that some term has reached through at most d rounded additions. An element is 1; a product of two elements is
 * exact in the formats below binary64 and no deeper than they are; a sum is one deeper than the deeper operand, unless one is nothing.
 *
 * A source of the library compiled with it is run as it is, and its results say how many roundings a term has passed, whatever the data.
 * A term of MARK + 1 is deeper than all others: what the result has beyond MARK is that term's own count. */
#ifndef RM_PROOF_VOCABULARY_H
#define RM_PROOF_VOCABULARY_H

/* The build whose constants hold (RM_CFG_SIMD), without its intrinsics. */
#define RM_SIMD_SCALAR_H
#define RM_SIMD_AVX2_H
#define RM_SIMD_AVX512_H
#define RM_SIMD_NEON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/config.h"
#include "../../crlibm/fp/bits.h"

#if RM_SIMD == RM_SIMD_AVX512
#define RM_LANES 8
#elif RM_SIMD == RM_SIMD_AVX2
#define RM_LANES 4
#elif RM_SIMD == RM_SIMD_NEON
#define RM_LANES 2
#else
#define RM_LANES 1
#endif

#define MARK 1e9

typedef struct {
  double v[RM_LANES];
} vf64;
typedef struct {
  int64_t v[RM_LANES];
} vi64;
typedef struct {
  int v[RM_LANES];
} vm64;

static inline double depth_sum(double a, double b) { return a == 0 ? b : b == 0 ? a : (a > b ? a : b) + 1; }
static inline double depth_product(double a, double b) { return a == 0 || b == 0 ? 0 : a > b ? a : b; }

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
#define TWO(kind, type, name, e)                                        \
  RM_FN kind name(type a, type b) {                                     \
    kind r;                                                             \
    EACH { r.v[q_] = depth_of_##name(a.v[q_], b.v[q_]); }               \
    return r;                                                           \
  }
#define DEPTHS(name, e)                                                           \
  static inline double depth_of_##name(double x, double y) { (void)x, (void)y; return (e); } \
  TWO(vf64, vf64, name, e)
#define COMPARES(name, e)                                               \
  static inline int depth_of_##name(double x, double y) { return (e); } \
  TWO(vm64, vf64, name, e)
#define INTEGERS(name, e)                                                                          \
  static inline int64_t depth_of_##name(int64_t a, int64_t b) {                                    \
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;                                               \
    return (int64_t)(e);                                                                           \
  }                                                                                                \
  TWO(vi64, vi64, name, e)
#define TESTS(name, e)                                             \
  static inline int depth_of_##name(int64_t a, int64_t b) {        \
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;               \
    return (e);                                                    \
  }                                                                \
  TWO(vm64, vi64, name, e)
#define MASKS(name, e)                                            \
  static inline int depth_of_##name(int x, int y) { return (e); } \
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
/* Nothing is stored in a format: what counts are the depths before. */
RM_FN void vf64_store_f32(float *p, vf64 a) { (void)p, (void)a; }
RM_FN void vf64_store_f16(uint16_t *p, vf64 a) { (void)p, (void)a; }
RM_FN void vf64_store_bf16(uint16_t *p, vf64 a) { (void)p, (void)a; }

ONE(vf64_round_f32, x)
ONE(vf64_abs, x)
ONE(vf64_neg, x)
ONE(vf64_sqrt, x)
ONE(vf64_reciprocal, x)
ONE(vf64_rsqrt, x)
DEPTHS(vf64_add, depth_sum(x, y))
DEPTHS(vf64_sub, depth_sum(x, y))
DEPTHS(vf64_mul, depth_product(x, y))
DEPTHS(vf64_div, x)
DEPTHS(vf64_min, x < y ? x : y)
DEPTHS(vf64_max, x > y ? x : y)
DEPTHS(vf64_copysign, x)
COMPARES(vf64_lt, x < y)
COMPARES(vf64_le, x <= y)
COMPARES(vf64_eq, x == y)
COMPARES(vf64_ne, x != y)
COMPARES(vf64_unord, x != x || y != y)
INTEGERS(vi64_add, x + y)
INTEGERS(vi64_sub, x - y)
INTEGERS(vi64_and, x & y)
INTEGERS(vi64_or, x | y)
INTEGERS(vi64_xor, x ^ y)
INTEGERS(vi64_mul_low, (x & 0xffffffff) * (y & 0xffffffff))
TESTS(vi64_disjoint, (x & y) == 0)
TESTS(vi64_eq, x == y)
TESTS(vi64_ltu, x < y)
MASKS(vm64_and, x & y)
MASKS(vm64_or, x | y)
MASKS(vm64_andnot, x & !y)
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return vf64_add(vf64_mul(a, b), c); }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return vf64_mad(a, b, c); }
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) { return (void)a, (void)b, (void)p, vf64_set1(0.0); }
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) { return *r = b, a; }
RM_FN vf64 vf64_root(vf64 a, vf64 *r) { return *r = a, a; }
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

/* What a run has found. depth_less: a control takes so many roundings from every allowance. */
static double depth_less;
typedef struct {
  const char *name;
  int64_t cases, beyond;
  double least; /* the least of what is left of an allowance */
  char where[160];
} record;
static record *record_of(const char *name) {
  static record all[64];
  for (int i = 0; i < 64; i++) {
    if (!all[i].name) all[i] = (record){name, 0, 0, 1e300, ""};
    if (strcmp(all[i].name, name) == 0) return all + i;
  }
  exit(3);
}
/* Checks one count; `where` says which case it is. */
static void counted(record *r, double count, double allowed, const char *where) {
  const double left = allowed - depth_less - count;
  r->cases++;
  if (left < 0) r->beyond++;
  if (left < r->least) r->least = left, snprintf(r->where, sizeof r->where, "%s", where);
}
/* One line a check; 1 where a count is beyond what is allowed, or nothing was counted. */
static int told(const record *r) {
  printf("%-34s lanes %d: %lld counts, least left %g (%s), beyond %lld\n", r->name, RM_LANES, (long long)r->cases, r->least, r->where,
         (long long)r->beyond);
  return r->beyond != 0 || r->cases == 0;
}

#endif
