/* The formulas of optimizers.h, over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each kind. */

/* What depends on the step alone. */
typedef struct {
  RM_NUM_T beta1, beta2, keep1, keep2, d1, d2, lr, decay, eps, a;
} RM_NUM_NAME(rm_step_numbers);

/* r = 1 - beta^t */
RM_COLD void RM_NUM_NAME(one_minus_power)(RM_NUM_T *r, double beta, uint64_t t, int n) {
  RM_NUM_T one;
  RM_NUM_(set)(r, beta, n);
  RM_NUM_(pow)(r, r, t);
  RM_NUM_(set)(&one, 1.0, n);
  RM_NUM_(sub)(r, &one, r);
}

RM_COLD void RM_NUM_NAME(step_numbers)(RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o, int n) {
  RM_NUM_(set)(&c->beta1, o->beta1, n);
  RM_NUM_(set)(&c->lr, o->lr, n);
  RM_NUM_(set)(&c->decay, o->decay, n);
  RM_NUM_NAME(one_minus_power)(&c->keep1, o->kind == RM_SGD ? o->dampening : o->beta1, 1, n);
  if (o->kind == RM_SGD) return;
  RM_NUM_(set)(&c->beta2, o->beta2, n);
  RM_NUM_(set)(&c->eps, o->eps, n);
  RM_NUM_NAME(one_minus_power)(&c->keep2, o->beta2, 1, n);
  RM_NUM_NAME(one_minus_power)(&c->d1, o->beta1, (uint64_t)o->t, n);
  RM_NUM_NAME(one_minus_power)(&c->d2, o->beta2, (uint64_t)o->t, n);
  RM_NUM_(set)(&c->a, 1.0, n);
  if (o->decoupled) {
    RM_NUM_T t;
    RM_NUM_(mul)(&t, &c->lr, &c->decay);
    RM_NUM_(sub)(&c->a, &c->a, &t);
  }
}

/* r = d */
RM_COLD void RM_NUM_NAME(direction)(RM_NUM_T *r, const RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o, double p,
                                    double g, int n) {
  RM_NUM_T t;
  RM_NUM_(set)(r, o->negate ? -g : g, n);
  if (o->decay == 0.0 || o->decoupled) return;
  RM_NUM_(set)(&t, p, n);
  RM_NUM_(mul)(&t, &t, &c->decay);
  RM_NUM_(add)(r, r, &t);
}

/* r = beta x + keep y */
RM_COLD void RM_NUM_NAME(average)(RM_NUM_T *r, const RM_NUM_T *beta, double x, const RM_NUM_T *keep, const RM_NUM_T *y,
                                  int n) {
  RM_NUM_T t;
  RM_NUM_(set)(&t, x, n);
  RM_NUM_(mul)(&t, &t, beta);
  RM_NUM_(mul)(r, keep, y);
  RM_NUM_(add)(r, r, &t);
}

/* b' or m'; SGD's first buffer is d. */
RM_COLD void RM_NUM_NAME(first_moment)(RM_NUM_T *r, const RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o, double p,
                                       double g, double m, int n) {
  RM_NUM_NAME(direction)(r, c, o, p, g, n);
  if (o->kind == RM_ADAM || !o->first) RM_NUM_NAME(average)(r, &c->beta1, m, &c->keep1, r, n);
}

RM_COLD void RM_NUM_NAME(second_moment)(RM_NUM_T *r, const RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o, double p,
                                        double g, double v, int n) {
  RM_NUM_NAME(direction)(r, c, o, p, g, n);
  RM_NUM_(mul)(r, r, r);
  RM_NUM_NAME(average)(r, &c->beta2, v, &c->keep2, r, n);
}

/* p' of SGD from the new buffer m (unused without momentum). */
RM_COLD void RM_NUM_NAME(sgd_parameter)(RM_NUM_T *r, const RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o, double p,
                                        double g, double m, int n) {
  RM_NUM_T t;
  if (o->m && !o->nesterov) {
    RM_NUM_(set)(r, m, n);
  } else {
    RM_NUM_NAME(direction)(r, c, o, p, g, n);
    if (o->m) {
      RM_NUM_(set)(&t, m, n);
      RM_NUM_(mul)(&t, &t, &c->beta1);
      RM_NUM_(add)(r, r, &t);
    }
  }
  RM_NUM_(mul)(r, r, &c->lr);
  RM_NUM_(set)(&t, p, n);
  RM_NUM_(sub)(r, &t, r);
}

/* p' of Adam from the new moments; s < infinity, sqrt(s) + eps is not 0. */
RM_COLD void RM_NUM_NAME(adam_parameter)(RM_NUM_T *r, const RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o, double p,
                                         double m, double s, int n) {
  RM_NUM_T t;
  (void)o;
  RM_NUM_(set)(&t, s, n);
  RM_NUM_(div)(&t, &t, &c->d2);
  RM_NUM_(sqrt)(&t, &t);
  RM_NUM_(add)(&t, &t, &c->eps);
  RM_NUM_(set)(r, m, n);
  RM_NUM_(mul)(r, r, &c->lr);
  RM_NUM_(div)(r, r, &c->d1);
  RM_NUM_(div)(r, r, &t);
  RM_NUM_(set)(&t, p, n);
  RM_NUM_(mul)(&t, &t, &c->a);
  RM_NUM_(sub)(r, &t, r);
}

/* A quantity of one element; `which` is one of the four above. */
RM_COLD void RM_NUM_NAME(quantity)(RM_NUM_T *r, int which, const RM_NUM_NAME(rm_step_numbers) * c, const rm_optimizer *o,
                                   double p, double g, double m, double v, int n) {
  if (which == FIRST_MOMENT)
    RM_NUM_NAME(first_moment)(r, c, o, p, g, m, n);
  else if (which == SECOND_MOMENT)
    RM_NUM_NAME(second_moment)(r, c, o, p, g, v, n);
  else if (o->kind == RM_SGD)
    RM_NUM_NAME(sgd_parameter)(r, c, o, p, g, m, n);
  else
    RM_NUM_NAME(adam_parameter)(r, c, o, p, m, v, n);
}
