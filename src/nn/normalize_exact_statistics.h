/* Statistics of a set over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* What a deviation, a sum and a square are multiplied by, so that they are exact: n, or 1 where mean and variance are given. */
RM_FORMULA int64_t RM_NUM_NAME(rm_norm_scale)(const rm_norm_row *r) { return r->norm->variance.base ? 1 : r->n; }

/* Sums of the set, k = n or 1: sum = k mean, 0 where none is subtracted; square = k^2 (variance + eps), of which nothing is divided. */
RM_FORMULA void RM_NUM_NAME(rm_norm_sums)(rm_norm_row *r, int limbs) {
  const rm_norm_job *f = r->norm;
  RM_NUM_T t, n;
  RM_NUM_(set_i64)(&n, RM_NUM_NAME(rm_norm_scale)(r), limbs);
  if (f->variance.base) {
    RM_NUM_(set)(&r->RM_NUM.sum, rm_norm_given(f, &f->mean, r->set0, r->set1), limbs);
    RM_NUM_(set)(&r->RM_NUM.square, rm_norm_given(f, &f->variance, r->set0, r->set1), limbs);
  } else {
    const rm_terms x = {(const char *)r->x, sizeof(double)}, one = {NULL, 0};
    rm_sum_problem p = {r->n, x, one, RM_F64, NULL};
    if (f->centered)
      RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.sum, &p, limbs);
    else
      RM_NUM_(set)(&r->RM_NUM.sum, 0.0, limbs);
    p.y = x;
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.square, &p, limbs);
    RM_NUM_(mul)(&r->RM_NUM.square, &r->RM_NUM.square, &n);
    RM_NUM_(mul)(&t, &r->RM_NUM.sum, &r->RM_NUM.sum);
    RM_NUM_(sub)(&r->RM_NUM.square, &r->RM_NUM.square, &t);
  }
  RM_NUM_(set)(&t, f->eps, limbs);
  RM_NUM_(mul)(&t, &t, &n);
  RM_NUM_(mul)(&t, &t, &n);
  RM_NUM_(add)(&r->RM_NUM.square, &r->RM_NUM.square, &t);
}

/* These and the root of square, kept while `limbs` stays. */
RM_FORMULA void RM_NUM_NAME(rm_norm_prepare)(rm_norm_row *r, int limbs) {
  if (r->RM_NUM_NAME(limbs) == limbs) return;
  r->RM_NUM_NAME(limbs) = limbs;
  RM_NUM_NAME(rm_norm_sums)(r, limbs);
  RM_NUM_(sqrt)(&r->RM_NUM.root, &r->RM_NUM.square);
}

/* k x_i - sum: that by root is (x_i - mean)/sqrt(variance + eps). */
RM_FORMULA void RM_NUM_NAME(rm_norm_deviation)(RM_NUM_T *d, const rm_norm_row *r, int64_t i, int limbs) {
  RM_NUM_T n;
  RM_NUM_(set)(d, r->x[i], limbs);
  RM_NUM_(set_i64)(&n, RM_NUM_NAME(rm_norm_scale)(r), limbs);
  RM_NUM_(mul)(d, d, &n);
  RM_NUM_(sub)(d, d, &r->RM_NUM.sum);
}
