/* Backend of two lanes: AArch64 Advanced SIMD. */
#ifndef RM_SIMD_NEON_H /* a name, so that proofs can put another backend in its place */
#define RM_SIMD_NEON_H

#include <arm_neon.h>

#define RM_LANES 2
typedef float64x2_t vf64;
typedef int64x2_t vi64;
typedef uint64x2_t vm64;

RM_FN vf64 vf64_load(const double *p) { return vreinterpretq_f64_u8(vld1q_u8((const uint8_t *)p)); }
RM_FN void vf64_store(double *p, vf64 v) { vst1q_u8((uint8_t *)p, vreinterpretq_u8_f64(v)); }
RM_FN vf64 vf64_set1(double x) { return vdupq_n_f64(x); }
RM_FN vf64 vf64_load_f32(const float *p) { return vcvt_f64_f32(vreinterpret_f32_u8(vld1_u8((const uint8_t *)p))); }
RM_FN vf64 vf64_load_f16(const uint16_t *p) {
  uint16_t h[2];
  __builtin_memcpy(h, p, 4);
  vf64 v = vdupq_n_f64((double)rm_f16_to_f32(h[0]));
  return vsetq_lane_f64((double)rm_f16_to_f32(h[1]), v, 1);
}
RM_FN vf64 vf64_load_bf16(const uint16_t *p) {
  uint16_t h[2];
  __builtin_memcpy(h, p, 4);
  vf64 v = vdupq_n_f64((double)rm_bf16_to_f32(h[0]));
  return vsetq_lane_f64((double)rm_bf16_to_f32(h[1]), v, 1);
}
RM_FN void vf64_store_f32(float *p, vf64 v) { vst1_u8((uint8_t *)p, vreinterpret_u8_f32(vcvt_f32_f64(v))); }
RM_FN void vf64_load2_f32(const float *p, vf64 v[2]) {
  const float32x4_t a = vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p));
  v[0] = vcvt_f64_f32(vget_low_f32(vuzp1q_f32(a, a))), v[1] = vcvt_f64_f32(vget_low_f32(vuzp2q_f32(a, a)));
}
RM_FN void vf64_store2_f32(float *p, const vf64 v[2]) {
  const float32x2_t a = vcvt_f32_f64(v[0]), b = vcvt_f32_f64(v[1]);
  vst1q_u8((uint8_t *)p, vreinterpretq_u8_f32(vcombine_f32(vzip1_f32(a, b), vzip2_f32(a, b))));
}
RM_FN void vf64_store_halves(double *low, double *high, vf64 v) {
  vst1_u8((uint8_t *)low, vreinterpret_u8_f64(vget_low_f64(v)));
  vst1_u8((uint8_t *)high, vreinterpret_u8_f64(vget_high_f64(v)));
}
RM_FN vf64 vf64_round_f32(vf64 v) { return vcvt_f64_f32(vcvt_f32_f64(v)); }
RM_FN void vf64_store_f16(uint16_t *p, vf64 v) {
  float32x2_t f = vcvt_f32_f64(v);
  uint16_t h[2] = {rm_f32_to_f16(vget_lane_f32(f, 0)), rm_f32_to_f16(vget_lane_f32(f, 1))};
  __builtin_memcpy(p, h, 4);
}
RM_FN void vf64_store_bf16(uint16_t *p, vf64 v) {
  float32x2_t f = vcvt_f32_f64(v);
  uint16_t h[2] = {rm_f32_to_bf16(vget_lane_f32(f, 0)), rm_f32_to_bf16(vget_lane_f32(f, 1))};
  __builtin_memcpy(p, h, 4);
}

RM_FN vf64 vf64_add(vf64 a, vf64 b) { return vaddq_f64(a, b); }
RM_FN vf64 vf64_sub(vf64 a, vf64 b) { return vsubq_f64(a, b); }
RM_FN vf64 vf64_mul(vf64 a, vf64 b) { return vmulq_f64(a, b); }
RM_FN vf64 vf64_div(vf64 a, vf64 b) { return vdivq_f64(a, b); }
RM_FN vf64 vf64_sqrt(vf64 a) { return vsqrtq_f64(a); }
RM_FN vf64 vf64_toward_zero(vf64 a) { return vrndq_f64(a); }
RM_FN vf64 vf64_min(vf64 a, vf64 b) { return vbslq_f64(vcltq_f64(a, b), a, b); }
RM_FN vf64 vf64_max(vf64 a, vf64 b) { return vbslq_f64(vcgtq_f64(a, b), a, b); }
RM_FN vf64 vf64_abs(vf64 a) { return vabsq_f64(a); }
RM_FN vf64 vf64_neg(vf64 a) { return vnegq_f64(a); }
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return vfmaq_f64(c, a, b); }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return vfmsq_f64(c, a, b); }
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) { return vfmaq_f64(vnegq_f64(p), a, b); }
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) { /* two roundings: 2^-52 */
  *r = vdivq_f64(vdupq_n_f64(1.0), b);
  return vmulq_f64(a, *r);
}
RM_FN vf64 vf64_reciprocal(vf64 b) { return vf64_div(vdupq_n_f64(1.0), b); }
RM_FN vf64 vf64_root(vf64 a, vf64 *r) {
  vf64 s = vsqrtq_f64(a);
  *r = vdivq_f64(vdupq_n_f64(1.0), vf64_max(s, vdupq_n_f64(0x1p-500)));
  return s;
}
RM_FN vf64 vf64_rsqrt(vf64 a) { return vdivq_f64(vdupq_n_f64(1.0), vsqrtq_f64(a)); }

RM_FN vi64 vi64_load(const int64_t *p) { return vreinterpretq_s64_u8(vld1q_u8((const uint8_t *)p)); }
RM_FN void vi64_store(int64_t *p, vi64 v) { vst1q_u8((uint8_t *)p, vreinterpretq_u8_s64(v)); }
RM_FN vi64 vi64_set1(int64_t x) { return vdupq_n_s64(x); }
RM_FN vi64 vi64_mul_low(vi64 a, vi64 b) {
  return vreinterpretq_s64_u64(vmull_u32(vmovn_u64(vreinterpretq_u64_s64(a)), vmovn_u64(vreinterpretq_u64_s64(b))));
}
RM_FN vi64 vi64_load_u32(const void *p) {
  return vreinterpretq_s64_u64(vmovl_u32(vreinterpret_u32_u8(vld1_u8((const uint8_t *)p))));
}
RM_FN vi64 vi64_pair_numbers(void) { return vcombine_s64(vcreate_s64(0), vcreate_s64(1)); }
RM_FN void vi64_store_pairs(int64_t *p, vi64 a, vi64 b) {
  vi64_store(p, vzip1q_s64(a, b));
  vi64_store(p + RM_LANES, vzip2q_s64(a, b));
}
RM_FN vi64 vf64_bits(vf64 a) { return vreinterpretq_s64_f64(a); }
RM_FN vf64 vf64_from_bits(vi64 a) { return vreinterpretq_f64_s64(a); }
RM_FN vi64 vi64_add(vi64 a, vi64 b) { return vaddq_s64(a, b); }
RM_FN vi64 vi64_sub(vi64 a, vi64 b) { return vsubq_s64(a, b); }
RM_FN vi64 vi64_and(vi64 a, vi64 b) { return vandq_s64(a, b); }
RM_FN vi64 vi64_or(vi64 a, vi64 b) { return vorrq_s64(a, b); }
RM_FN vi64 vi64_xor(vi64 a, vi64 b) { return veorq_s64(a, b); }
#define vi64_sll(a, n) vshlq_n_s64(a, n)
#define vi64_srl(a, n) vreinterpretq_s64_u64(vshrq_n_u64(vreinterpretq_u64_s64(a), n))
#define vi64_sra(a, n) vshrq_n_s64(a, n)
RM_FN vf64 vi64_to_f64(vi64 a) { return vcvtq_f64_s64(a); }
RM_FN vf64 vi64_round_f64(vi64 a) { return vcvtq_f64_s64(a); }
RM_FN vf64 vf64_copysign(vf64 m, vf64 s) { return vbslq_f64(vdupq_n_u64(UINT64_C(1) << 63), s, m); }

RM_FN vm64 vf64_lt(vf64 a, vf64 b) { return vcltq_f64(a, b); }
RM_FN vm64 vf64_le(vf64 a, vf64 b) { return vcleq_f64(a, b); }
RM_FN vm64 vf64_eq(vf64 a, vf64 b) { return vceqq_f64(a, b); }
RM_FN vm64 vf64_ne(vf64 a, vf64 b) { return veorq_u64(vceqq_f64(a, b), vdupq_n_u64(~UINT64_C(0))); }
RM_FN vm64 vf64_unord(vf64 a, vf64 b) {
  return veorq_u64(vandq_u64(vceqq_f64(a, a), vceqq_f64(b, b)), vdupq_n_u64(~UINT64_C(0)));
}
RM_FN vm64 vi64_disjoint(vi64 a, vi64 b) { return vceqzq_s64(vandq_s64(a, b)); }
RM_FN vm64 vi64_eq(vi64 a, vi64 b) { return vceqq_s64(a, b); }
RM_FN vm64 vi64_ltu(vi64 a, vi64 b) { return vcltq_u64(vreinterpretq_u64_s64(a), vreinterpretq_u64_s64(b)); }
RM_FN vm64 vm64_and(vm64 a, vm64 b) { return vandq_u64(a, b); }
RM_FN vm64 vm64_or(vm64 a, vm64 b) { return vorrq_u64(a, b); }
RM_FN vm64 vm64_andnot(vm64 a, vm64 b) { return vbicq_u64(a, b); }
RM_FN vm64 vm64_not(vm64 a) { return veorq_u64(a, vdupq_n_u64(~UINT64_C(0))); }
RM_FN uint32_t vm64_bits(vm64 a) { return (uint32_t)((vgetq_lane_u64(a, 0) & 1u) | ((vgetq_lane_u64(a, 1) & 1u) << 1)); }
RM_FN int vm64_none(vm64 a) { return (vgetq_lane_u64(a, 0) | vgetq_lane_u64(a, 1)) == 0; }
RM_FN vf64 vf64_select(vm64 m, vf64 a, vf64 b) { return vbslq_f64(m, a, b); }
RM_FN vf64 vf64_lookup16(const double *t, vi64 i) {
  return vsetq_lane_f64(t[vgetq_lane_s64(i, 1) & 15], vdupq_n_f64(t[vgetq_lane_s64(i, 0) & 15]), 1);
}
RM_FN vi64 vi64_lookup16(const int64_t *t, vi64 i) {
  return vsetq_lane_s64(t[vgetq_lane_s64(i, 1) & 15], vdupq_n_s64(t[vgetq_lane_s64(i, 0) & 15]), 1);
}
RM_FN void vf64_transpose(vf64 t[RM_LANES]) {
  vf64 a = vtrn1q_f64(t[0], t[1]), b = vtrn2q_f64(t[0], t[1]);
  t[0] = a;
  t[1] = b;
}

#define RM_HAS_VF32 1
typedef float32x4_t vf32;

RM_FN vf32 vf32_load_f32(const float *p) { return vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p)); }
RM_FN vf32 vf32_load_f16(const uint16_t *p) {
  uint16_t h[4];
  float f[4];
  __builtin_memcpy(h, p, 8);
  for (int i = 0; i < 4; i++) f[i] = rm_f16_to_f32(h[i]);
  return vld1q_f32(f);
}
RM_FN vf32 vf32_load_bf16(const uint16_t *p) {
  return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)p))), 16));
}
RM_FN void vf32_store_f32(float *p, vf32 v) { vst1q_u8((uint8_t *)p, vreinterpretq_u8_f32(v)); }
RM_FN void vf32_store_f16(uint16_t *p, vf32 v) {
  uint16_t h[4];
  float f[4];
  vst1q_f32(f, v);
  for (int i = 0; i < 4; i++) h[i] = rm_f32_to_f16(f[i]);
  __builtin_memcpy(p, h, 8);
}
RM_FN void vf32_store_bf16(uint16_t *p, vf32 v) { /* add half of the 16 dropped bits, to even */
  uint32x4_t b = vreinterpretq_u32_f32(v), odd = vandq_u32(vshrq_n_u32(b, 16), vdupq_n_u32(1));
  b = vaddq_u32(b, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  vst1_u8((uint8_t *)p, vreinterpret_u8_u16(vshrn_n_u32(b, 16)));
}
RM_FN vf32 vf32_add(vf32 a, vf32 b) { return vaddq_f32(a, b); }
RM_FN vf32 vf32_sub(vf32 a, vf32 b) { return vsubq_f32(a, b); }
RM_FN vf32 vf32_mul(vf32 a, vf32 b) { return vmulq_f32(a, b); }
RM_FN vf32 vf32_div(vf32 a, vf32 b) { return vdivq_f32(a, b); }
RM_FN vf32 vf32_sqrt(vf32 a) { return vsqrtq_f32(a); }
RM_FN vf32 vf32_fma(vf32 a, vf32 b, vf32 c) { return vfmaq_f32(c, a, b); }
RM_FN int vf32_all_below(vf32 a, vf32 b, float limit) {
  const float32x4_t end = vdupq_n_f32(limit);
  return vminvq_u32(vandq_u32(vcltq_f32(vabsq_f32(a), end), vcltq_f32(vabsq_f32(b), end))) != 0;
}

#endif
