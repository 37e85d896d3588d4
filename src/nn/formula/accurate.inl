/* The accurate phase of formulas evaluates an element in double-double, then in balls, and applies IEEE 754's rules where an
 * operand is not finite. It is also device code. */
#include <stddef.h>

#include "../../../include/repmath/formulas.h"

#include "../../../crlibm/enclosure/ball.h"
#include "../../../crlibm/fp/exact.h"
#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../common/elements.h"
#include "args.h"
#include "../rows/parallel.h"

#define RM_NUM dd_ball
#include "formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "formula.inc"
#undef RM_NUM

/* All operands are finite, and no divisor is 0. Numbers of binary64 are multiples of 2^-1074 below 2^1024, boundaries q of
 * rounding multiples of 2^-1075. Sums of products of at most three are multiples of 2^-3222 below 2^3073: exact at 128 limbs
 * (8,192 bits), so decided. A quotient (x z + a y)/z differs from q by (x z - q z + a y)/z: a multiple of 2^-2149 over |z| <
 * 2^1024, so by 2^-3173 or more, or it is q. It is below 2^3123, and all but three of 128 limbs are known: within 2^-4800. */
RM_STATIC uint64_t rm_formula_finite(const rm_formula_problem *problem, double x, double y, double z, rm_row_state *state) {
  rm_dd_ball v;
  uint32_t *const flags = &state->flags;
  uint64_t bits = 0;
  rm_formula_value_dd_ball(&v, problem, x, y, z, 0);
  if (rm_dd_ball_round(&v, problem->format, RM_NEAREST, flags, &bits) || rm_row_defer(state)) return bits;
  enum { FIRST = 4, LAST = 128, SEPARATION = -3200 };
  for (int n = FIRST; n <= LAST; n = n == FIRST ? 32 : n * 4) {
    rm_ball r;
    rm_formula_value_ball(&r, problem, x, y, z, n);
    if (rm_ball_round_separated(&r, SEPARATION, problem->format, RM_NEAREST, flags, &bits)) return bits;
  }
  return bits; /* never reached, as derived */
}

RM_STATIC double rm_formula_sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; /* zeros keep theirs; NaN */ }
/* A finite number as its sign: no operation on these rounds or overflows. */
RM_STATIC double rm_formula_bounded(double x) { return rm_is_finite(x) ? rm_formula_sign(x) : x; }

/* An element whatever it holds, as bits of the format. */
RM_STATIC uint64_t rm_formula_element(const rm_formula_problem *problem, uint64_t bits_x, uint64_t bits_y, uint64_t bits_z,
                                      rm_row_state *state) {
  uint32_t *const flags = &state->flags;
  const int fmt = problem->format, formula = problem->formula;
  const double x = rm_to_double(bits_x, fmt), y = rm_to_double(bits_y, fmt), z = rm_to_double(bits_z, fmt), a = problem->a;
  const double bx = rm_formula_bounded(x), by = rm_formula_bounded(y), bz = rm_formula_bounded(z), ba = rm_formula_bounded(a);
  if (rm_is_signalling(bits_x, fmt) | rm_is_signalling(bits_y, fmt) | rm_is_signalling(bits_z, fmt))
    *flags |= RM_FLAG_INVALID;
  if (RM_FORMULA_IS_CHOICE(formula)) return rm_nan_bits(fmt); /* the vectors have done the rest */
  double r, below = 1.0, term = ba * by;
  int product = rm_formula_is_product(formula);
  switch (formula) {
    case RM_FORMULA_SCALED: r = ba * bx; break;
    case RM_FORMULA_OVER: r = bx / ba, below = a; break;
    case RM_FORMULA_UNDER: r = ba / bx, below = x; break;
    case RM_FORMULA_ADDED: r = bx + ba; break;
    case RM_FORMULA_BETWEEN: r = rm_formula_bounded(1.0 - a) * bx + term; break;
    case RM_FORMULA_MIX: r = rm_formula_bounded(1.0 - z) * bx + bz * by; break;
    case RM_FORMULA_TANH:
      r = bx * (!rm_is_nan(y) ? rm_formula_sign(1.0 - vf64_abs(y)) * (rm_is_finite(y) ? 1.0 : by * by) : y);
      break;
    case RM_FORMULA_SIGMOID: r = bx * by * rm_formula_bounded(1.0 - y); break;
    case RM_FORMULA_PRODUCT: r = bx + term * bz; break;
    case RM_FORMULA_QUOTIENT: r = bx + term / bz, below = z; break;
    default: r = bx + term;
  }
  const int nan_in = rm_is_nan(x) || rm_is_nan(y) || rm_is_nan(z) || rm_is_nan(a);
  if (!rm_is_finite(r)) {
    if (rm_is_nan(r) && !nan_in) *flags |= RM_FLAG_INVALID;
    if (!rm_is_nan(r) && below == 0.0) *flags |= RM_FLAG_DIVBYZERO;
    return !rm_is_nan(r) ? rm_signed_infinity(r < 0.0, fmt) : rm_nan_bits(fmt);
  }
  if (product && r == 0.0) return rm_signed_zero(rm_bits64(r) >> 63 != 0, fmt);
  /* An infinite divisor: the quotient is 0. */
  if (!rm_is_finite(below)) return rm_formula_finite(problem, x, 0.0, 1.0, state);
  return rm_formula_finite(problem, x, y, z, state);
}

/* Finds the result of element i, and stores it unless it is deferred. */
RM_STATIC void rm_formula_result(const void *operation, int64_t i, rm_row_state *state) {
  const rm_formula_problem *problem = (const rm_formula_problem *)operation;
  const int format = problem->format, formula = problem->formula;
  const ptrdiff_t at = (ptrdiff_t)i * rm_size_of(format);
  const uint64_t x = rm_read_bits(problem->x + at, format),
                 y = rm_formula_has_y(formula) ? rm_read_bits(problem->y + at, format) : 0,
                 z = rm_formula_has_z(formula) ? rm_read_bits(problem->z + at, format) : 0;
  const uint64_t r = rm_formula_element(problem, x, y, z, state);
  if (!state->deferred) rm_write_bits(problem->out + at, r, format);
}

#if !RM_DEVICE
uint64_t rm_formula_accurate(const rm_formula_problem *problem, uint64_t x, uint64_t y, uint64_t z, uint32_t *flags) {
  rm_row_state state = {0};
  const uint64_t bits = rm_formula_element(problem, x, y, z, &state);
  *flags |= state.flags;
  return bits;
}

uint32_t rm_formula_accurate_range(const rm_formula_problem *problem, int64_t begin, int64_t end) {
  rm_row_state state = {0};
  for (int64_t i = begin; i < end; i++) rm_formula_result(problem, i, &state);
  return state.flags;
}
#endif
