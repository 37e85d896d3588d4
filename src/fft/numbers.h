/* Vectors of numbers of both tiers, by one set of names: a number x of an array is in planes (plan.h). */
#pragma once

#include "../../crlibm/simd/undecided.h"

typedef vf64 rm_fft_b64;
typedef struct {
  vf64 hi, lo;
} rm_fft_dd;

RM_FN rm_fft_b64 rm_fft_load_b64(const double *p, int64_t plane) { return (void)plane, vf64_load(p); }
RM_FN rm_fft_b64 rm_fft_set_b64(const double *p, int64_t plane) { return (void)plane, vf64_set1(*p); }
RM_FN void rm_fft_store_b64(double *p, int64_t plane, rm_fft_b64 x) { (void)plane, vf64_store(p, x); }
RM_FN rm_fft_b64 rm_fft_add_b64(rm_fft_b64 a, rm_fft_b64 b) { return vf64_add(a, b); }
RM_FN rm_fft_b64 rm_fft_sub_b64(rm_fft_b64 a, rm_fft_b64 b) { return vf64_sub(a, b); }
RM_FN rm_fft_b64 rm_fft_mul_b64(rm_fft_b64 a, rm_fft_b64 b) { return vf64_mul(a, b); }
RM_FN rm_fft_b64 rm_fft_mad_b64(rm_fft_b64 a, rm_fft_b64 b, rm_fft_b64 c) { return vf64_mad(a, b, c); }
RM_FN rm_fft_b64 rm_fft_nmad_b64(rm_fft_b64 a, rm_fft_b64 b, rm_fft_b64 c) { return vf64_nmad(a, b, c); }
RM_FN rm_fft_b64 rm_fft_select_b64(vm64 m, rm_fft_b64 a, rm_fft_b64 b) { return vf64_select(m, a, b); }
RM_FN rm_fft_b64 rm_fft_normal_b64(rm_fft_b64 a) { return a; }
RM_FN rm_fft_b64 rm_fft_chain_b64(rm_fft_b64 a, rm_fft_b64 b, rm_fft_b64 c) { return vf64_mad(a, b, c); }
RM_FN void rm_fft_store_halves_b64(double *low, double *high, int64_t plane, rm_fft_b64 x) {
  (void)plane, vf64_store_halves(low, high, x);
}

RM_FN rm_fft_dd rm_fft_load_dd(const double *p, int64_t plane) { return (rm_fft_dd){vf64_load(p), vf64_load(p + plane)}; }
RM_FN rm_fft_dd rm_fft_set_dd(const double *p, int64_t plane) { return (rm_fft_dd){vf64_set1(p[0]), vf64_set1(p[plane])}; }
RM_FN void rm_fft_store_dd(double *p, int64_t plane, rm_fft_dd x) {
  vf64_store(p, x.hi);
  vf64_store(p + plane, x.lo);
}
RM_FN void rm_fft_store_halves_dd(double *low, double *high, int64_t plane, rm_fft_dd x) {
  vf64_store_halves(low, high, x.hi);
  vf64_store_halves(low + plane, high + plane, x.lo);
}
/* High parts of sums and products take in no part of the low ones, which may so exceed half of a last place of theirs; only
 * `normal` makes them less. kernels.h bounds what it costs. */
RM_FN rm_fft_dd rm_fft_normal_dd(rm_fft_dd a) {
  rm_fft_dd r;
  r.hi = vf64_two_sum(a.hi, a.lo, &r.lo);
  return r;
}
RM_FN rm_fft_dd rm_fft_add_dd(rm_fft_dd a, rm_fft_dd b) {
  vf64 e;
  rm_fft_dd r;
  r.hi = vf64_two_sum(a.hi, b.hi, &e);
  r.lo = vf64_add(e, vf64_add(a.lo, b.lo));
  return r;
}
RM_FN rm_fft_dd rm_fft_sub_dd(rm_fft_dd a, rm_fft_dd b) {
  vf64 e;
  rm_fft_dd r;
  r.hi = vf64_two_sum(a.hi, vf64_neg(b.hi), &e);
  r.lo = vf64_add(e, vf64_sub(a.lo, b.lo));
  return r;
}
RM_FN rm_fft_dd rm_fft_mul_dd(rm_fft_dd a, rm_fft_dd b) {
  rm_fft_dd r;
  r.hi = vf64_mul(a.hi, b.hi);
  r.lo = vf64_mad(a.lo, b.hi, vf64_mad(a.hi, b.lo, vf64_mul_err(a.hi, b.hi, r.hi)));
  return r;
}
RM_FN rm_fft_dd rm_fft_mad_dd(rm_fft_dd a, rm_fft_dd b, rm_fft_dd c) { return rm_fft_add_dd(c, rm_fft_mul_dd(a, b)); }
RM_FN rm_fft_dd rm_fft_nmad_dd(rm_fft_dd a, rm_fft_dd b, rm_fft_dd c) { return rm_fft_sub_dd(c, rm_fft_mul_dd(a, b)); }
/* The same, of chains of sums. */
RM_FN rm_fft_dd rm_fft_chain_dd(rm_fft_dd a, rm_fft_dd b, rm_fft_dd c) { return rm_fft_normal_dd(rm_fft_mad_dd(a, b, c)); }
RM_FN rm_fft_dd rm_fft_select_dd(vm64 m, rm_fft_dd a, rm_fft_dd b) {
  return (rm_fft_dd){vf64_select(m, a.hi, b.hi), vf64_select(m, a.lo, b.lo)};
}
