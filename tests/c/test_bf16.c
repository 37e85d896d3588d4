/* The CPU's products of pairs of bf16 numbers do what crlibm/simd/bf16.h says, which bounds in src/blas/gemm/bound_b32.h
 * take for granted: two fused additions, each rounded to nearest even, with subnormal inputs and results taken for zeros,
 * whatever MXCSR says. The first product to be added is that of the higher halves. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#if defined(__x86_64__) && defined(RM_CFG_BF16) /* the compiler has the instruction */
#include <cpuid.h>
#include <immintrin.h>

static int has_pairs(void) {
  unsigned a, b, c, d;
  return __builtin_cpu_supports("avx512f") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1 << 5);
}

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

static float from_bits(uint32_t b) {
  float x;
  memcpy(&x, &b, 4);
  return x;
}
static uint32_t bits_of(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  return b;
}
/* A number below 2^-126 as a zero of its sign. */
static float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0.0f, x) : x; }
static float widened(uint32_t half) { return flushed(from_bits(half << 16)); }

/* A bf16 number: of any bits, of few exponents, or with few bits, so that sums cancel and lie at ties. */
static uint32_t some(int kind) {
  const uint32_t r = (uint32_t)next();
  if (kind == 0) return r & 0xffff;
  if (kind == 1) return (r & 0x80ff) | ((120 + r % 16) << 7 & 0x7f80);
  return (r & 0x8000) | ((60 + r % 128) << 7 & 0x7f80) | (r >> 20 & 0x40);
}

/* How many of 16 sums are not those of two fused additions, one after the other; the caller's rounding is `mode`. */
__attribute__((target("avx512f,avx512bf16,fma"))) static int compared(int kind, int mode) {
  uint32_t a[16], b[16];
  float s[16], got[16];
  int wrong = 0;
  for (int l = 0; l < 16; l++) {
    a[l] = some(kind) | some(kind) << 16, b[l] = some(kind) | some(kind) << 16;
    const float product = widened(some(kind)) * widened(some(kind));
    s[l] = kind == 0   ? from_bits((uint32_t)next())
           : kind == 1 ? from_bits(bits_of(product) ^ (uint32_t)(next() % 4))
                       : product * 0x1p23f;
    s[l] = flushed(s[l]);
  }
  fesetround(mode);
  _mm512_storeu_ps(got,
                   _mm512_dpbf16_ps(_mm512_loadu_ps(s), (__m512bh)_mm512_loadu_si512(a), (__m512bh)_mm512_loadu_si512(b)));
  fesetround(FE_TONEAREST);
  for (int l = 0; l < 16; l++) {
    const float first = flushed(fmaf(widened(a[l] >> 16), widened(b[l] >> 16), s[l])),
                both = flushed(fmaf(widened(a[l] & 0xffff), widened(b[l] & 0xffff), first));
    wrong += bits_of(both) != bits_of(got[l]) && !(both != both && got[l] != got[l]);
  }
  return wrong;
}

int main(void) {
  if (!has_pairs()) return 77;
  for (int kind = 0; kind < 3; kind++) {
    for (int part = 0; part < 10; part++) {
      int wrong = 0;
      for (int i = 0; i < 10000; i++) wrong += compared(kind, i % 2 ? FE_TONEAREST : FE_UPWARD);
      CHECK(wrong == 0);
    }
  }
  return finish();
}
#else
int main(void) { return 77; }
#endif
