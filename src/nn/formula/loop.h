/* The loops of formulas over vectors on the host, with rm_formula_accurate for undecided lanes. */
#pragma once

#include "known.h"
#include "scaled.h"

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

RM_COLD void rm_write_lanes(char *out, uint32_t lanes, const uint64_t *bits, int fmt) {
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1) rm_write_bits(out + i * rm_size_of(fmt), bits[i], fmt);
}
RM_FN uint32_t rm_formula_vector(const rm_formula_problem *problem, const char *x, const char *y, const char *z, char *out,
                                 const int fmt, const int formula, uint32_t live) {
  const vf64 zero = vf64_set1(0.0);
  vf64 r;
  vm64 other;
  uint64_t accurate[RM_LANES];
  uint32_t flags = 0;
  if (!rm_formula_is_sum(formula, fmt) ||
      !rm_formula_short(problem, rm_load_elements(x, fmt), rm_formula_has_y(formula) ? rm_load_elements(y, fmt) : zero,
                        rm_formula_has_z(formula) ? rm_load_elements(z, fmt) : zero, fmt, formula, &r, &other))
    other = rm_formula_values(problem, x, y, z, fmt, formula, &r);
  /* Quotients of binary64 are often ties, as x/6 + 1/2 of whole x is, which by_quotient decides exactly; by_rule has none. */
  const int exact_first = fmt == RM_F64 && formula == RM_FORMULA_QUOTIENT;
  uint32_t lanes = vm64_bits(other) & live;
  if (exact_first && RM_UNLIKELY(lanes)) lanes &= ~rm_formula_by_quotient(problem, x, y, z, lanes, &r);
  if (RM_UNLIKELY(lanes)) lanes &= ~rm_formula_by_rule(problem, x, y, z, lanes, &r, &flags);
  if (!exact_first && RM_UNLIKELY(lanes)) lanes &= ~rm_formula_by_sum(problem, x, y, z, lanes, &r);
  if (fmt == RM_F64 && RM_UNLIKELY(lanes)) lanes &= ~rm_formula_by_scaling(problem, x, y, z, lanes, &r, &flags);
  if (RM_UNLIKELY(lanes)) flags |= rm_redo_formula(problem, x, y, z, lanes, accurate);
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
