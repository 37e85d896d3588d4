/* The loops that round elements of one format to another one, each once.
 *
 * Below binary64 a number of binary32 holds what is read, and storing it rounds once. From binary64 to 16 bits the number
 * counts as one that is rounded to odd (vf64_to_odd16). A NaN becomes the canonical one before it is stored. */
#pragma once

#include "../../common/elements.h"
#include "../../../crlibm/simd/machine.h"
#include "args.h"

/* Whether one of n elements, at most 4 RM_LANES, is finite and becomes infinite in format `to`: its magnitude is `first` or
 * more, and below infinity. */
#define RM_ANY_OVERFLOWING(type, first_bits)                                                  \
  {                                                                                           \
    type bits[4 * RM_LANES];                                                                  \
    const type size = (type)(rm_sign_bit(from) - 1), infinity = (type)rm_infinity_bits(from); \
    const type first = (type)(first_bits), room = (type)(infinity - first);                   \
    int any = 0;                                                                              \
    __builtin_memcpy(bits, x, (uint64_t)n * sizeof *bits);                                    \
    for (int i = 0; i < n; i++) any |= (type)((bits[i] & size) - first) < room;               \
    return any;                                                                               \
  }
RM_STATIC int rm_any_overflowing(int from, int to, int n, const char *x) {
  const double limit = rm_overflow_limit(to);
  const float single = (float)limit;
  uint32_t bits_of_single;
  __builtin_memcpy(&bits_of_single, &single, 4);
  switch (from) {
    case RM_F64: RM_ANY_OVERFLOWING(uint64_t, rm_bits64(limit))
    case RM_F32: RM_ANY_OVERFLOWING(uint32_t, bits_of_single)
    case RM_BF16: RM_ANY_OVERFLOWING(uint16_t, to == RM_F16 ? 0x4780 : 0x7f80) /* 2^16, the first number above the limit */
    default: return 0;
  }
}
#undef RM_ANY_OVERFLOWING

/* The exceptions of a step whose results are not all finite; other: 2 if one of the arguments is NaN. */
RM_NOINLINE uint32_t rm_convert_flags(int from, int to, int n, const char *x, int other) {
  return (other == 2 && rm_any_signalling(x, n, from) ? RM_FLAG_INVALID : 0) |
         (rm_any_overflowing(from, to, n, x) ? RM_FLAG_OVERFLOW : 0);
}

/* A whole step of elements; returns 0 if all results are finite, 2 if one of the arguments is NaN, else 1. */
#if RM_HAS_VF32 && RM_B32
enum { RM_CONVERT_STEP = 4 * RM_LANES };
RM_FN vf32 rm_convert_load(const char *at, const int fmt) {
  const void *p = at;
  if (fmt == RM_F32) return vf32_load_f32((const float *)p);
  return fmt == RM_F16 ? vf32_load_f16((const uint16_t *)p) : vf32_load_bf16((const uint16_t *)p);
}
RM_FN void rm_convert_store(char *at, vf32 v, const int fmt) {
  void *p = at;
  if (fmt == RM_F32) vf32_store_f32((float *)p, v);
  else if (fmt == RM_F16) vf32_store_f16((uint16_t *)p, v);
  else vf32_store_bf16((uint16_t *)p, v);
}
RM_FN int rm_convert_b32(const char *x, char *out, const int from, const int to) {
  const float limit = (float)rm_overflow_limit(to == RM_F32 ? RM_F64 : to);
  const vf32 canonical = vf32_set1(__builtin_nanf(""));
  vf32 v[2];
  RM_UNROLL for (int j = 0; j < 2; j++) v[j] = rm_convert_load(x + j * 2 * RM_LANES * rm_size_of(from), from);
  int other = !vf32_all_below(v[0], v[1], limit);
  if (RM_UNLIKELY(other)) {
    other += !vm32_none(vm32_or(vf32_ne(v[0], v[0]), vf32_ne(v[1], v[1])));
    RM_UNROLL for (int j = 0; j < 2; j++) v[j] = vf32_select(vf32_ne(v[j], v[j]), canonical, v[j]);
  }
  RM_UNROLL for (int j = 0; j < 2; j++) rm_convert_store(out + j * 2 * RM_LANES * rm_size_of(to), v[j], to);
  return other;
}
#else
enum { RM_CONVERT_STEP = RM_LANES };
#endif
RM_FN int rm_convert_b64(const char *x, char *out, const int from, const int to) {
  int other = 0;
  RM_UNROLL for (int j = 0; j < RM_CONVERT_STEP; j += RM_LANES) {
    vf64 v = rm_load_elements(x + j * rm_size_of(from), from);
    const vm64 beyond = vf64_not_finite(v, to);
    if (RM_UNLIKELY(!vm64_none(beyond))) {
      other = other < 2 && vm64_none(vf64_unord(v, v)) ? 1 : 2;
      v = vf64_select(vf64_unord(v, v), vf64_nan(), v);
    }
    if (from == RM_F64 && rm_size_of(to) == 2) v = vf64_to_odd16(v);
    rm_store_elements(out + j * rm_size_of(to), v, to);
  }
  return other;
}

RM_FN uint32_t rm_convert_loop(int64_t n, const char *x, char *out, const int from, const int to) {
  const int sx = rm_size_of(from), so = rm_size_of(to);
  char in[8 * RM_CONVERT_STEP], made[8 * RM_CONVERT_STEP];
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i += RM_CONVERT_STEP) {
    const int count = n - i < RM_CONVERT_STEP ? (int)(n - i) : RM_CONVERT_STEP, whole = count == RM_CONVERT_STEP;
    const char *p = x + i * sx;
    char *q = out + i * so;
    if (!whole) {
      __builtin_memset(in, 0, sizeof in);
      __builtin_memcpy(in, p, (size_t)(count * sx));
      p = in, q = made;
    }
    int other;
#if RM_HAS_VF32 && RM_B32
    if (from != RM_F64 && to != RM_F64) other = rm_convert_b32(p, q, from, to);
    else
#endif
      other = rm_convert_b64(p, q, from, to);
    if (RM_UNLIKELY(other)) flags |= rm_convert_flags(from, to, RM_CONVERT_STEP, p, other);
    if (!whole) __builtin_memcpy(out + i * so, made, (size_t)(count * so));
  }
  return flags;
}

static uint32_t rm_convert_elements(int from, int to, int64_t n, const char *x, char *out) {
  switch (4 * from + to) {
    case 4 * RM_F16 + RM_BF16: return rm_convert_loop(n, x, out, RM_F16, RM_BF16);
    case 4 * RM_F16 + RM_F32: return rm_convert_loop(n, x, out, RM_F16, RM_F32);
    case 4 * RM_F16 + RM_F64: return rm_convert_loop(n, x, out, RM_F16, RM_F64);
    case 4 * RM_BF16 + RM_F16: return rm_convert_loop(n, x, out, RM_BF16, RM_F16);
    case 4 * RM_BF16 + RM_F32: return rm_convert_loop(n, x, out, RM_BF16, RM_F32);
    case 4 * RM_BF16 + RM_F64: return rm_convert_loop(n, x, out, RM_BF16, RM_F64);
    case 4 * RM_F32 + RM_F16: return rm_convert_loop(n, x, out, RM_F32, RM_F16);
    case 4 * RM_F32 + RM_BF16: return rm_convert_loop(n, x, out, RM_F32, RM_BF16);
    case 4 * RM_F32 + RM_F64: return rm_convert_loop(n, x, out, RM_F32, RM_F64);
    case 4 * RM_F64 + RM_F16: return rm_convert_loop(n, x, out, RM_F64, RM_F16);
    case 4 * RM_F64 + RM_BF16: return rm_convert_loop(n, x, out, RM_F64, RM_BF16);
    case 4 * RM_F64 + RM_F32: return rm_convert_loop(n, x, out, RM_F64, RM_F32);
    case 4 * RM_F16 + RM_F16: return rm_convert_loop(n, x, out, RM_F16, RM_F16);
    case 4 * RM_BF16 + RM_BF16: return rm_convert_loop(n, x, out, RM_BF16, RM_BF16);
    case 4 * RM_F32 + RM_F32: return rm_convert_loop(n, x, out, RM_F32, RM_F32);
    default: return rm_convert_loop(n, x, out, RM_F64, RM_F64);
  }
}
