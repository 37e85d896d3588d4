/* The formulas of include/repmath/formulas.h: one description for the vector loop, the slow tiers and the entry point. */
#ifndef RM_NN_FORMULA_FORMULAS_H
#define RM_NN_FORMULA_FORMULAS_H

#include <stdint.h>

#include "../../../crlibm/fp/bits.h"

typedef struct {
  int formula, format;
  int64_t n;
  double a;
  double keep[2]; /* 1 - a in two parts, exactly */
  int by_vectors; /* a is within the bounds of formula/step.h; else all elements are for the slow tiers */
  const char *x, *y, *z;
  char *out;
} rm_formula_job;

/* Elements [begin, end). Returns RM_FLAG_* bits. */
typedef uint32_t rm_formula_fn(const rm_formula_job *job, int64_t begin, int64_t end);

/* The slow tiers: one element, whatever it holds, as bits of the format. */
uint64_t rm_formula_accurate(const rm_formula_job *job, uint64_t x, uint64_t y, uint64_t z, uint32_t *flags);
/* The same for the elements [begin, end). */
rm_formula_fn rm_formula_slowly;

/* Whether the formula has this array. */
RM_FN int rm_formula_has_y(int formula) { return (formula >= 4 && formula <= 9) || formula >= 12; }
RM_FN int rm_formula_has_z(int formula) { return formula == 6 || formula == 7; }
/* Whether it is a product or a quotient, whose zeros have signs. */
RM_FN int rm_formula_is_product(int formula) { return formula <= 2 || formula == 8 || formula == 9; }
/* Whether it chooses among its arguments. */
RM_FN int rm_formula_is_choice(int formula) { return formula >= 10; }

#endif
