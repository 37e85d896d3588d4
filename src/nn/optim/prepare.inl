/* The coefficients of a step (args.h), after formula.inc over rm_dd_ball. It is also device code. */

/* A coefficient in two parts. */
RM_STATIC void rm_step_coefficient(const rm_dd_ball *a, double relative, double *parts, int *fast) {
  const double size = vf64_abs(a->hi);
  parts[0] = a->hi;
  parts[1] = a->lo;
  if (size == 0.0 && a->err == 0.0) return;
  if (!(a->err <= size * relative && size >= 0x1p-200 && size <= 0x1p200)) *fast = 0;
}

RM_STATIC void rm_step_prepare(rm_optimizer *o) {
  rm_step_numbers_dd_ball c = {0};
  rm_optimizer_constants k = {0};
  rm_dd_ball root, t;
  double unused[2];
  k.fast = 1;
  rm_step_numbers_of_dd_ball(&c, o, 0);
  __builtin_memcpy(o->numbers, &c, sizeof c);
  rm_step_coefficient(&c.lr, 0.0, unused, &k.fast);
  rm_step_coefficient(&c.beta1, 0.0, unused, &k.fast);
  rm_step_coefficient(&c.decay, 0.0, unused, &k.fast);
  rm_step_coefficient(&c.keep1, 0x1p-100, k.keep1, &k.fast);
  if (o->kind == RM_ADAM) {
    rm_step_coefficient(&c.beta2, 0.0, unused, &k.fast);
    rm_step_coefficient(&c.keep2, 0x1p-100, k.keep2, &k.fast);
    rm_step_coefficient(&c.a, 0x1p-100, k.a, &k.fast);
    rm_dd_ball_sqrt(&root, &c.d2);
    rm_dd_ball_mul(&t, &c.eps, &root);
    rm_step_coefficient(&t, 0x1p-85, k.eps, &k.fast);
    rm_dd_ball_mul(&t, &c.lr, &root);
    rm_dd_ball_div(&t, &t, &c.d1);
    rm_step_coefficient(&t, 0x1p-85, k.rate, &k.fast);
  }
  o->constants = k;
}
