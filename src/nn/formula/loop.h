/* The loops of formulas over vectors on the host, with rm_formula_accurate for undecided lanes. */
#pragma once

#include "step.h"

RM_FN uint32_t rm_formula_vector(const rm_formula_problem *problem, const char *at_x, const char *at_y, const char *at_z,
                                 char *out, const int fmt, const int formula, uint32_t live) {
  vf64 r;
  const uint32_t lanes = vm64_bits(rm_formula_values(problem, at_x, at_y, at_z, fmt, formula, &r)) & live;
  if (RM_LIKELY(!lanes)) {
    rm_store_elements(out, r, fmt);
    return 0;
  }
  uint64_t accurate[RM_LANES] = {0};
  uint32_t flags = 0;
  const int size = rm_size_of(fmt);
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1)
      accurate[i] = rm_formula_accurate(problem, rm_read_bits(at_x + i * size, fmt),
                                        rm_formula_has_y(formula) ? rm_read_bits(at_y + i * size, fmt) : 0,
                                        rm_formula_has_z(formula) ? rm_read_bits(at_z + i * size, fmt) : 0, &flags);
  rm_store_elements(out, r, fmt); /* out may be an argument: read it before */
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1) rm_write_bits(out + i * size, accurate[i], fmt);
  return flags;
}

/* Elements [begin, end): whole vectors, and a padded one for the rest. */
RM_FN uint32_t rm_formula_loop(const rm_formula_problem *problem, int64_t begin, int64_t end, const int fmt,
                               const int formula) {
  const int size = rm_size_of(fmt);
  const int has_y = rm_formula_has_y(formula), has_z = rm_formula_has_z(formula);
  uint32_t flags = 0;
  int64_t i = begin;
  for (; i + RM_LANES <= end; i += RM_LANES) {
    const ptrdiff_t at = (ptrdiff_t)i * size;
    flags |= rm_formula_vector(problem, problem->x + at, has_y ? problem->y + at : 0, has_z ? problem->z + at : 0,
                               problem->out + at, fmt, formula, (1u << RM_LANES) - 1);
  }
  if (i == end) return flags;
  char rest[4][8 * RM_LANES] = {{0}};
  const ptrdiff_t at = (ptrdiff_t)i * size;
  const size_t bytes = (size_t)(end - i) * (size_t)size;
  __builtin_memcpy(rest[0], problem->x + at, bytes);
  if (has_y) __builtin_memcpy(rest[1], problem->y + at, bytes);
  if (has_z) __builtin_memcpy(rest[2], problem->z + at, bytes);
  flags |= rm_formula_vector(problem, rest[0], rest[1], rest[2], rest[3], fmt, formula, (1u << (end - i)) - 1);
  __builtin_memcpy(problem->out + at, rest[3], bytes);
  return flags;
}

/* The formulas as constants. */
#define RM_DEFINE_FORMULAS(fmt, FMT)                                                                   \
  static uint32_t rm_formula_##fmt(const rm_formula_problem *problem, int64_t begin, int64_t end) {    \
    switch (problem->formula) {                                                                        \
      case RM_FORMULA_SCALED: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_SCALED);     \
      case RM_FORMULA_OVER: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_OVER);         \
      case RM_FORMULA_UNDER: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_UNDER);       \
      case RM_FORMULA_ADDED: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_ADDED);       \
      case RM_FORMULA_PLUS: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_PLUS);         \
      case RM_FORMULA_BETWEEN: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_BETWEEN);   \
      case RM_FORMULA_PRODUCT: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_PRODUCT);   \
      case RM_FORMULA_QUOTIENT: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_QUOTIENT); \
      case RM_FORMULA_TANH: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_TANH);         \
      case RM_FORMULA_SIGMOID: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_SIGMOID);   \
      case RM_FORMULA_AT_LEAST: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_AT_LEAST); \
      case RM_FORMULA_AT_MOST: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_AT_MOST);   \
      case RM_FORMULA_LARGER: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_LARGER);     \
      case RM_FORMULA_SMALLER: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_SMALLER);   \
      default: return rm_formula_loop(problem, begin, end, FMT, RM_FORMULA_GATE);                      \
    }                                                                                                  \
  }
RM_DEFINE_FORMULAS(f16, RM_F16)
RM_DEFINE_FORMULAS(bf16, RM_BF16)
RM_DEFINE_FORMULAS(f32, RM_F32)
RM_DEFINE_FORMULAS(f64, RM_F64)
#undef RM_DEFINE_FORMULAS
