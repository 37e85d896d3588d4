/* Normalization over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* deviation/root w + b, as (deviation w + b root)/root: exact where it is no more digits than a boundary of rounding has. */
RM_FORMULA void RM_NUM_NAME(normalized)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_norm_row *r = (rm_norm_row *)row;
  RM_NUM_T t, b;
  RM_NUM_NAME(rm_norm_prepare)(r, limbs);
  RM_NUM_NAME(rm_norm_deviation)(y, r, i, limbs);
  RM_NUM_(set)(&t, r->w[i], limbs);
  RM_NUM_(mul)(y, y, &t);
  RM_NUM_(set)(&b, r->b[i], limbs);
  if (RM_NUM_(sign)(y) == 0) {
    RM_NUM_(copy)(y, &b);
    return;
  }
  RM_NUM_(mul)(&b, &b, &r->RM_NUM.root);
  RM_NUM_(add)(y, y, &b);
  RM_NUM_(div)(y, y, &r->RM_NUM.root);
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
  RM_NUM_(set_i64)(y, RM_NUM_NAME(rm_norm_scale)(r), limbs);
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

/* first = sum of h_k (0 where no mean is subtracted), second = sum of h_k deviation_k. */
RM_FORMULA void RM_NUM_NAME(rm_norm_gradient_sums)(rm_norm_row *r, int limbs) {
  RM_NUM_T t, d;
  if (r->RM_NUM_NAME(limbs) == limbs) return;
  RM_NUM_NAME(rm_norm_prepare)(r, limbs);
  RM_NUM_(set)(&r->RM_NUM.first, 0.0, limbs);
  RM_NUM_(set)(&r->RM_NUM.second, 0.0, limbs);
  if (r->norm->variance.base) return; /* given numbers do not move with x */
  if (r->norm->format == RM_F64) {
    for (int64_t k = 0; k < r->n; k++) {
      RM_NUM_NAME(rm_norm_weighted)(&t, r, k, limbs);
      RM_NUM_(add)(&r->RM_NUM.first, &r->RM_NUM.first, &t);
      RM_NUM_NAME(rm_norm_deviation)(&d, r, k, limbs);
      RM_NUM_(mul)(&t, &t, &d);
      RM_NUM_(add)(&r->RM_NUM.second, &r->RM_NUM.second, &t);
    }
  } else { /* h is exact in binary64 */
    const rm_terms h = {(const char *)r->h, sizeof(double)}, x = {(const char *)r->x, sizeof(double)}, one = {NULL, 0};
    rm_sum_problem p = {r->n, h, one, RM_F64, NULL};
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.first, &p, limbs);
    p.y = x;
    RM_NUM_NAME(rm_problem_total)(&r->RM_NUM.second, &p, limbs);
    RM_NUM_(set_i64)(&t, r->n, limbs);
    RM_NUM_(mul)(&r->RM_NUM.second, &r->RM_NUM.second, &t);
    RM_NUM_(mul)(&t, &r->RM_NUM.first, &r->RM_NUM.sum);
    RM_NUM_(sub)(&r->RM_NUM.second, &r->RM_NUM.second, &t);
  }
  if (!r->norm->centered) RM_NUM_(set)(&r->RM_NUM.first, 0.0, limbs);
}

/* (h_i - first/n - (x_i - mean) sum of h_j (x_j - mean)/(n v))/sqrt(v), v = variance + eps. With k of rm_norm_scale, deviation = k (x_i - mean) and
 * square = k^2 v that is ((k h_i - first) square - deviation second)/(square root): exact, as above. Given statistics leave h_i/root. */
RM_FORMULA void RM_NUM_NAME(normalized_backward)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_norm_row *r = (rm_norm_row *)row;
  RM_NUM_T t, below;
  RM_NUM_NAME(rm_norm_gradient_sums)(r, limbs);
  RM_NUM_NAME(rm_norm_weighted)(y, r, i, limbs);
  RM_NUM_(set_i64)(&t, RM_NUM_NAME(rm_norm_scale)(r), limbs);
  RM_NUM_(mul)(y, y, &t);
  RM_NUM_(sub)(y, y, &r->RM_NUM.first);
  if (r->norm->variance.base) { /* x does not matter, though it were infinite */
    if (RM_NUM_(sign)(y) != 0) RM_NUM_(div)(y, y, &r->RM_NUM.root);
    return;
  }
  RM_NUM_(mul)(y, y, &r->RM_NUM.square);
  RM_NUM_NAME(rm_norm_deviation)(&t, r, i, limbs);
  RM_NUM_(mul)(&t, &t, &r->RM_NUM.second);
  RM_NUM_(sub)(y, y, &t);
  RM_NUM_(mul)(&below, &r->RM_NUM.square, &r->RM_NUM.root);
  if (RM_NUM_(sign)(y) != 0) RM_NUM_(div)(y, y, &below);
}
