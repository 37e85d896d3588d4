/* The C tests' only framework: a counter, two macros, and the list of functions from the manifest. */
#ifndef RM_TESTS_CHECK_H
#define RM_TESTS_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <repmath/repmath.h>

static int checks_passed, checks_failed;

/* Counts; prints the first failures only, so that a broken kernel does not bury the rest. */
static inline int check_(int ok, const char *what, const char *detail, const char *file, int line) {
  if (ok) {
    checks_passed++;
  } else if (checks_failed++ < 20) {
    printf("%s:%d: FAILED %s%s%s\n", file, line, what, detail[0] ? ": " : "", detail);
  }
  return ok;
}
#define CHECK(condition) check_(!!(condition), #condition, "", __FILE__, __LINE__)
#define CHECK_FOR(condition, detail) check_(!!(condition), #condition, detail, __FILE__, __LINE__)

static inline int finish(void) {
  printf("%d passed, %d failed\n", checks_passed, checks_failed);
  return checks_failed != 0;
}

/* Call first: leaves with ctest's skip code when REPMATH_ISA asks for a build this CPU cannot run, and otherwise proves that
 * the build asked for is the one in use. */
static inline void require_isa(void) {
  const char *wanted = getenv("REPMATH_ISA");
  if (!wanted || !*wanted) return;
  if (!rm_isa_available(wanted)) {
    printf("skipped: no %s build here\n", wanted);
    exit(77);
  }
  CHECK(rm_isa() && strcmp(rm_isa(), wanted) == 0);
}

/* Every elementwise function in every format, seen as byte arrays. A function of several arguments is given x for each of
 * them, or, as `pairs`, x and x read backwards in turn. */
typedef rm_status array_fn(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy);
struct entry {
  const char *name, *format;
  int size, arity, gradient; /* bytes of an element, number of arguments, whether these are g and x */
  array_fn *array, *pairs; /* the strided array function */
  void (*one)(const void *x, void *y); /* the scalar function */
};
#define BACKWARDS(x) ((const char *)(x) + (n > 0 ? n - 1 : 0) * sx)
#define SAME_1(type) (const type *)x, sx
#define SAME_2(type) (const type *)x, sx, (const type *)x, sx
#define SAME_3(type) (const type *)x, sx, (const type *)x, sx, (const type *)x, sx
#define PAIRS_1(type) (const type *)x, sx
#define PAIRS_2(type) (const type *)x, sx, (const type *)(const void *)BACKWARDS(x), -sx
#define PAIRS_3(type) (const type *)x, sx, (const type *)(const void *)BACKWARDS(x), -sx, (const type *)x, sx
#define VALUES_1 v
#define VALUES_2 v, v
#define VALUES_3 v, v, v
#define ENTRY_FORMAT(f, arity, fmt, type)                                                             \
  static rm_status f##_##fmt##_array(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy) { \
    return rm_v##f##_##fmt(n, SAME_##arity(type), (type *)y, sy);                                     \
  }                                                                                                   \
  static rm_status f##_##fmt##_pairs(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy) { \
    return rm_v##f##_##fmt(n, PAIRS_##arity(type), (type *)y, sy);                                    \
  }                                                                                                   \
  static void f##_##fmt##_one(const void *x, void *y) {                                               \
    type v;                                                                                           \
    memcpy(&v, x, sizeof v);                                                                          \
    v = rm_##f##_##fmt(VALUES_##arity);                                                               \
    memcpy(y, &v, sizeof v);                                                                          \
  }
#define RM_FUNCTION(f, F, arity, ...)   \
  ENTRY_FORMAT(f, arity, f16, rm_f16)   \
  ENTRY_FORMAT(f, arity, bf16, rm_bf16) \
  ENTRY_FORMAT(f, arity, f32, float)    \
  ENTRY_FORMAT(f, arity, f64, double)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

#define ENTRY(f, arity, gradient, fmt, size) \
  {#f, #fmt, size, arity, gradient, f##_##fmt##_array, f##_##fmt##_pairs, f##_##fmt##_one}
static const struct entry entries[] = {
#define RM_FUNCTION(f, F, arity, gradient, ...)                                                             \
  ENTRY(f, arity, gradient, f16, 2), ENTRY(f, arity, gradient, bf16, 2), ENTRY(f, arity, gradient, f32, 4), \
      ENTRY(f, arity, gradient, f64, 8),
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* SplitMix64 (Steele, Lea, Flood 2014): the tests' inputs are the same on every machine. */
static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}
static inline float as_f32(uint32_t b) {
  float x;
  memcpy(&x, &b, 4);
  return x;
}
static inline double as_f64(uint64_t b) {
  double x;
  memcpy(&x, &b, 8);
  return x;
}

/* n elements for an entry: half of them any bits at all, half moderate numbers; the first few are the special ones. */
static inline void fill_inputs(const struct entry *e, int64_t n, unsigned char *x, uint64_t seed) {
  static const uint64_t special64[] = {0,
                                       UINT64_C(0x8000000000000000),
                                       1,
                                       UINT64_C(0x8000000000000001),
                                       UINT64_C(0x000fffffffffffff),
                                       UINT64_C(0x7ff0000000000000),
                                       UINT64_C(0xfff0000000000000),
                                       UINT64_C(0x7ff8000000000001),
                                       UINT64_C(0x3ff0000000000000),
                                       UINT64_C(0xbff0000000000000)};
  static const uint32_t special32[] = {0,           0x80000000u, 1,           0x80000001u, 0x007fffffu,
                                       0x7f800000u, 0xff800000u, 0x7fc00001u, 0x3f800000u, 0xbf800000u};
  for (int64_t i = 0; i < n; i++) {
    uint64_t w = next_random(&seed);
    if (e->size == 8) {
      double moderate = ((double)(w >> 11) * 0x1p-53 - 0.5) * 64;
      if (i < 10) w = special64[i];
      else if (w & 1) memcpy(&w, &moderate, 8);
      memcpy(x + 8 * i, &w, 8);
    } else if (e->size == 4) {
      float moderate = ((float)(w >> 40) * 0x1p-24f - 0.5f) * 64;
      uint32_t h = (uint32_t)(w >> 32);
      if (i < 10) h = special32[i];
      else if (w & 1) memcpy(&h, &moderate, 4);
      memcpy(x + 4 * i, &h, 4);
    } else {
      uint16_t h = (uint16_t)(w >> 48);
      memcpy(x + 2 * i, &h, 2);
    }
  }
}

#endif
