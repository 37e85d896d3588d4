/* Special arguments in the elementwise loops: what is known of a NaN, and of an argument that has come before in the same
 * call.
 *
 * The accurate phase is a function of the arguments' bits, and its flags stay raised: an argument that comes again has the
 * same result, and raises nothing that is not yet raised. So it takes the accurate phase once, and a vector comparison
 * afterwards. Infinities, zeros and other exact cases come in numbers, as masks and padding do. */
#pragma once

#include "../../crlibm/simd/machine.h"
#include "../common/elements.h"
#include "accurate.h"
#include "half_table.h"

enum { RM_KNOWN = 16, RM_KNOWN_F32 = 8 };

/* The last arguments that the accurate phase has taken, as binary64, and their results. */
struct rm_known {
  int count; /* ever; the k-th is in place k % RM_KNOWN */
  double x[RM_MAX_ARITY][RM_KNOWN], y[RM_KNOWN];
};

/* The elements of `undecided` in a block of 2 RM_LANES, whose arguments are in and whose other results are at out: NaN where
 * an argument is one (but for functions with number_of_nan), else by the accurate phase. `decided` are elements with a result
 * that is infinite or NaN, whose flags are due: invalid for NaN, nothing for an infinity among the arguments, divide by zero
 * where the last one, of one or two, is 0 (a quotient, a pole), else overflow. */
RM_NOINLINE uint32_t rm_redo(rm_accurate_fn *accurate, int arity, int format, int number_of_nan,
                             const uint64_t (*in)[2 * RM_LANES], uint32_t undecided, uint32_t decided, char *out,
                             struct rm_known *known) {
  const int size = rm_size_of(format), half = RM_LANES * size;
  const vf64 canonical = vf64_nan();
  vf64 x[RM_MAX_ARITY][2], y[2];
  uint32_t flags = 0, nan = 0, infinite = 0, invalid = 0, pole = 0;
  for (int h = 0; h < 2; h++) {
    y[h] = rm_load_elements(out + h * half, format);
    vm64 of_nan = vf64_unord(y[h], y[h]), of_infinity = of_nan;
    invalid |= vm64_bits(of_nan) << h * RM_LANES;
    for (int k = 0; k < arity; k++) {
      const vf64 v = x[k][h] = rm_load_elements((const char *)in[k] + h * half, format);
      const vm64 is_nan = vf64_unord(v, v), is_infinite = vf64_is_infinite(v);
      of_nan = k ? vm64_or(of_nan, is_nan) : is_nan;
      of_infinity = k ? vm64_or(of_infinity, is_infinite) : is_infinite;
    }
    nan |= vm64_bits(of_nan) << h * RM_LANES;
    infinite |= vm64_bits(of_infinity) << h * RM_LANES;
    if (arity < 3) pole |= vm64_bits(vf64_eq(x[arity - 1][h], vf64_set1(0.0))) << h * RM_LANES;
    if (!number_of_nan) y[h] = vf64_select(of_nan, canonical, y[h]);
  }
  if (decided & invalid & ~nan) flags |= RM_FLAG_INVALID;
  if (decided & ~invalid & ~infinite & pole) flags |= RM_FLAG_DIVBYZERO;
  if (decided & ~invalid & ~infinite & ~pole) flags |= RM_FLAG_OVERFLOW;
  if (nan)
    for (int k = 0; k < arity; k++) flags |= rm_any_signalling(in[k], 2 * RM_LANES, format) ? RM_FLAG_INVALID : 0u;
  if (!number_of_nan) undecided &= ~nan;
  for (int e = 0; undecided; e++) {
    const int held = known->count < RM_KNOWN ? known->count : RM_KNOWN;
    int at = e;
    if (e >= held) { /* none of those known: one more */
      const int i = rm_ctz64(undecided);
      double v[RM_MAX_ARITY];
      at = known->count++ % RM_KNOWN;
      for (int k = 0; k < arity; k++)
        known->x[k][at] = v[k] = rm_to_double(rm_read_bits((const char *)in[k] + i * size, format), format);
      known->y[at] = rm_to_double(accurate(v, format, RM_NEAREST, &flags), format);
      undecided &= undecided - 1;
    }
    for (int h = 0; h < 2; h++) {
      vm64 same = vi64_eq(vf64_bits(x[0][h]), vf64_bits(vf64_set1(known->x[0][at])));
      for (int k = 1; k < arity; k++)
        same = vm64_and(same, vi64_eq(vf64_bits(x[k][h]), vf64_bits(vf64_set1(known->x[k][at]))));
      y[h] = vf64_select(same, vf64_set1(known->y[at]), y[h]);
      undecided &= ~(vm64_bits(same) << h * RM_LANES);
    }
  }
  for (int h = 0; h < 2; h++) rm_store_elements(out + h * half, y[h], format);
  return flags;
}

#if RM_B32
/* The same over the loop of binary32: arguments whose results the wider loop has given, some that came twice in a block. */
struct rm_known_f32 {
  int count; /* ever */
  float x[RM_KNOWN_F32], y[RM_KNOWN_F32];
};

RM_FN void rm_learn_f32(struct rm_known_f32 *known, float x, float y) {
  const int at = known->count++ % RM_KNOWN_F32;
  known->x[at] = x;
  known->y[at] = y;
}

/* Of 2 RM_B32_LANES elements at x, the results of functions of one argument that are known, put into *y0 and *y1, and which
 * they are. */
RM_FN uint32_t rm_know_f32(const struct rm_known_f32 *known, const float *x, vf32 *y0, vf32 *y1, uint32_t *flags) {
  const vf32 x0 = vf32_load_f32(x), x1 = vf32_load_f32(x + RM_B32_LANES);
  const vi32 b0 = vf32_bits(x0), b1 = vf32_bits(x1);
  const vm32 nan0 = vf32_ne(x0, x0), nan1 = vf32_ne(x1, x1);
  uint32_t found = vm32_bits(nan0) | vm32_bits(nan1) << RM_B32_LANES;
  if (found) {
    const vf32 canonical = vf32_from_bits(vi32_set1((int32_t)rm_nan_bits(RM_F32)));
    const vi32 size = vi32_set1(INT32_MAX), first = vi32_set1(0x7f800001), room = vi32_set1(0x003fffff);
    const vm32 s0 = vi32_ltu(vi32_sub(vi32_and(b0, size), first), room),
               s1 = vi32_ltu(vi32_sub(vi32_and(b1, size), first), room);
    if (!vm32_none(vm32_or(s0, s1))) *flags |= RM_FLAG_INVALID;
    *y0 = vf32_select(nan0, canonical, *y0);
    *y1 = vf32_select(nan1, canonical, *y1);
  }
  const int held = known->count < RM_KNOWN_F32 ? known->count : RM_KNOWN_F32;
  for (int e = 0; e < held; e++) {
    const vi32 key = vf32_bits(vf32_set1(known->x[e])), one = vi32_set1(1);
    const vm32 same0 = vi32_ltu(vi32_xor(b0, key), one), same1 = vi32_ltu(vi32_xor(b1, key), one);
    *y0 = vf32_select(same0, vf32_set1(known->y[e]), *y0);
    *y1 = vf32_select(same1, vf32_set1(known->y[e]), *y1);
    found |= vm32_bits(same0) | vm32_bits(same1) << RM_B32_LANES;
  }
  return found;
}
#endif

#if RM_HAS_VU16
/* n results of a table of values, for arguments at x, which may be y. */
RM_NOINLINE uint32_t rm_look_up16(const struct rm_table16 *table, int64_t n, const char *x, char *y) {
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i += RM_LOOKUP_LANES) {
    const int count = n - i < RM_LOOKUP_LANES ? (int)(n - i) : RM_LOOKUP_LANES;
    uint16_t in[RM_LOOKUP_LANES] = {0}, out[RM_LOOKUP_LANES], raised[RM_LOOKUP_LANES], any = 0;
    int special = 0;
    if (count == RM_LOOKUP_LANES) __builtin_memcpy(in, x + 2 * i, sizeof in);
    else __builtin_memcpy(in, x + 2 * i, 2 * (size_t)count);
    vu16_lookup(table->value, in, out);
    for (int k = 0; k < RM_LOOKUP_LANES; k++) special |= (out[k] & table->exponent) == table->exponent;
    if (special) {
      vu16_lookup(table->flags, in, raised);
      for (int k = 0; k < RM_LOOKUP_LANES; k++) any |= k < count ? raised[k] : 0;
      flags |= any;
    }
    if (count == RM_LOOKUP_LANES) __builtin_memcpy(y + 2 * i, out, sizeof out);
    else __builtin_memcpy(y + 2 * i, out, 2 * (size_t)count);
  }
  return flags;
}
#endif
