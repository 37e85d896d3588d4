/* The loops of formulas over vectors on the host, with rm_formula_accurate for undecided lanes. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "step.h"

/* Evaluates the lanes that are asked for, to `accurate`. */
RM_COLD uint32_t rm_redo_formula(const rm_formula_problem *problem, const char *x, const char *y, const char *z,
                                 uint32_t lanes, uint64_t *accurate) {
  const int fmt = problem->format, size = rm_size_of(fmt);
  uint32_t flags = 0;
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1)
      accurate[i] = rm_formula_accurate(problem, rm_read_bits(x + i * size, fmt), y ? rm_read_bits(y + i * size, fmt) : 0,
                                        z ? rm_read_bits(z + i * size, fmt) : 0, &flags);
  return flags;
}

/* The lanes whose result is an infinity because an operand is: a mask's -inf fill whole vectors. Finite operands are scaled,
 * so that no product or sum of them overflows (binary64: below 2^24 each; else a below 2^684, the others below 2^-212); one
 * that becomes 0 makes NaN of an infinity, and is left to rm_formula_element, as NaN are. No exception is due: quotients are
 * taken for products where the divisor is finite, and times infinity is infinite, thus not 0. Sets these lanes of *r. */
RM_COLD uint32_t rm_formula_infinities(const rm_formula_problem *problem, const char *at_x, const char *at_y,
                                       const char *at_z, vf64 *r) {
  const int fmt = problem->format, formula = problem->formula;
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), scale = vf64_set1(fmt == RM_F64 ? 0x1p-1000 : 0x1p-340);
  const vf64 a = vf64_mul(vf64_set1(problem->a), scale), x = vf64_mul(rm_load_elements(at_x, fmt), scale);
  const vf64 y = at_y ? vf64_mul(rm_load_elements(at_y, fmt), scale) : zero;
  const vf64 last = at_z ? rm_load_elements(at_z, fmt) : zero, z = vf64_mul(last, scale);
  vf64 v, below = one;
  switch (formula) {
    case RM_FORMULA_SCALED: v = vf64_mul(a, x); break;
    case RM_FORMULA_OVER: v = vf64_mul(a, x), below = a; break;
    case RM_FORMULA_ADDED: v = vf64_add(x, a); break;
    case RM_FORMULA_PLUS: v = vf64_add(x, vf64_mul(a, y)); break;
    case RM_FORMULA_BETWEEN:
      v = vf64_mul(vf64_mul(vf64_sub(one, vf64_set1(problem->a)), scale), x);
      v = vf64_add(v, vf64_mul(a, y));
      break;
    case RM_FORMULA_MIX: v = vf64_add(vf64_mul(vf64_mul(vf64_sub(one, last), scale), x), vf64_mul(z, y)); break;
    case RM_FORMULA_PRODUCT: v = vf64_add(x, vf64_mul(vf64_mul(a, y), z)); break;
    case RM_FORMULA_QUOTIENT: v = vf64_add(x, vf64_mul(vf64_mul(a, y), z)), below = z; break;
    default: return 0;
  }
  const vf64 infinity = vf64_from_bits(vi64_set1(INT64_C(2047) << 52));
  const vm64 divides = vm64_andnot(vf64_is_infinite(vf64_mul(below, infinity)), vf64_is_infinite(below));
  const vm64 known = vm64_and(vf64_is_infinite(v), divides);
  *r = vf64_select(known, v, *r);
  return vm64_bits(known);
}

RM_COLD void rm_write_lanes(char *out, uint32_t lanes, const uint64_t *bits, int fmt) {
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1) rm_write_bits(out + i * rm_size_of(fmt), bits[i], fmt);
}
RM_FN uint32_t rm_formula_vector(const rm_formula_problem *problem, const char *x, const char *y, const char *z, char *out,
                                 const int fmt, const int formula, uint32_t live) {
  vf64 r;
  uint64_t accurate[RM_LANES];
  uint32_t lanes = vm64_bits(rm_formula_values(problem, x, y, z, fmt, formula, &r)) & live;
  uint32_t flags = 0;
  if (RM_UNLIKELY(lanes)) lanes &= ~rm_formula_infinities(problem, x, y, z, &r);
  if (RM_UNLIKELY(lanes)) flags = rm_redo_formula(problem, x, y, z, lanes, accurate);
  rm_store_elements(out, r, fmt); /* out may be an argument: it is read before */
  if (RM_UNLIKELY(lanes)) rm_write_lanes(out, lanes, accurate, fmt);
  return flags;
}

/* Elements [begin, end): whole vectors, and a padded one for the rest, by the same code: the compiler puts it in place
 * once. */
RM_FN uint32_t rm_formula_loop(const rm_formula_problem *problem, int64_t begin, int64_t end, const int fmt,
                               const int formula) {
  const int size = rm_size_of(fmt);
  const int has_y = rm_formula_has_y(formula), has_z = rm_formula_has_z(formula);
  uint32_t flags = 0, live = (1u << RM_LANES) - 1;
  char rest[4][8 * RM_LANES] = {{0}};
  for (int64_t i = begin; i < end; i += RM_LANES) {
    const ptrdiff_t at = (ptrdiff_t)i * size;
    const char *x = problem->x + at, *y = has_y ? problem->y + at : 0, *z = has_z ? problem->z + at : 0;
    char *out = problem->out + at;
    const size_t bytes = (size_t)(end - i) * (size_t)size;
    const int whole = end - i >= RM_LANES;
    if (!RM_LIKELY(whole)) {
      __builtin_memcpy(rest[0], x, bytes);
      if (has_y) __builtin_memcpy(rest[1], y, bytes);
      if (has_z) __builtin_memcpy(rest[2], z, bytes);
      x = rest[0], y = has_y ? rest[1] : 0, z = has_z ? rest[2] : 0, out = rest[3], live = (1u << (end - i)) - 1;
    }
    flags |= rm_formula_vector(problem, x, y, z, out, fmt, formula, live);
    if (!RM_LIKELY(whole)) __builtin_memcpy(problem->out + at, rest[3], bytes);
  }
  return flags;
}

/* The formulas as constants. */
RM_FN uint32_t rm_formula_cases(const rm_formula_problem *problem, int64_t begin, int64_t end, const int fmt) {
  switch (problem->formula) {
    case RM_FORMULA_SCALED: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_SCALED);
    case RM_FORMULA_OVER: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_OVER);
    case RM_FORMULA_UNDER: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_UNDER);
    case RM_FORMULA_ADDED: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_ADDED);
    case RM_FORMULA_PLUS: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_PLUS);
    case RM_FORMULA_BETWEEN: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_BETWEEN);
    case RM_FORMULA_PRODUCT: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_PRODUCT);
    case RM_FORMULA_QUOTIENT: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_QUOTIENT);
    case RM_FORMULA_TANH: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_TANH);
    case RM_FORMULA_SIGMOID: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_SIGMOID);
    case RM_FORMULA_MAX_SCALAR: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_MAX_SCALAR);
    case RM_FORMULA_MIN_SCALAR: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_MIN_SCALAR);
    case RM_FORMULA_MAX: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_MAX);
    case RM_FORMULA_MIN: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_MIN);
    case RM_FORMULA_MIX: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_MIX);
    default: return rm_formula_loop(problem, begin, end, fmt, RM_FORMULA_GATE);
  }
}

#define RM_DEFINE_FORMULAS(fmt, FMT)                                                                \
  static uint32_t rm_formula_##fmt(const rm_formula_problem *problem, int64_t begin, int64_t end) { \
    return rm_formula_cases(problem, begin, end, FMT);                                              \
  }
RM_DEFINE_FORMULAS(f16, RM_F16)
RM_DEFINE_FORMULAS(bf16, RM_BF16)
RM_DEFINE_FORMULAS(f32, RM_F32)
RM_DEFINE_FORMULAS(f64, RM_F64)
#undef RM_DEFINE_FORMULAS
