/* Backend of one lane: the scalar C functions, the base build and CUDA. */
#ifndef RM_SIMD_SCALAR_H /* a name, so that proofs can put another backend in its place */
#define RM_SIMD_SCALAR_H

#define RM_LANES 1
typedef double vf64;
typedef int64_t vi64;
typedef int vm64;

RM_FN vf64 vf64_load(const double *p) {
  vf64 v;
  RM_LOAD_WORD(v, p, 8);
  return v;
}
RM_FN void vf64_store(double *p, vf64 v) { RM_STORE_WORD(p, v, 8); }
RM_FN vf64 vf64_set1(double x) { return x; }
RM_FN vf64 vf64_load_f32(const float *p) {
  float f;
  RM_LOAD_WORD(f, p, 4);
  return (double)f;
}
RM_FN vf64 vf64_load_f16(const uint16_t *p) {
  uint16_t h;
  RM_LOAD_WORD(h, p, 2);
  return (double)rm_f16_to_f32(h);
}
RM_FN vf64 vf64_load_bf16(const uint16_t *p) {
  uint16_t h;
  RM_LOAD_WORD(h, p, 2);
  return (double)rm_bf16_to_f32(h);
}
RM_FN void vf64_store_f32(float *p, vf64 v) {
  float f = (float)v;
  RM_STORE_WORD(p, f, 4);
}
RM_FN void vf64_load2_f32(const float *p, vf64 v[2]) { v[0] = vf64_load_f32(p), v[1] = vf64_load_f32(p + 1); }
RM_FN void vf64_store2_f32(float *p, const vf64 v[2]) {
  vf64_store_f32(p, v[0]);
  vf64_store_f32(p + 1, v[1]);
}
RM_FN void vf64_store_halves(double *low, double *high, vf64 v) { (void)high, vf64_store(low, v); } /* not called */
RM_FN vf64 vf64_round_f32(vf64 v) { return (double)(float)v; }
RM_FN void vf64_store_f16(uint16_t *p, vf64 v) {
  uint16_t h = rm_f32_to_f16((float)v);
  RM_STORE_WORD(p, h, 2);
}
RM_FN void vf64_store_bf16(uint16_t *p, vf64 v) {
  uint16_t h = rm_f32_to_bf16((float)v);
  RM_STORE_WORD(p, h, 2);
}

RM_FN vf64 vf64_add(vf64 a, vf64 b) { return a + b; }
RM_FN vf64 vf64_sub(vf64 a, vf64 b) { return a - b; }
RM_FN vf64 vf64_mul(vf64 a, vf64 b) { return a * b; }
RM_FN vf64 vf64_div(vf64 a, vf64 b) { return a / b; }
RM_FN vf64 vf64_sqrt(vf64 a) { return __builtin_sqrt(a); }
RM_FN vf64 vf64_min(vf64 a, vf64 b) { return a < b ? a : b; }
RM_FN vf64 vf64_max(vf64 a, vf64 b) { return a > b ? a : b; }
RM_FN vf64 vf64_abs(vf64 a) { return rm_from_bits64(rm_bits64(a) & 0x7fffffffffffffffu); }
RM_FN vf64 vf64_neg(vf64 a) { return -a; }
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) { /* two roundings: 2^-52 */
  *r = 1.0 / b;
  return a * *r;
}
RM_FN vf64 vf64_reciprocal(vf64 b) { return 1.0 / b; }
RM_FN vf64 vf64_root(vf64 a, vf64 *r) {
  double s = __builtin_sqrt(a);
  *r = 1.0 / (s > 0x1p-500 ? s : 0x1p-500);
  return s;
}
RM_FN vf64 vf64_rsqrt(vf64 a) { return 1.0 / __builtin_sqrt(a); }

#if RM_HAS_FMA
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return rm_fma(a, b, c); }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return rm_fma(-a, b, c); }
#else
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return a * b + c; }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return c - a * b; }
#endif
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) { return rm_two_prod_error(a, b, p); }

RM_FN vi64 vi64_load(const int64_t *p) {
  vi64 v;
  RM_LOAD_WORD(v, p, 8);
  return v;
}
RM_FN void vi64_store(int64_t *p, vi64 v) { RM_STORE_WORD(p, v, 8); }
RM_FN vi64 vi64_set1(int64_t x) { return x; }
RM_FN vi64 vi64_mul_low(vi64 a, vi64 b) { return (vi64)((uint64_t)(uint32_t)a * (uint32_t)b); }
RM_FN vi64 vi64_load_u32(const void *p) {
  uint32_t w;
  __builtin_memcpy(&w, p, sizeof w);
  return (vi64)w;
}
RM_FN vi64 vi64_pair_numbers(void) { return 0; }
RM_FN void vi64_store_pairs(int64_t *p, vi64 a, vi64 b) {
  vi64_store(p, a);
  vi64_store(p + 1, b);
}
RM_FN vi64 vf64_bits(vf64 a) { return (vi64)rm_bits64(a); }
RM_FN vf64 vf64_from_bits(vi64 a) { return rm_from_bits64((uint64_t)a); }
RM_FN vi64 vi64_add(vi64 a, vi64 b) { return (vi64)((uint64_t)a + (uint64_t)b); }
RM_FN vi64 vi64_sub(vi64 a, vi64 b) { return (vi64)((uint64_t)a - (uint64_t)b); }
RM_FN vi64 vi64_and(vi64 a, vi64 b) { return a & b; }
RM_FN vi64 vi64_or(vi64 a, vi64 b) { return a | b; }
RM_FN vi64 vi64_xor(vi64 a, vi64 b) { return a ^ b; }
#define vi64_sll(a, n) ((vi64)((uint64_t)(a) << (n)))
#define vi64_srl(a, n) ((vi64)((uint64_t)(a) >> (n)))
#define vi64_sra(a, n) ((vi64)(a) >> (n))
RM_FN vf64 vi64_to_f64(vi64 a) { return (double)a; }
RM_FN vf64 vi64_round_f64(vi64 a) { return (double)a; }
RM_FN vf64 vf64_copysign(vf64 m, vf64 s) {
  return rm_from_bits64((rm_bits64(m) & 0x7fffffffffffffffu) | (rm_bits64(s) & 0x8000000000000000u));
}

RM_FN vm64 vf64_lt(vf64 a, vf64 b) { return a < b; }
RM_FN vm64 vf64_le(vf64 a, vf64 b) { return a <= b; }
RM_FN vm64 vf64_eq(vf64 a, vf64 b) { return a == b; }
RM_FN vm64 vf64_ne(vf64 a, vf64 b) { return a != b; }
RM_FN vm64 vf64_unord(vf64 a, vf64 b) { return (a != a) | (b != b); }
RM_FN vm64 vi64_disjoint(vi64 a, vi64 b) { return (a & b) == 0; }
RM_FN vm64 vi64_eq(vi64 a, vi64 b) { return a == b; }
RM_FN vm64 vi64_ltu(vi64 a, vi64 b) { return (uint64_t)a < (uint64_t)b; }
RM_FN vm64 vm64_and(vm64 a, vm64 b) { return a & b; }
RM_FN vm64 vm64_or(vm64 a, vm64 b) { return a | b; }
RM_FN vm64 vm64_andnot(vm64 a, vm64 b) { return a & !b; } /* a and not b */
RM_FN vm64 vm64_not(vm64 a) { return !a; }
RM_FN int vm64_none(vm64 a) { return a == 0; }
RM_FN uint32_t vm64_bits(vm64 a) { return (uint32_t)a; }
RM_FN vf64 vf64_select(vm64 m, vf64 a, vf64 b) { return m ? a : b; }
RM_FN vf64 vf64_lookup16(const double *t, vi64 i) { return t[i & 15]; }
RM_FN vi64 vi64_lookup16(const int64_t *t, vi64 i) { return t[i & 15]; }
RM_FN void vf64_transpose(vf64 t[RM_LANES]) { (void)t; }

#endif
