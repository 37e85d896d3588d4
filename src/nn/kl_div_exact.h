/* Kullback-Leibler divergence over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* r = e^(t - m). */
RM_FORMULA void RM_NUM_NAME(kl_exponential)(RM_NUM_T *r, double t, double m, int limbs) {
  RM_NUM_T from;
  RM_NUM_(set)(r, t, limbs);
  RM_NUM_(set)(&from, m, limbs);
  RM_NUM_(sub)(r, r, &from);
  RM_NUM_(exp)(r, r);
}

/* t (log t - x), or e^(e - m) (t - x), where e stands for t. */
RM_FORMULA void RM_NUM_NAME(kl_term)(RM_NUM_T *v, const rm_wide_loss *f, int64_t i, double e, double m, int limbs) {
  const double t = rm_wide_loss_read(f, RM_KL_T, i);
  RM_NUM_T x, factor;
  RM_NUM_(set)(&x, rm_wide_loss_read(f, RM_KL_X, i), limbs);
  RM_NUM_(set)(v, t, limbs);
  if (f->option) {
    RM_NUM_NAME(kl_exponential)(&factor, e, m, limbs);
  } else {
    RM_NUM_(copy)(&factor, v);
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

/* The sum of all terms, divided. */
RM_FORMULA void RM_NUM_NAME(kl_total)(RM_NUM_T *v, void *operation, int64_t i, int limbs) {
  const rm_wide_loss *f = (const rm_wide_loss *)operation;
  const double shift = f->top - f->top == 0.0 && __builtin_fabs(f->top) > RM_KL_FACTORED ? f->top : 0.0;
  RM_NUM_T t;
  (void)i;
  RM_NUM_(set)(v, 0.0, limbs);
  for (int64_t k = 0; k < f->n; k++) {
    const double at = rm_wide_loss_read(f, RM_KL_T, k);
    if (!kl_holds(f, k, 0) || (f->option && at > f->top)) continue; /* a 0, or one of terms that cancel */
    RM_NUM_NAME(kl_term)(&t, f, k, at, shift, limbs);
    RM_NUM_(add)(v, v, &t);
  }
  if (shift != 0.0) {
    RM_NUM_NAME(kl_exponential)(&t, kl_held(shift, RM_KL_FARTHEST), 0.0, limbs);
    RM_NUM_(mul)(v, v, &t);
  }
  RM_NUM_NAME(counted)(v, f->count, limbs);
}
