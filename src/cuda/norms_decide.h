/* What threads share of a set of binary64 (nn/norm/share.h), in double-double: the values of nn/norm/formula.inc. */
#pragma once

/* d becomes scale x - sum. */
RM_FN void rm_norm_share_deviation(rm_dd_ball *d, const rm_norm_share *s, int64_t i) {
  rm_dd_ball t;
  rm_dd_ball_set_i64(&t, s->scale, 0);
  rm_dd_ball_set(d, s->x[i], 0);
  rm_dd_ball_mul(d, d, &t);
  rm_dd_ball_sub(d, d, &s->sum);
}

RM_STATIC int rm_norm_decide(const rm_norm_share *s, int64_t i, uint64_t *bits) {
  uint32_t flags = 0; /* a device has nowhere to raise them */
  rm_dd_ball y, t;
  if (s->kind == RM_SET_FLAT || s->kind == RM_SET_INVALID) {
    *bits = s->kind == RM_SET_FLAT ? 0 : rm_nan_bits(RM_F64);
    return 1;
  }
  if (s->g) {
    rm_dd_ball_set(&y, s->g[i], 0);
    rm_dd_ball_set(&t, s->w[i], 0);
    rm_dd_ball_mul(&y, &y, &t);
    rm_dd_ball_set_i64(&t, s->scale, 0);
    rm_dd_ball_mul(&y, &y, &t);
    rm_dd_ball_sub(&y, &y, &s->first);
    if (s->given) {
      t = s->root;
    } else {
      rm_dd_ball_mul(&y, &y, &s->square);
      rm_norm_share_deviation(&t, s, i);
      rm_dd_ball_mul(&t, &t, &s->second);
      rm_dd_ball_sub(&y, &y, &t);
      rm_dd_ball_mul(&t, &s->square, &s->root);
    }
    if (rm_dd_ball_sign(&y) != 0) rm_dd_ball_div(&y, &y, &t);
    return rm_dd_ball_round(&y, RM_F64, RM_NEAREST, &flags, bits);
  }
  if (!rm_is_finite(s->x[i]) || !rm_is_finite(s->w[i]) || !rm_is_finite(s->b[i])) return 0;
  if (s->kind == RM_SET_CONSTANT) {
    *bits = s->b[i] == 0.0 ? 0 : rm_bits64(s->b[i]);
    return 1;
  }
  rm_norm_share_deviation(&y, s, i);
  rm_dd_ball_set(&t, s->w[i], 0);
  rm_dd_ball_mul(&y, &y, &t);
  rm_dd_ball_set(&t, s->b[i], 0);
  if (rm_dd_ball_sign(&y) == 0) {
    y = t;
  } else {
    rm_dd_ball_mul(&t, &t, &s->root);
    rm_dd_ball_add(&y, &y, &t);
    rm_dd_ball_div(&y, &y, &s->root);
  }
  return rm_dd_ball_round(&y, RM_F64, RM_NEAREST, &flags, bits);
}

RM_STATIC void rm_norm_add(const rm_norm_share *s, int64_t first, int64_t step, rm_dd_ball *sum, rm_dd_ball *second) {
  rm_dd_ball h, t;
  rm_dd_ball_set(sum, 0.0, 0);
  rm_dd_ball_set(second, 0.0, 0);
  for (int64_t i = first; i < s->n; i += step) {
    rm_dd_ball_set(&h, s->g[i], 0);
    if (s->w) {
      rm_dd_ball_set(&t, s->w[i], 0);
      rm_dd_ball_mul(&h, &h, &t);
    }
    rm_dd_ball_add(sum, sum, &h);
    rm_norm_share_deviation(&t, s, i);
    rm_dd_ball_mul(&h, &h, &t);
    rm_dd_ball_add(second, second, &h);
  }
}
