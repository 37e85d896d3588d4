/* Quotients of nll_rows.h over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */
RM_FORMULA void RM_NUM_NAME(nll_quotient)(RM_NUM_T *v, void *row, int64_t i, int limbs) {
  const rm_nll_value *q = (const rm_nll_value *)row;
  RM_NUM_T t;
  (void)i;
  if (q->sum) {
    RM_NUM_(set_total)(v, q->sum, limbs);
  } else {
    RM_NUM_(set)(v, q->a, limbs);
    RM_NUM_(set)(&t, q->b, limbs);
    RM_NUM_(mul)(v, v, &t);
  }
  RM_NUM_(neg)(v, v);
  if (q->divisor) {
    RM_NUM_NAME(nll_divisor)(&t, q->divisor, limbs);
    RM_NUM_(div)(v, v, &t);
  }
}
