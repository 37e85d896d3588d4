/* Regression losses over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* v factor/(divisor count), the factor 1/2, 1 or 2. */
RM_FORMULA void RM_NUM_NAME(divided)(RM_NUM_T *v, const rm_pair_loss *f, int limbs) {
  RM_NUM_T t;
  if (f->factor != 1.0) RM_NUM_(scale)(v, v, f->factor > 1.0 ? 1 : -1);
  if (f->divisor != 1.0) {
    RM_NUM_(set)(&t, f->divisor, limbs);
    RM_NUM_(div)(v, v, &t);
  }
  if (f->count != 1) {
    RM_NUM_(set_i64)(&t, f->count, limbs);
    RM_NUM_(div)(v, v, &t);
  }
}

/* The term of an element (loss_kernels.h), divided. */
RM_FORMULA void RM_NUM_NAME(pair_term)(RM_NUM_T *v, void *row, int64_t i, int limbs) {
  const rm_pair_row *r = (const rm_pair_row *)row;
  const rm_pair_loss *f = r->loss;
  RM_NUM_T t;
  (void)i;
  RM_NUM_(set)(v, r->x, limbs);
  RM_NUM_(set)(&t, r->y, limbs);
  RM_NUM_(sub)(v, v, &t);
  switch (f->kind) {
    case RM_TERM_SQUARE:
    case RM_TERM_ABSOLUTE:
      if (r->side < 0) RM_NUM_(neg)(v, v);
      if (f->kind == RM_TERM_ABSOLUTE) break;
      if (!r->beyond) {
        RM_NUM_(mul)(v, v, v);
        break;
      }
      RM_NUM_(scale)(v, v, 1);
      RM_NUM_(set)(&t, f->b, limbs);
      RM_NUM_(sub)(v, v, &t);
      RM_NUM_(mul)(v, v, &t);
      break;
    case RM_TERM_CLAMPED:
      if (r->beyond) RM_NUM_(set)(v, r->side < 0 ? -f->b : f->b, limbs);
      break;
    default: RM_NUM_(set)(v, (double)r->side, limbs);
  }
  if (f->g.base) {
    RM_NUM_(set)(&t, r->g, limbs);
    RM_NUM_(mul)(v, v, &t);
  }
  RM_NUM_NAME(divided)(v, f, limbs);
}

/* The exact total, divided. */
RM_FORMULA void RM_NUM_NAME(pair_total)(RM_NUM_T *v, void *row, int64_t i, int limbs) {
  const rm_pair_row *r = (const rm_pair_row *)row;
  (void)i;
  RM_NUM_(set_total)(v, r->total, limbs);
  RM_NUM_NAME(divided)(v, r->loss, limbs);
}
