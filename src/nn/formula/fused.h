/* Formulas below binary64 that are one multiplication and addition of numbers of binary64, without a rounding test: rounded
 * down and up, that gives the two neighbours of the value, one of them odd, or the value twice. Rounded to odd, any value
 * rounds to the format as it should (known.h), so that no data is slow: not ties, not subnormal numbers.
 *
 *   a x             one product
 *   x + a           one sum
 *   x + a y         numbers x and y of the format, and a of binary64
 *   x + a y z       y z has at most 48 bits
 *   x + a (y - x)   which is (1 - a) x + a y, where y - x is a number of binary64: rounded down and up it is the same; so is
 *                   a mix, of z in place of a. Elsewhere the exponents of x and y are far apart, and quick.h decides.
 *
 * Numbers of the format are 0 or between 2^-149 and 2^128, and a is 0 or between 2^-200 and 2^200 (args.c): nothing overflows
 * or underflows in binary64. Below binary32 the two neighbours are rounded down and up to binary32 first, which is how the
 * value itself is rounded to it. A sum that is exactly zero is +0 when it is rounded up, but where both terms are -0: so
 * that an x or a of -0 counts as +0 there.
 *
 * Where a is a number of binary32, a x, x + a and x + a y are one operation of that format (rm_direct_loop).
 *
 * Where an operand is infinite or a NaN, the result of these operations is not finite, and is what IEEE 754's rules give but
 * of the last two, which are evaluated as the formula is written: of finite operands that is finite in binary64. */
#pragma once

#include "../../../crlibm/simd/neighbours.h"
#include "../../common/elements.h"
#include "args.h"

/* The loop of a formula for elements [i, end) that this one leaves. */
typedef uint32_t rm_fused_rest_fn(const rm_formula_problem *problem, int64_t i, int64_t end);

RM_FN int rm_fused_is_between(const int formula) { return formula == RM_FORMULA_BETWEEN || formula == RM_FORMULA_MIX; }

#if RM_HAS_FMA && RM_HAS_VF32 && RM_B32
/* 2 RM_LANES elements. */
RM_FN vf32 rm_fused_load(const char *at, const int fmt) {
  const void *const p = at;
  return fmt == RM_F32    ? vf32_load_f32((const float *)p)
         : fmt == RM_BF16 ? vf32_load_bf16((const uint16_t *)p)
                          : vf32_load_f16((const uint16_t *)p);
}
RM_FN void rm_fused_store(char *at, vf32 v, const int fmt) {
  void *const p = at;
  if (fmt == RM_F32) vf32_store_f32((float *)p, v);
  else if (fmt == RM_BF16) vf32_store_bf16((uint16_t *)p, v);
  else vf32_store_f16((uint16_t *)p, v);
}
RM_FN float rm_fused_limit(const int fmt) { /* binary32 has no number between its greatest and infinity */
  return (float)rm_overflow_limit(fmt == RM_F32 ? RM_F64 : fmt);
}

/* The sum of two products of elements, (1 - a) x + a y or of a mix, as the formula is written. */
RM_FN vf64 rm_fused_written(const rm_formula_problem *p, const char *const at[3], ptrdiff_t to, const int fmt) {
  const int mix = p->formula == RM_FORMULA_MIX;
  const vf64 x = rm_load_elements(at[0] + to, fmt), y = rm_load_elements(at[1] + to, fmt);
  const vf64 a = mix ? rm_load_elements(at[2] + to, fmt) : vf64_set1(p->a);
  return vf64_mad(mix ? vf64_sub(vf64_set1(1.0), a) : vf64_set1(p->keep[0]), x, vf64_mul(a, y));
}

/* Elements [i, i + 4 RM_LANES) with results r, of which some are not finite: makes them right, and returns flags. A mask has
 * many such, so that all is decided by vectors. */
RM_NOINLINE uint32_t rm_fused_exceptions(const rm_formula_problem *p, int64_t i, const int fmt, vf32 *r) {
  const int formula = p->formula, size = rm_size_of(fmt);
  const int arity = 1 + rm_formula_has_y(formula) + rm_formula_has_z(formula);
  const vf32 infinity = vf32_from_bits(vi32_set1(0x7f800000)), canonical = vf32_from_bits(vi32_set1(0x7fc00000));
  const char *const arrays[3] = {p->x, p->y, p->z}, *at[3] = {0};
  uint32_t flags = 0, any = 0;
  for (int k = 0; k < arity; k++) at[k] = arrays[k] + i * size;
  for (int j = 0; j < 2; j++) {
    const ptrdiff_t to = j * 2 * RM_LANES * size;
    uint32_t given = 0, far = 0; /* the lanes with operands that are NaN, and that are infinite */
    vf32 v = r[j];
    for (int k = 0; k < arity; k++) {
      const vf32 x = rm_fused_load(at[k] + to, fmt);
      given |= vm32_bits(vf32_ne(x, x));
      far |= ~vm32_bits(vf32_nle(infinity, vf32_abs(x)));
#if RM_HAS_NEIGHBOURS
      if (rm_fused_is_between(formula) && far) {
        const vf64 w[2] = {rm_fused_written(p, at, to, fmt), rm_fused_written(p, at, to + RM_LANES * size, fmt)};
        v = vf32_select(vf32_nle(infinity, vf32_abs(x)), v, vf32_from_two(w[0], w[1]));
      }
#endif
    }
    const vm32 none = vf32_ne(v, v);
    const uint32_t nan = vm32_bits(none), big = vm32_bits(vf32_nle(vf32_set1(rm_fused_limit(fmt)), vf32_abs(v)));
    if (nan & ~given) flags |= RM_FLAG_INVALID;
    if (~(big | far) & ((1u << 2 * RM_LANES) - 1)) flags |= RM_FLAG_OVERFLOW;
    any |= given;
    r[j] = vf32_select(none, canonical, v);
  }
  for (int k = 0; any && k < arity; k++)
    if (rm_any_signalling(at[k], 4 * RM_LANES, fmt)) flags |= RM_FLAG_INVALID;
  return flags;
}

/* Whether the formula is one operation of binary32: of products of three, that is so for a factor of 1. */
RM_FN int rm_direct_takes(const rm_formula_problem *p) {
  const int formula = p->formula;
  if (formula == RM_FORMULA_PRODUCT) return __builtin_fabs(p->a) == 1.0;
  return (double)(float)p->a == p->a &&
         (formula == RM_FORMULA_SCALED || formula == RM_FORMULA_ADDED || formula == RM_FORMULA_PLUS);
}

/* Elements [i, end) of binary32, 4 RM_LANES at a time. */
RM_FN uint32_t rm_direct_loop(const rm_formula_problem *p, int64_t i, int64_t end, const int formula,
                              rm_fused_rest_fn *rest) {
  const vf32 zero = vf32_set1(0.0f);
  const vf32 a = vf32_set1((float)(formula == RM_FORMULA_ADDED ? p->a + 0.0 : p->a));
  const int has_y = rm_formula_has_y(formula), has_z = rm_formula_has_z(formula);
  const float limit = rm_fused_limit(RM_F32);
  uint32_t flags = 0;
  for (; i + 4 * RM_LANES <= end; i += 4 * RM_LANES) {
    const ptrdiff_t at = (ptrdiff_t)i * 4;
    vf32 r[2];
    RM_UNROLL for (int j = 0; j < 2; j++) {
      const ptrdiff_t to = at + j * 2 * RM_LANES * 4;
      const vf32 x = rm_fused_load(p->x + to, RM_F32);
      if (formula == RM_FORMULA_SCALED) {
        r[j] = vf32_mul(a, x);
      } else {
        const vf32 y = has_y ? rm_fused_load(p->y + to, RM_F32) : zero;
        const vf32 sum = has_y ? vf32_add(x, zero) : x; /* x of -0 counts as +0 */
        r[j] = !has_y  ? vf32_add(x, a)
               : has_z ? vf32_fma(vf32_mul(a, y), rm_fused_load(p->z + to, RM_F32), sum)
                       : vf32_fma(a, y, sum);
      }
    }
    if (RM_UNLIKELY(!vf32_all_below(r[0], r[1], limit))) {
      vf32 found[2] = {r[0], r[1]};
      flags |= rm_fused_exceptions(p, i, RM_F32, found);
      r[0] = found[0], r[1] = found[1];
    }
    RM_UNROLL for (int j = 0; j < 2; j++) rm_fused_store(p->out + at + j * 2 * RM_LANES * 4, r[j], RM_F32);
  }
  return i < end ? flags | rest(p, i, end) : flags;
}

RM_STATIC uint32_t rm_direct(const rm_formula_problem *p, int64_t i, int64_t end, rm_fused_rest_fn *rest) {
  switch (p->formula) {
    case RM_FORMULA_SCALED: return rm_direct_loop(p, i, end, RM_FORMULA_SCALED, rest);
    case RM_FORMULA_ADDED: return rm_direct_loop(p, i, end, RM_FORMULA_ADDED, rest);
    case RM_FORMULA_PLUS: return rm_direct_loop(p, i, end, RM_FORMULA_PLUS, rest);
    default: return rm_direct_loop(p, i, end, RM_FORMULA_PRODUCT, rest);
  }
}
#endif

#if RM_HAS_NEIGHBOURS
RM_FN int rm_fused_takes(const int formula) {
  return formula == RM_FORMULA_SCALED || formula == RM_FORMULA_ADDED || formula == RM_FORMULA_PLUS ||
         formula == RM_FORMULA_PRODUCT || rm_fused_is_between(formula);
}

/* v[0] and v[1]: the value rounded down and up; returns the lanes in which they may be others. */
RM_FN vm64 rm_fused_value(const int formula, vf64 a, vf64 x, vf64 y, vf64 z, vf64 v[2]) {
  vf64 d[2];
  switch (formula) {
    case RM_FORMULA_SCALED: vf64_mul_both(a, x, v); break;
    case RM_FORMULA_ADDED: vf64_add_both(x, a, v); break;
    case RM_FORMULA_PLUS: vf64_fma_both(a, y, x, v); break;
    case RM_FORMULA_PRODUCT: vf64_fma_both(a, vf64_mul(y, z), x, v); break;
    default:
      vf64_add_both(y, vf64_neg(x), d);
      vf64_fma_both(formula == RM_FORMULA_MIX ? z : a, d[0], x, v);
      return vf64_lt(d[0], d[1]);
  }
  return vf64_lt(x, x);
}

/* The numbers x of a sum, of which -0 becomes +0. */
RM_FN vf64 rm_fused_term(const char *at, const int fmt) {
  const void *const p = at;
  return fmt == RM_F32 ? vf64_load_f32_plus_0((const float *)p) : vf64_add(rm_load_elements(at, fmt), vf64_set1(0.0));
}

/* Elements [i, end), 4 RM_LANES at a time. `wide` takes those whose y - x is no number, `rest` the last ones. */
RM_FN uint32_t rm_fused_loop(const rm_formula_problem *p, int64_t i, int64_t end, const int fmt, const int formula,
                             rm_fused_rest_fn *wide, rm_fused_rest_fn *rest) {
  const vf64 zero = vf64_set1(0.0), a = vf64_set1(formula == RM_FORMULA_ADDED ? p->a + 0.0 : p->a);
  const int has_y = rm_formula_has_y(formula), has_z = rm_formula_has_z(formula), size = rm_size_of(fmt);
  const float limit = rm_fused_limit(fmt);
  uint32_t flags = 0;
  for (; i + 4 * RM_LANES <= end; i += 4 * RM_LANES) {
    const ptrdiff_t at = (ptrdiff_t)i * size;
    vf32 r[2];
    vm64 open = vf64_lt(zero, zero);
    RM_UNROLL for (int j = 0; j < 2; j++) {
      vf64 v[2][2];
      RM_UNROLL for (int h = 0; h < 2; h++) {
        const ptrdiff_t to = at + (2 * j + h) * RM_LANES * size;
        const vf64 x = formula == RM_FORMULA_SCALED ? rm_load_elements(p->x + to, fmt) : rm_fused_term(p->x + to, fmt);
        const vf64 y = has_y ? rm_load_elements(p->y + to, fmt) : zero;
        const vf64 z = has_z ? rm_load_elements(p->z + to, fmt) : zero;
        open = vm64_or(open, rm_fused_value(formula, a, x, y, z, v[h]));
      }
      r[j] = fmt == RM_F32 ? vf32_from_both(v[0], v[1]) : vf32_odd_from_both(v[0], v[1]);
    }
    if (rm_fused_is_between(formula) && RM_UNLIKELY(!vm64_none(open))) {
      flags |= wide(p, i, i + 4 * RM_LANES);
      continue;
    }
    if (RM_UNLIKELY(!vf32_all_below(r[0], r[1], limit))) {
      vf32 found[2] = {r[0], r[1]}; /* r itself stays in registers */
      flags |= rm_fused_exceptions(p, i, fmt, found);
      r[0] = found[0], r[1] = found[1];
    }
    RM_UNROLL for (int j = 0; j < 2; j++) rm_fused_store(p->out + at + j * 2 * RM_LANES * size, r[j], fmt);
  }
  return i < end ? flags | rest(p, i, end) : flags;
}

RM_FN uint32_t rm_fused(const rm_formula_problem *p, int64_t i, int64_t end, const int fmt, rm_fused_rest_fn *wide,
                        rm_fused_rest_fn *rest) {
  switch (p->formula) {
    case RM_FORMULA_SCALED: return rm_fused_loop(p, i, end, fmt, RM_FORMULA_SCALED, wide, rest);
    case RM_FORMULA_ADDED: return rm_fused_loop(p, i, end, fmt, RM_FORMULA_ADDED, wide, rest);
    case RM_FORMULA_PLUS: return rm_fused_loop(p, i, end, fmt, RM_FORMULA_PLUS, wide, rest);
    case RM_FORMULA_PRODUCT: return rm_fused_loop(p, i, end, fmt, RM_FORMULA_PRODUCT, wide, rest);
    case RM_FORMULA_MIX: return rm_fused_loop(p, i, end, fmt, RM_FORMULA_MIX, wide, rest);
    default: return rm_fused_loop(p, i, end, fmt, RM_FORMULA_BETWEEN, wide, rest);
  }
}
#endif
