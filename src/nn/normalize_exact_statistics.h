/* Statistics of a set over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* Sums and root of the set, kept while `limbs` stays: sum = n mean (or the mean itself, where it is given), variance with eps. */
RM_FORMULA void RM_NUM_NAME(rm_norm_prepare)(rm_norm_row *r, int limbs) {
  const rm_norm_job *f = r->norm;
  RM_NUM_T t, n;
  if (r->RM_NUM_NAME(limbs) == limbs) return;
  r->RM_NUM_NAME(limbs) = limbs;
  if (f->variance.base) {
    RM_NUM_(set)(&r->RM_NUM.sum, rm_norm_given(f, &f->mean, r->set0, r->set1), limbs);
    RM_NUM_(set)(&r->RM_NUM.variance, rm_norm_given(f, &f->variance, r->set0, r->set1), limbs);
  } else {
    const rm_terms x = {(const char *)r->x, sizeof(double)}, one = {NULL, 0};
    rm_sum_problem p = {r->n, x, one, RM_F64, NULL};
    RM_NUM_(set_i64)(&n, r->n, limbs);
    if (f->centered)
      RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.sum, &p, limbs);
    else
      RM_NUM_(set)(&r->RM_NUM.sum, 0.0, limbs);
    p.y = x;
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.variance, &p, limbs);
    if (f->centered) { /* (n squares - sum^2)/n^2 */
      RM_NUM_(mul)(&r->RM_NUM.variance, &r->RM_NUM.variance, &n);
      RM_NUM_(mul)(&t, &r->RM_NUM.sum, &r->RM_NUM.sum);
      RM_NUM_(sub)(&r->RM_NUM.variance, &r->RM_NUM.variance, &t);
      RM_NUM_(div)(&r->RM_NUM.variance, &r->RM_NUM.variance, &n);
    }
    RM_NUM_(div)(&r->RM_NUM.variance, &r->RM_NUM.variance, &n);
  }
  RM_NUM_(set)(&t, f->eps, limbs);
  RM_NUM_(add)(&r->RM_NUM.variance, &r->RM_NUM.variance, &t);
  RM_NUM_(sqrt)(&r->RM_NUM.root, &r->RM_NUM.variance);
}

/* n x_i - sum, or x_i - mean where the mean is given: *divisor says by what that is the deviation. */
RM_FORMULA void RM_NUM_NAME(rm_norm_deviation)(RM_NUM_T *d, const rm_norm_row *r, int64_t i, int limbs, int64_t *divisor) {
  RM_NUM_T n;
  *divisor = r->norm->centered && !r->norm->variance.base ? r->n : 1;
  RM_NUM_(set)(d, r->x[i], limbs);
  RM_NUM_(set_i64)(&n, *divisor, limbs);
  RM_NUM_(mul)(d, d, &n);
  RM_NUM_(sub)(d, d, &r->RM_NUM.sum);
}
