/* softmax and its relatives over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

RM_FORMULA void RM_NUM_NAME(softmax)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_exp_row *r = (rm_exp_row *)row;
  RM_NUM_T *s = &r->RM_NUM_NAME(sum);
  if (r->RM_NUM_NAME(limbs) != limbs) {
    RM_NUM_NAME(rm_exp_row_sum)(s, r, -1, limbs);
    r->RM_NUM_NAME(limbs) = limbs;
  }
  RM_NUM_NAME(rm_exp_row_term)(y, r, i, limbs);
  RM_NUM_(div)(y, y, s);
}

RM_FORMULA void RM_NUM_NAME(log_softmax)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_exp_row *r = (rm_exp_row *)row;
  RM_NUM_T *s = &r->RM_NUM_NAME(sum), m;
  int k;
  if (rm_exp_row_is_little(r, i, &k)) {
    RM_NUM_(set)(&m, 1.0, limbs);
    RM_NUM_(scale)(&m, &m, k);
    RM_NUM_(set)(y, r->m, limbs);
    RM_NUM_(add)(&m, &m, y);
    RM_NUM_(set)(y, r->x[i], limbs);
    RM_NUM_(sub)(y, y, &m);
    return;
  }
  if (r->RM_NUM_NAME(limbs) != limbs) {
    RM_NUM_NAME(rm_exp_row_log)(s, r, limbs);
    r->RM_NUM_NAME(limbs) = limbs;
  }
  RM_NUM_(set)(y, r->x[i], limbs);
  RM_NUM_(set)(&m, r->m, limbs);
  RM_NUM_(sub)(y, y, &m);
  RM_NUM_(sub)(y, y, s);
}

/* m + log(1 + sum of the others). */
RM_FORMULA void RM_NUM_NAME(logsumexp)(RM_NUM_T *y, void *row, int64_t i, int limbs) {
  rm_exp_row *r = (rm_exp_row *)row;
  RM_NUM_T m;
  (void)i;
  RM_NUM_NAME(rm_exp_row_log)(y, r, limbs);
  RM_NUM_(set)(&m, r->m, limbs);
  RM_NUM_(add)(y, &m, y);
}

/* y_i (g_i - sum of g_k y_k). */
RM_FORMULA void RM_NUM_NAME(softmax_backward)(RM_NUM_T *d, void *row, int64_t i, int limbs) {
  rm_gradient_row *r = (rm_gradient_row *)row;
  RM_NUM_T t;
  RM_NUM_NAME(rm_gradient_sum)(d, r, limbs);
  RM_NUM_(set)(&t, r->g[i], limbs);
  RM_NUM_(sub)(d, &t, d);
  RM_NUM_(set)(&t, r->y[i], limbs);
  RM_NUM_(mul)(d, d, &t);
}

/* g_i - e^(y_i) (sum of g_k). */
RM_FORMULA void RM_NUM_NAME(log_softmax_backward)(RM_NUM_T *d, void *row, int64_t i, int limbs) {
  rm_gradient_row *r = (rm_gradient_row *)row;
  RM_NUM_T t;
  RM_NUM_NAME(rm_gradient_sum)(d, r, limbs);
  RM_NUM_(set)(&t, r->y[i], limbs);
  RM_NUM_(exp)(&t, &t);
  RM_NUM_(mul)(&t, &t, d);
  RM_NUM_(set)(d, r->g[i], limbs);
  RM_NUM_(sub)(d, d, &t);
}
