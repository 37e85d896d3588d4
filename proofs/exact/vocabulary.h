/* The vocabulary of crlibm/simd for any number of lanes, in numbers, with the worst that simd.h allows: quotients,
 * reciprocals and roots are as far from their values as promised, to either side, and wrong where nothing is promised. */
#ifndef RM_PROOF_NUMBERS_H
#define RM_PROOF_NUMBERS_H

#include "../lanes.h"

RM_FN void vf64_store_f32(float *p, vf64 a) {
  EACH {
    const float f = (float)a.v[q_];
    __builtin_memcpy(p + q_, &f, 4);
  }
}
RM_FN void vf64_load2_f32(const float *p, vf64 v[2]) {
  for (int i = 0; i < 2 * RM_LANES; i++) {
    float f;
    __builtin_memcpy(&f, p + i, 4);
    v[i % 2].v[i / 2] = (double)f;
  }
}
RM_FN void vf64_store2_f32(float *p, const vf64 v[2]) {
  for (int i = 0; i < 2 * RM_LANES; i++) {
    const float f = (float)v[i % 2].v[i / 2];
    __builtin_memcpy(p + i, &f, 4);
  }
}
RM_FN void vf64_store_halves(double *low, double *high, vf64 v) {
  EACH *(q_ < RM_LANES / 2 ? low + q_ : high + (q_ - RM_LANES / 2)) = v.v[q_];
}
RM_FN void vf64_store_f16(uint16_t *p, vf64 a) {
  EACH {
    const uint16_t h = rm_f32_to_f16((float)a.v[q_]);
    __builtin_memcpy(p + q_, &h, 2);
  }
}
RM_FN void vf64_store_bf16(uint16_t *p, vf64 a) {
  EACH {
    const uint16_t h = rm_f32_to_bf16((float)a.v[q_]);
    __builtin_memcpy(p + q_, &h, 2);
  }
}

ONE(vf64_round_f32, (double)(float)x)
ONE(vf64_abs, __builtin_fabs(x))
ONE(vf64_neg, -x)
ONE(vf64_sqrt, __builtin_sqrt(x))
VALUES(vf64_add, x + y)
VALUES(vf64_sub, x - y)
VALUES(vf64_mul, x *y)
VALUES(vf64_div, x / y)
VALUES(vf64_min, x < y ? x : y)
VALUES(vf64_max, x > y ? x : y)
VALUES(vf64_copysign, __builtin_copysign(x, y))

RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) {
#if RM_HAS_FMA
  EACH c.v[q_] = rm_fma(a.v[q_], b.v[q_], c.v[q_]);
  return c;
#else
  return vf64_add(vf64_mul(a, b), c);
#endif
}
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) {
#if RM_HAS_FMA
  return vf64_mad(vf64_neg(a), b, c);
#else
  return vf64_sub(c, vf64_mul(a, b));
#endif
}
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) {
#if RM_HAS_FMA
  return vf64_mad(a, b, vf64_neg(p));
#else
  EACH {
    const double x = a.v[q_], y = b.v[q_], c = 134217729.0, s = c * x, t = c * y;
    const double xh = s - (s - x), yh = t - (t - y), xl = x - xh, yl = y - yh;
    p.v[q_] = ((xh * yh - p.v[q_]) + xh * yl + xl * yh) + xl * yl;
  }
  return p;
#endif
}

/* 1 or -1, in a sequence without a pattern. */
RM_FN int exact_side(void) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return state >> 63 ? 1 : -1;
}
RM_FN int exact_between(double x, double low, double high) { return __builtin_fabs(x) >= low && __builtin_fabs(x) <= high; }
/* A number off the value by almost 2^-51.9 of it, where there is one: the value's neighbours are 2^-53 to 2^-52 apart. */
RM_FN double exact_beside(long double value) {
  const double nearest = (double)value;
  double found = nearest;
  for (int side = -1; side <= 1; side += 2) {
    const double x = rm_from_bits64(rm_bits64(nearest) + (uint64_t)(int64_t)side);
    if (__builtin_fabsl(x - value) <= 0x1.1ep-52L * __builtin_fabsl(value) && (found == nearest || exact_side() > 0))
      found = x;
  }
  return found;
}
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) {
  EACH {
    const double x = a.v[q_], y = b.v[q_];
    const int known = exact_between(y, 0x1p-500, 0x1p500) &&
                      (x == 0.0 || (exact_between(x, 0x1p-960, 0x1p500) && __builtin_fabs(x / y) >= 0x1p-960));
    r->v[q_] = (1.0 + exact_side() * 0x1.fp-28) / y;
    a.v[q_] = x == 0.0 && known ? x / y : known ? exact_beside((long double)x / y) : 1.5 * (x / y);
  }
  return a;
}
RM_FN vf64 vf64_reciprocal(vf64 b) {
  EACH b.v[q_] = (exact_between(b.v[q_], 0x1p-500, 0x1p500) ? 1.0 + exact_side() * 0x1.1p-42 : 1.5) / b.v[q_];
  return b;
}
RM_FN vf64 vf64_root(vf64 a, vf64 *r) {
  EACH {
    const double x = a.v[q_], s = __builtin_sqrt(x);
    const int known = x == 0.0 || exact_between(x, 0x1p-1000, 0x1p1000);
    r->v[q_] = x == 0.0 ? 0x1p500 : (1.0 + exact_side() * 0x1.fp-28) / s;
    a.v[q_] = x == 0.0 ? s : known ? exact_beside(__builtin_sqrtl(x)) : 1.5 * s;
  }
  return a;
}
RM_FN vf64 vf64_rsqrt(vf64 a) {
  EACH a.v[q_] = (1.0 + exact_side() * (exact_between(a.v[q_], 0x1p-1022, 0x1.fffffffffffffp1023) ? 0x1.fp-41 : 0.5)) /
                 __builtin_sqrt(a.v[q_]);
  return a;
}

#endif
