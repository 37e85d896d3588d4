/* Binary cross entropy over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* t = e^-|x|, or beyond the tail a positive number that is as good (bce_element.h); 0 at infinity. */
RM_FORMULA void RM_NUM_NAME(bce_exponential)(RM_NUM_T *t, double x, int limbs) {
  if (__builtin_fabs(x) > RM_BCE_TAIL) {
    RM_NUM_(set)(t, x - x == 0.0 ? 1.0 : 0.0, limbs);
    RM_NUM_(scale)(t, t, RM_TAIL_BITS);
    return;
  }
  RM_NUM_(set)(t, -__builtin_fabs(x), limbs);
  RM_NUM_(exp)(t, t);
}

/* c = 1 + (p - 1) y; d = 1 - y. */
RM_FORMULA void RM_NUM_NAME(bce_factors)(RM_NUM_T *c, RM_NUM_T *d, const bce_element *e, int limbs) {
  RM_NUM_T one, y;
  RM_NUM_(set)(&one, 1.0, limbs);
  RM_NUM_(set)(&y, e->y, limbs);
  RM_NUM_(sub)(d, &one, &y);
  RM_NUM_(set)(c, e->p, limbs);
  RM_NUM_(sub)(c, c, &one);
  RM_NUM_(mul)(c, c, &y);
  RM_NUM_(add)(c, c, &one);
}

/* *v, log(1 + e^-|x|), becomes w ((1 - y) x + c log(1 + e^-x)). */
RM_FORMULA void RM_NUM_NAME(bce_term_of)(RM_NUM_T *v, const bce_element *e, int limbs) {
  RM_NUM_T c, d, t;
  RM_NUM_NAME(bce_factors)(&c, &d, e, limbs);
  if (e->x < 0.0) {
    RM_NUM_(set)(&t, -e->x, limbs);
    RM_NUM_(add)(v, v, &t);
  }
  RM_NUM_(mul)(v, v, &c);
  RM_NUM_(set)(&t, e->x, limbs);
  RM_NUM_(mul)(&d, &d, &t);
  RM_NUM_(add)(v, v, &d);
  RM_NUM_(set)(&t, e->w, limbs);
  RM_NUM_(mul)(v, v, &t);
}

RM_FORMULA void RM_NUM_NAME(bce_value)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const bce_element e = bce_read((const rm_wide_loss *)operation, i);
  RM_NUM_NAME(bce_exponential)(v, e.x, limbs);
  RM_NUM_(log1p)(v, v);
  RM_NUM_NAME(bce_term_of)(v, &e, limbs);
}

/* w g ((1 - y) - c/(1 + e^x)), divided. */
RM_FORMULA void RM_NUM_NAME(bce_gradient)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const rm_wide_loss *f = (const rm_wide_loss *)operation;
  const bce_element e = bce_read(f, i);
  RM_NUM_T c, d, t;
  RM_NUM_NAME(bce_factors)(&c, &d, &e, limbs);
  RM_NUM_NAME(bce_exponential)(v, e.x, limbs);
  RM_NUM_(set)(&t, 1.0, limbs);
  RM_NUM_(add)(&t, &t, v);
  if (e.x < 0.0) RM_NUM_(set)(v, 1.0, limbs);
  RM_NUM_(div)(v, v, &t);
  RM_NUM_(mul)(v, v, &c);
  RM_NUM_(sub)(v, &d, v);
  RM_NUM_(set)(&t, e.w, limbs);
  RM_NUM_(mul)(v, v, &t);
  RM_NUM_(set)(&t, e.g, limbs);
  RM_NUM_(mul)(v, v, &t);
  RM_NUM_NAME(counted)(v, f->count, limbs);
}

/* w c. */
RM_FORMULA void RM_NUM_NAME(bce_factor)(RM_NUM_T *c, const bce_element *e, int limbs) {
  RM_NUM_T t;
  RM_NUM_NAME(bce_factors)(c, &t, e, limbs);
  RM_NUM_(set)(&t, e->w, limbs);
  RM_NUM_(mul)(c, c, &t);
}

/* The sum of all terms, divided. What cancels is left out: the logarithms of others add up to what is not rational. */
RM_FORMULA void RM_NUM_NAME(bce_total)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const rm_wide_loss *f = (const rm_wide_loss *)operation;
  RM_NUM_T t, c;
  int signs = 0;
  (void)i;
  RM_NUM_(set)(v, 0.0, limbs);
  for (int64_t k = 0; k < f->n; k++) {
    const bce_element e = bce_read(f, k);
    if (!bce_holds(f, k, 0)) continue; /* its limit is 0 */
    if (__builtin_fabs(e.x) > RM_BCE_TAIL || wide_loss_cancels(f, k)) {
      RM_NUM_NAME(bce_factor)(&c, &e, limbs);
      if (!wide_loss_cancels(f, k)) signs |= RM_NUM_NAME(rm_tail_signs)(&c);
      RM_NUM_(set)(&t, 0.0, limbs);
      RM_NUM_NAME(bce_term_of)(&t, &e, limbs);
    } else {
      RM_NUM_NAME(bce_value)(&t, operation, k, limbs);
    }
    RM_NUM_(add)(v, v, &t);
  }
  RM_NUM_(set)(&t, 0.0, limbs);
  for (int64_t k = 0; k < f->n && RM_NUM_NAME(rm_tail_is_open)(v, signs); k++) {
    const bce_element e = bce_read(f, k);
    RM_NUM_T l;
    if (!bce_holds(f, k, 0) || __builtin_fabs(e.x) <= RM_BCE_TAIL || wide_loss_cancels(f, k)) continue;
    RM_NUM_(set)(&l, -__builtin_fabs(e.x), limbs);
    RM_NUM_(exp)(&l, &l);
    RM_NUM_(log1p)(&l, &l);
    RM_NUM_NAME(bce_factor)(&c, &e, limbs);
    RM_NUM_(mul)(&l, &l, &c);
    RM_NUM_(add)(&t, &t, &l);
  }
  RM_NUM_NAME(rm_tail_add)(v, signs, &t, limbs);
  RM_NUM_NAME(counted)(v, f->count, limbs);
}
