/* The formulas over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each kind. */

RM_COLD void RM_NUM_NAME(formula_value)(RM_NUM_T *r, const rm_formula_job *job, double x, double y, double z, int n) {
  RM_NUM_T a, s, t;
  RM_NUM_(set)(r, x, n);
  RM_NUM_(set)(&a, job->a, n);
  RM_NUM_(set)(&t, y, n);
  RM_NUM_(set)(&s, 1.0, n);
  switch (job->formula) {
    case RM_FORMULA_SCALED: RM_NUM_(mul)(r, r, &a); return;
    case RM_FORMULA_OVER: RM_NUM_(div)(r, r, &a); return;
    case RM_FORMULA_UNDER: RM_NUM_(div)(r, &a, r); return;
    case RM_FORMULA_ADDED: RM_NUM_(add)(r, r, &a); return;
    case RM_FORMULA_BETWEEN:
      RM_NUM_(sub)(&s, &s, &a);
      RM_NUM_(mul)(r, r, &s);
      break;
    case RM_FORMULA_TANH:
      RM_NUM_(mul)(&t, &t, &t);
      RM_NUM_(sub)(&s, &s, &t);
      RM_NUM_(mul)(r, r, &s);
      return;
    case RM_FORMULA_SIGMOID:
      RM_NUM_(sub)(&s, &s, &t);
      RM_NUM_(mul)(r, r, &t);
      RM_NUM_(mul)(r, r, &s);
      return;
    default: break;
  }
  RM_NUM_(mul)(&t, &t, &a);
  if (rm_formula_has_z(job->formula)) {
    RM_NUM_(set)(&s, z, n);
    if (job->formula == RM_FORMULA_PRODUCT)
      RM_NUM_(mul)(&t, &t, &s);
    else
      RM_NUM_(div)(&t, &t, &s);
  }
  RM_NUM_(add)(r, r, &t);
}
