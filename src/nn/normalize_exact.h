/* Normalization over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* deviation/root w + b. */
RM_FORMULA void RM_NUM_NAME(normalized)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_norm_row *r = (rm_norm_row *)row;
  RM_NUM_T t;
  int64_t divisor;
  RM_NUM_NAME(rm_norm_prepare)(r, limbs);
  RM_NUM_NAME(rm_norm_deviation)(y, r, i, limbs, &divisor);
  RM_NUM_(set)(&t, r->w[i], limbs);
  RM_NUM_(mul)(y, y, &t);
  RM_NUM_(set_i64)(&t, divisor, limbs);
  RM_NUM_(mul)(&t, &t, &r->RM_NUM.root);
  if (RM_NUM_(sign)(y) != 0) RM_NUM_(div)(y, y, &t);
  RM_NUM_(set)(&t, r->b[i], limbs);
  RM_NUM_(add)(y, y, &t);
}

#if !RM_DEVICE
/* The mean of the set. */
RM_FORMULA void RM_NUM_NAME(mean_of_set)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_norm_row *r = (rm_norm_row *)row;
  RM_NUM_T n;
  (void)i;
  RM_NUM_NAME(rm_norm_prepare)(r, limbs);
  RM_NUM_(set_i64)(&n, r->n, limbs);
  RM_NUM_(div)(y, &r->RM_NUM.sum, &n);
}

/* 1/sqrt(variance + eps). */
RM_FORMULA void RM_NUM_NAME(root_of_set)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_norm_row *r = (rm_norm_row *)row;
  (void)i;
  RM_NUM_NAME(rm_norm_prepare)(r, limbs);
  RM_NUM_(set_i64)(y, 1, limbs);
  RM_NUM_(div)(y, y, &r->RM_NUM.root);
}
#endif

/* h_i = g_i w_i. */
RM_FORMULA void RM_NUM_NAME(rm_norm_weighted)(RM_NUM_T *h, const rm_norm_row *r, int64_t i, int limbs) {
  RM_NUM_T w;
  RM_NUM_(set)(h, r->g[i], limbs);
  RM_NUM_(set)(&w, r->w[i], limbs);
  RM_NUM_(mul)(h, h, &w);
}

/* first = sum of h_k (0 where no mean is subtracted), second = sum of h_k (n x_k - sum). */
RM_FORMULA void RM_NUM_NAME(rm_norm_gradient_sums)(rm_norm_row *r, int limbs) {
  RM_NUM_T t, d;
  int64_t divisor;
  if (r->RM_NUM_NAME(limbs) == limbs) return;
  RM_NUM_NAME(rm_norm_prepare)(r, limbs);
  if (r->norm->variance.base) { /* given numbers do not move with x */
    RM_NUM_(set)(&r->RM_NUM.first, 0.0, limbs);
    RM_NUM_(set)(&r->RM_NUM.second, 0.0, limbs);
  } else if (r->norm->format == RM_F64) {
    RM_NUM_(set)(&r->RM_NUM.first, 0.0, limbs);
    RM_NUM_(set)(&r->RM_NUM.second, 0.0, limbs);
    for (int64_t k = 0; k < r->n; k++) {
      RM_NUM_NAME(rm_norm_weighted)(&t, r, k, limbs);
      RM_NUM_(add)(&r->RM_NUM.first, &r->RM_NUM.first, &t);
      RM_NUM_NAME(rm_norm_deviation)(&d, r, k, limbs, &divisor);
      RM_NUM_(mul)(&t, &t, &d);
      RM_NUM_(add)(&r->RM_NUM.second, &r->RM_NUM.second, &t);
    }
  } else { /* h is exact in binary64 */
    const rm_terms h = {(const char *)r->h, sizeof(double)}, x = {(const char *)r->x, sizeof(double)}, one = {NULL, 0};
    rm_sum_problem p = {r->n, h, one, RM_F64, NULL};
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.first, &p, limbs);
    p.y = x;
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.second, &p, limbs);
    if (r->norm->centered) {
      RM_NUM_(set_i64)(&t, r->n, limbs);
      RM_NUM_(mul)(&r->RM_NUM.second, &r->RM_NUM.second, &t);
      RM_NUM_(mul)(&t, &r->RM_NUM.first, &r->RM_NUM.sum);
      RM_NUM_(sub)(&r->RM_NUM.second, &r->RM_NUM.second, &t);
    }
  }
  if (!r->norm->centered) RM_NUM_(set)(&r->RM_NUM.first, 0.0, limbs);
}

/* (h_i - first/n - deviation_i second' / (n v))/sqrt(v) with second' = sum of h_k deviation_k: over one denominator
 * (n m^2 v h_i - m^2 v first - (m deviation_i) (m second'))/(n m^2 v sqrt(v)), m = n where a mean is subtracted, else 1. */
RM_FORMULA void RM_NUM_NAME(normalized_backward)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_norm_row *r = (rm_norm_row *)row;
  RM_NUM_T t, u, scale;
  int64_t divisor;
  RM_NUM_NAME(rm_norm_gradient_sums)(r, limbs);
  RM_NUM_NAME(rm_norm_deviation)(&t, r, i, limbs, &divisor);
  RM_NUM_(mul)(&t, &t, &r->RM_NUM.second);
  RM_NUM_(set_i64)(&u, divisor, limbs);
  RM_NUM_(mul)(&scale, &u, &u);
  RM_NUM_(mul)(&scale, &scale, &r->RM_NUM.variance);
  RM_NUM_NAME(rm_norm_weighted)(y, r, i, limbs);
  RM_NUM_(set_i64)(&u, r->n, limbs);
  RM_NUM_(mul)(y, y, &u);
  RM_NUM_(sub)(y, y, &r->RM_NUM.first);
  RM_NUM_(mul)(y, y, &scale);
  RM_NUM_(sub)(y, y, &t);
  RM_NUM_(mul)(&scale, &scale, &u);
  RM_NUM_(mul)(&scale, &scale, &r->RM_NUM.root);
  if (RM_NUM_(sign)(y) != 0) RM_NUM_(div)(y, y, &scale);
}
