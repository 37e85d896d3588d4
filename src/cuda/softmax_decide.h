/* One result of a row of softmax and its relatives in binary64 that threads share (nn/softmax/share.h), in double-double. */
#pragma once

RM_STATIC int rm_softmax_decide(const rm_softmax_share *s, int64_t i, uint64_t *bits) {
  const double x = s->x[i];
  uint32_t flags = 0; /* a device has nowhere to raise them */
  rm_dd_ball v, t;
  int k;
  switch (s->kind) {
    case RM_SHARE_SOFTMAX:
      if (x - s->m < -1200.0) { /* as in rm_softmax_accurate_result */
        *bits = 0;
        return 1;
      }
      rm_exp_term_dd_ball(&v, x, s->m, 0);
      rm_dd_ball_div(&v, &v, &s->sum);
      break;
    case RM_SHARE_LOG_SOFTMAX: /* an infinity, and results beside a boundary, are the leader's */
      if (s->only_tail || !rm_is_finite(x - s->m) || rm_log_sum_is_negligible(x, s->m, s->second, s->n, &k)) return 0;
      rm_dd_ball_set(&v, x, 0);
      rm_dd_ball_set(&t, s->m, 0);
      rm_dd_ball_sub(&v, &v, &t);
      rm_dd_ball_sub(&v, &v, &s->sum);
      break;
    case RM_SHARE_BACKWARD:
      rm_dd_ball_set(&t, x, 0);
      rm_dd_ball_sub(&v, &t, &s->sum);
      rm_dd_ball_set(&t, s->y[i], 0);
      rm_dd_ball_mul(&v, &v, &t);
      break;
    default:
      if (!(s->y[i] >= RM_EXP_TAIL && s->y[i] <= -RM_EXP_TAIL)) return 0;
      rm_dd_ball_set(&t, s->y[i], 0);
      rm_dd_ball_exp(&t, &t);
      rm_dd_ball_mul(&t, &t, &s->sum);
      rm_dd_ball_set(&v, x, 0);
      rm_dd_ball_sub(&v, &v, &t);
  }
  return rm_dd_ball_round(&v, RM_F64, RM_NEAREST, &flags, bits);
}
