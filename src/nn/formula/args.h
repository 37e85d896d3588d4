/* The problem of rm_formula (include/repmath/formulas.h): its arguments, and what depends on them alone. */
#pragma once

#include <stdint.h>

#include "../../../crlibm/fp/bits.h"
#include "../../../include/repmath/formulas.h"

typedef struct {
  int formula, format;
  int64_t n;
  double a;
  double keep[2]; /* 1 - a in two parts, exactly */
  int by_vectors; /* a is within the bounds of formula/step.h; else all elements go to the accurate phase */
  const char *x, *y, *z;
  char *out;
} rm_formula_problem;

/* The status of the arguments that *problem holds; RM_OK with n > 0 also says that keep and by_vectors are set. */
rm_status rm_formula_check(rm_formula_problem *problem);

/* Evaluates the elements [begin, end). Returns RM_FLAG_* bits. */
typedef uint32_t rm_formula_fn(const rm_formula_problem *problem, int64_t begin, int64_t end);

/* Rows of 2 n elements, two halves, and of n for g (gate.h); g NULL: the value. */
typedef struct {
  int format;
  int64_t rows, n;
  const char *g, *x;
  char *out;
} rm_gate_problem;
/* Evaluates [begin, end) of the rows' n elements. Returns RM_FLAG_* bits. */
typedef uint32_t rm_gate_fn(const rm_gate_problem *problem, int64_t begin, int64_t end);
rm_status rm_gate_check(const rm_gate_problem *problem, int gradient);

/* Rounds n elements of format `from`, next to each other, to format `to`. Returns RM_FLAG_* bits. */
typedef uint32_t rm_convert_fn(int from, int to, int64_t n, const char *x, char *out);
rm_status rm_convert_check(int from, int to, int64_t n, const char *x, const char *out);

/* The accurate phase: one element, whatever it holds, as bits of the format. */
uint64_t rm_formula_accurate(const rm_formula_problem *problem, uint64_t x, uint64_t y, uint64_t z, uint32_t *flags);
/* The same for the elements [begin, end). */
rm_formula_fn rm_formula_accurate_range;

/* Whether the formula has this array. */
RM_FN int rm_formula_has_y(int formula) {
  return (formula >= 4 && formula <= 9) || (formula >= 12 && formula <= 15) || formula == 17 || formula == 19 ||
         formula == 21 || (formula >= 23 && formula <= 26);
}
RM_FN int rm_formula_has_z(int formula) { return formula == 6 || formula == 7 || formula == 15; }
/* Whether it is a product or a quotient, whose zeros have signs. */
RM_FN int rm_formula_is_product(int formula) { return formula <= 2 || formula == 8 || formula == 9; }
/* Whether it chooses among its arguments. */
#define RM_FORMULA_IS_CHOICE(formula) ((formula) >= 10 && (formula) <= 14) /* a macro: CUDA's host code and its kernels ask */
/* Whether it is a quotient or remainder by the number a, which stands for the array y that is not there. */
RM_FN int rm_formula_by_number(const rm_formula_problem *p) {
  return p->formula >= RM_FORMULA_FLOOR && rm_formula_has_y(p->formula) && !p->y;
}
/* Whether it is one of those below binary64, which odd.h rounds. */
#define RM_FORMULA_IS_ODD(formula) ((formula) >= 16)
