/* What threads share of a row of cross_entropy (nn/cross_entropy/share.h), in double-double: the values of
 * nn/cross_entropy/formula.inc. */
#pragma once

/* q becomes q_c times the scale. */
RM_FN void rm_entropy_share_weight(rm_dd_ball *q, const rm_entropy_share *s, int64_t c) {
  rm_dd_ball t, one;
  rm_dd_ball_set(q, s->smoothing, 0);
  if (s->by_class || c == s->target) {
    rm_dd_ball_set(&one, 1.0, 0);
    rm_dd_ball_sub(&one, &one, q);
    rm_dd_ball_set(&t, s->by_class ? s->p[c] : 1.0, 0);
    rm_dd_ball_mul(&one, &one, &t);
    rm_dd_ball_set_i64(&t, s->scale, 0);
    rm_dd_ball_mul(&t, &t, &one);
    rm_dd_ball_add(q, q, &t);
  }
  rm_dd_ball_set(&t, s->w[c], 0);
  rm_dd_ball_mul(q, q, &t);
}

RM_STATIC int rm_entropy_decide(const rm_entropy_share *s, int64_t i, uint64_t *bits) {
  uint32_t flags = 0; /* a device has nowhere to raise them */
  rm_dd_ball y, t;
  if (s->one_class && i == s->target) return 0; /* its value is a sum over the others */
  rm_exp_term_dd_ball(&y, s->x[i], s->m, 0);
  rm_dd_ball_mul(&y, &y, &s->weights);
  if (!s->one_class) {
    rm_entropy_share_weight(&t, s, i);
    rm_dd_ball_mul(&t, &t, &s->all);
    rm_dd_ball_sub(&y, &y, &t);
  }
  rm_dd_ball_set(&t, s->g, 0);
  rm_dd_ball_mul(&y, &y, &t);
  if (rm_dd_ball_sign(&y) != 0) rm_dd_ball_div(&y, &y, &s->below);
  return rm_dd_ball_round(&y, RM_F64, RM_NEAREST, &flags, bits);
}

RM_STATIC void rm_entropy_add(const rm_entropy_share *s, int64_t first, int64_t step, rm_dd_ball *loss, rm_dd_ball *sum) {
  rm_dd_ball q, d, t;
  rm_dd_ball_set(loss, 0.0, 0);
  rm_dd_ball_set(sum, 0.0, 0);
  for (int64_t i = first; s->losses && i < s->n; i += step) {
    rm_dd_ball_add(loss, loss, &s->losses[i]);
    rm_dd_ball_set(&t, s->specials[i] != 0.0, 0);
    rm_dd_ball_add(sum, sum, &t);
  }
  for (int64_t i = first; s->targets && i < s->n; i += step) {
    int64_t target;
    RM_READ_WORD(target, s->targets + i * s->target_stride, sizeof target);
    if (target == s->ignored) continue;
    rm_dd_ball_set(&t, rm_read_element(s->class_weights + target * s->weight_stride, s->format), 0);
    rm_dd_ball_add(sum, sum, &t);
  }
  for (int64_t c = s->losses || s->targets ? s->n : first; c < s->n; c += step) {
    rm_entropy_share_weight(&q, s, c);
    rm_dd_ball_add(sum, sum, &q);
    rm_dd_ball_set(&d, s->m, 0);
    rm_dd_ball_set(&t, s->x[c], 0);
    rm_dd_ball_sub(&d, &d, &t);
    rm_dd_ball_mul(&d, &d, &q);
    rm_dd_ball_add(loss, loss, &d);
  }
}
