/* The sum that a gradient needs, over the numbers RM_NUM: kept for the row. Included once for each. */
RM_FORMULA void RM_NUM_NAME(rm_gradient_sum)(RM_NUM_T *sum, rm_gradient_row *r, int limbs) {
  if (r->RM_NUM_NAME(limbs) != limbs) {
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM_NAME(sum), &r->total, limbs);
    r->RM_NUM_NAME(limbs) = limbs;
  }
  RM_NUM_(copy)(sum, &r->RM_NUM_NAME(sum));
}
