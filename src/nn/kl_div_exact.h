/* Kullback-Leibler divergence over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* r = e^(t - m). */
RM_FORMULA void RM_NUM_NAME(kl_exponential)(RM_NUM_T *r, double t, double m, int limbs) {
  RM_NUM_T from;
  RM_NUM_(set)(r, t, limbs);
  RM_NUM_(set)(&from, m, limbs);
  RM_NUM_(sub)(r, r, &from);
  RM_NUM_(exp)(r, r);
}

/* t (log t - x), or e^(e - m) (t - x), where e stands for t. Where logarithms cancel, -t x. */
RM_FORMULA void RM_NUM_NAME(kl_term)(RM_NUM_T *v, const rm_wide_loss *f, int64_t i, double e, double m, int limbs) {
  const double t = rm_wide_loss_read(f, RM_KL_T, i);
  RM_NUM_T x, factor;
  RM_NUM_(set)(&x, rm_wide_loss_read(f, RM_KL_X, i), limbs);
  RM_NUM_(set)(v, t, limbs);
  if (f->option) {
    RM_NUM_NAME(kl_exponential)(&factor, e, m, limbs);
  } else {
    RM_NUM_(copy)(&factor, v);
    if (f->rational)
      RM_NUM_(set)(v, 0.0, limbs);
    else
      RM_NUM_(log)(v, v);
  }
  RM_NUM_(sub)(v, v, &x);
  RM_NUM_(mul)(v, v, &factor);
}

RM_FORMULA void RM_NUM_NAME(kl_value)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const rm_wide_loss *f = (const rm_wide_loss *)operation;
  RM_NUM_NAME(kl_term)(v, f, i, kl_held(rm_wide_loss_read(f, RM_KL_T, i), RM_KL_FAR), 0.0, limbs);
}

/* -g t, or -g e^t, divided. */
RM_FORMULA void RM_NUM_NAME(kl_gradient)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const rm_wide_loss *f = (const rm_wide_loss *)operation;
  const double t = rm_wide_loss_read(f, RM_KL_T, i);
  RM_NUM_T g;
  if (f->option)
    RM_NUM_NAME(kl_exponential)(v, kl_held(t, RM_KL_FAR), 0.0, limbs);
  else
    RM_NUM_(set)(v, t, limbs);
  RM_NUM_(set)(&g, -rm_wide_loss_read(f, RM_KL_G, i), limbs);
  RM_NUM_(mul)(v, v, &g);
  RM_NUM_NAME(counted)(v, f->count, limbs);
}

/* Whether element k has a term in the sum: not a 0, and of e^t (t - x) not one of those that cancel. */
RM_FORMULA int RM_NUM_NAME(kl_counts)(const rm_wide_loss *f, int64_t k) {
  return kl_holds(f, k, 0) && !(f->option && (wide_loss_cancels(f, k) || rm_wide_loss_read(f, RM_KL_T, k) > f->top));
}

/* The sum of all terms, divided. */
RM_FORMULA void RM_NUM_NAME(kl_total)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const rm_wide_loss *f = (const rm_wide_loss *)operation;
  const double shift = f->top - f->top == 0.0 && __builtin_fabs(f->top) > RM_KL_FACTORED ? f->top : 0.0;
  const double least = f->option && shift == 0.0 ? -RM_KL_TAIL : -rm_near_infinity();
  double top = -rm_near_infinity(); /* of the tail */
  RM_NUM_T t, tail;
  (void)i;
  RM_NUM_(set)(v, 0.0, limbs);
  for (int64_t k = 0; k < f->n; k++) {
    const double at = rm_wide_loss_read(f, RM_KL_T, k);
    if (!RM_NUM_NAME(kl_counts)(f, k)) continue;
    if (at < least) {
      if (at > top) top = at;
      continue;
    }
    RM_NUM_NAME(kl_term)(&t, f, k, at, shift, limbs);
    RM_NUM_(add)(v, v, &t);
  }
  if (top - top == 0.0) { /* its sign, or its value */
    RM_NUM_(set)(&tail, 0.0, limbs);
    for (int64_t k = 0; k < f->n; k++) {
      const double at = rm_wide_loss_read(f, RM_KL_T, k);
      if (at >= least || !RM_NUM_NAME(kl_counts)(f, k)) continue;
      RM_NUM_NAME(kl_term)(&t, f, k, at, top, limbs);
      RM_NUM_(add)(&tail, &tail, &t);
    }
    if (!RM_NUM_(is_exact)(v) || RM_NUM_(sign)(&tail) == RM_SIGN_UNKNOWN) {
      RM_NUM_NAME(kl_exponential)(&t, kl_held(top, RM_KL_FARTHEST), 0.0, limbs);
      RM_NUM_(mul)(&tail, &tail, &t);
    }
    RM_NUM_NAME(rm_tail_add)(v, 3, &tail, limbs);
  }
  if (shift != 0.0) {
    RM_NUM_NAME(kl_exponential)(&t, kl_held(shift, RM_KL_FARTHEST), 0.0, limbs);
    RM_NUM_(mul)(v, v, &t);
  }
  RM_NUM_NAME(counted)(v, f->count, limbs);
}
