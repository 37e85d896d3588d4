/* Cross entropy over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* What weights of classes are multiplied by, so that they are exact: n, or 1 where nothing is smoothed. */
RM_FORMULA int64_t RM_NUM_NAME(rm_entropy_scale)(const rm_entropy *f) { return f->p.label_smoothing != 0.0 ? f->p.n : 1; }

/* (1 - s) p_c + s/n of the row that is loaded, times that. */
RM_FORMULA void RM_NUM_NAME(rm_class_share)(RM_NUM_T *q, const rm_entropy_row *r, int64_t c, int limbs) {
  const rm_entropy *f = r->f;
  RM_NUM_T t, one;
  RM_NUM_(set)(q, f->p.label_smoothing, limbs);
  if (f->p.probability || c == r->target) {
    RM_NUM_(set)(&one, 1.0, limbs);
    RM_NUM_(sub)(&one, &one, q);
    RM_NUM_(set)(&t, f->p.probability ? r->p[c] : 1.0, limbs);
    RM_NUM_(mul)(&one, &one, &t);
    RM_NUM_(set_i64)(&t, RM_NUM_NAME(rm_entropy_scale)(f), limbs);
    RM_NUM_(mul)(&t, &t, &one);
    RM_NUM_(add)(q, q, &t);
  }
}

/* q_c, the weight of class c in the loss: that times w_c. */
RM_FORMULA void RM_NUM_NAME(rm_class_weight)(RM_NUM_T *q, const rm_entropy_row *r, int64_t c, int limbs) {
  RM_NUM_T t;
  RM_NUM_NAME(rm_class_share)(q, r, c, limbs);
  RM_NUM_(set)(&t, r->w[c], limbs);
  RM_NUM_(mul)(q, q, &t);
}

/* sum of these. */
RM_FORMULA void RM_NUM_NAME(rm_class_weights)(RM_NUM_T *sum, const rm_entropy_row *r, int limbs) {
  RM_NUM_T q;
  RM_NUM_(set)(sum, 0.0, limbs);
  for (int64_t c = first_class(r); c < end_class(r); c++) {
    RM_NUM_NAME(rm_class_weight)(&q, r, c, limbs);
    RM_NUM_(add)(sum, sum, &q);
  }
}

/* Of the row that is loaded, times the scale: the sum of q_c (m - x_c), and that of q_c. */
RM_FORMULA void RM_NUM_NAME(rm_row_parts)(RM_NUM_T *loss, RM_NUM_T *sum, const rm_entropy_exact *exact, int limbs) {
  const rm_entropy_row *r = &exact->row;
  RM_NUM_T q, m, x;
  RM_NUM_(set)(loss, 0.0, limbs);
  RM_NUM_(set)(sum, 0.0, limbs);
  RM_NUM_(set)(&m, exact->e.m, limbs);
  for (int64_t c = first_class(r); c < end_class(r); c++) {
    RM_NUM_NAME(rm_class_weight)(&q, r, c, limbs);
    RM_NUM_(add)(sum, sum, &q);
    RM_NUM_(set)(&x, exact->e.x[c], limbs);
    RM_NUM_(sub)(&x, &m, &x);
    RM_NUM_(mul)(&x, &x, &q);
    RM_NUM_(add)(loss, loss, &x);
  }
}

/* The loss of the row that is loaded: sum of q_c (m - x_c) + (sum of q_c) log(1 + S'). */
RM_FORMULA void RM_NUM_NAME(row_loss)(RM_NUM_T *loss, void *row, int64_t i, int limbs) {
  rm_entropy_exact *r = (rm_entropy_exact *)row;
  RM_NUM_T sum, scale;
  (void)i;
  RM_NUM_NAME(rm_row_parts)(loss, &sum, r, limbs);
  RM_NUM_NAME(rm_exp_row_log)(&scale, &r->e, limbs);
  RM_NUM_(mul)(&sum, &sum, &scale);
  RM_NUM_(add)(loss, loss, &sum);
  RM_NUM_(set_i64)(&scale, RM_NUM_NAME(rm_entropy_scale)(r->row.f), limbs);
  RM_NUM_(div)(loss, loss, &scale);
}

/* What a mean divides by: the number of rows, or the sum of the weights of the targets. */
RM_FORMULA void RM_NUM_NAME(rm_entropy_divisor)(RM_NUM_T *d, const rm_entropy *f, int limbs) {
  RM_NUM_T w;
  if (f->p.reduction != RM_REDUCTION_MEAN || f->p.probability || !f->p.weight) {
    RM_NUM_(set_i64)(d, f->p.reduction == RM_REDUCTION_MEAN ? *f->counted : 1, limbs);
    return;
  }
  RM_NUM_(set)(d, 0.0, limbs);
  for (int64_t i = 0; i < f->p.rows; i++) {
    const int64_t t = rm_entropy_target(f, i);
    if (t == f->p.ignore_index) continue;
    RM_NUM_(set)(&w, rm_entropy_weight(f, t), limbs);
    RM_NUM_(add)(d, d, &w);
  }
}

/* That times the scale of the weights. */
RM_FORMULA void RM_NUM_NAME(rm_entropy_below)(RM_NUM_T *d, const rm_entropy *f, int limbs) {
  RM_NUM_T t;
  RM_NUM_NAME(rm_entropy_divisor)(d, f, limbs);
  RM_NUM_(set_i64)(&t, RM_NUM_NAME(rm_entropy_scale)(f), limbs);
  RM_NUM_(mul)(d, d, &t);
}

/* Adds the logarithms' part of the row that is loaded, Q its sum of q_c. */
RM_FORMULA void RM_NUM_NAME(rm_add_logarithm)(RM_NUM_T *total, const rm_entropy_exact *r, int known, const RM_NUM_T *q, int limbs) {
  RM_NUM_T l;
#if !RM_DEVICE
  if (known == RM_ENTROPY_TAIL)
    RM_NUM_NAME(rm_exp_row_tail_in_total)(&l, &r->e, limbs);
  else
#endif
    RM_NUM_NAME(rm_exp_row_log_in_total)(&l, &r->e, limbs);
  (void)known;
  RM_NUM_(mul)(&l, &l, q);
  RM_NUM_(add)(total, total, &l);
}

/* The sum of the losses, times the scale. Its tail (tail_exact.h) consists of the rows of which nothing but the greatest logit is above RM_EXP_TAIL,
 * and, where the logarithms of the terms above it cancel, of the terms below it of other rows: |Q| is below 2^2140, the tail below 2^-9500. A rational total and n times the
 * divisor times a boundary are multiples of 2^-4300 (s, p, w and x each of 2^-1074), and so is their distance. */
RM_FORMULA void RM_NUM_NAME(all_losses)(RM_NUM_T *total, rm_entropy_exact *r, int limbs) {
  const int64_t rows = r->row.f->p.rows;
  RM_NUM_T t, q;
  int signs = 0;
#if !RM_DEVICE
  if (limbs >= RM_ENTROPY_RELATION_LIMBS && r->cancels && !r->related) rm_entropy_relate(r);
#endif
  RM_NUM_(set)(total, 0.0, limbs);
  for (int64_t k = 0; k < rows; k++) {
    if (!rm_entropy_load(r, k)) continue;
    RM_NUM_NAME(rm_row_parts)(&t, &q, r, limbs);
    RM_NUM_(add)(total, total, &t);
    const int known = rm_entropy_known(r, k);
    if (rm_entropy_is_tail(r, known))
      signs |= RM_NUM_NAME(rm_tail_signs)(&q);
    else if (known == 0 && r->e.only_tail == 0)
      RM_NUM_NAME(rm_add_logarithm)(total, r, known, &q, limbs);
  }
  RM_NUM_(set)(&t, 0.0, limbs);
  for (int64_t k = 0; k < rows && RM_NUM_NAME(rm_tail_is_open)(total, signs); k++) {
    const int known = rm_entropy_known(r, k);
    if (known == RM_ENTROPY_LEFT_OUT || !rm_entropy_load(r, k) || !rm_entropy_is_tail(r, known)) continue;
    RM_NUM_NAME(rm_class_weights)(&q, &r->row, limbs);
    RM_NUM_NAME(rm_add_logarithm)(&t, r, known, &q, limbs);
  }
  RM_NUM_NAME(rm_tail_add)(total, signs, &t, limbs);
}

/* That over the divisor. */
RM_FORMULA void RM_NUM_NAME(total_loss)(RM_NUM_T *total, void *row, int64_t i, int limbs) {
  rm_entropy_exact *r = (rm_entropy_exact *)row;
  RM_NUM_T t;
  (void)i;
  RM_NUM_NAME(all_losses)(total, r, limbs);
  RM_NUM_NAME(rm_entropy_below)(&t, r->row.f, limbs);
  RM_NUM_(div)(total, total, &t);
}

/* g/divisor (e^(x_j - m)/S (sum of q_c) - q_j), S = 1 + S'; for the one class that counts, -g/divisor q (S less its own)/S, which keeps its
 * sign however near to 1 the class is. One division by all of the divisors, of which S is none where the q_c cancel: a value that is a boundary of
 * rounding is exact. */
RM_FORMULA void RM_NUM_NAME(entropy_gradient)(RM_NUM_T *y, void *row, int64_t j, int limbs) {
  rm_entropy_exact *r = (rm_entropy_exact *)row;
  RM_NUM_T t;
  if (r->RM_NUM_NAME(limbs) != limbs) {
    r->RM_NUM_NAME(limbs) = limbs;
    RM_NUM_NAME(rm_exp_row_sum)(&r->RM_NUM.all, &r->e, -1, limbs);
    RM_NUM_NAME(rm_class_weights)(&r->RM_NUM.weights, &r->row, limbs);
    RM_NUM_NAME(rm_entropy_below)(&r->RM_NUM.below, r->row.f, limbs);
    if (RM_NUM_(sign)(&r->RM_NUM.weights) == 0)
      RM_NUM_(set)(&r->RM_NUM.all, 1.0, limbs);
    else
      RM_NUM_(mul)(&r->RM_NUM.below, &r->RM_NUM.all, &r->RM_NUM.below);
  }
  if (r->row.one_class && j == r->row.target) {
    RM_NUM_NAME(rm_exp_row_sum)(y, &r->e, j, limbs);
    RM_NUM_(mul)(y, y, &r->RM_NUM.weights);
    RM_NUM_(neg)(y, y);
  } else {
    RM_NUM_NAME(rm_exp_row_term)(y, &r->e, j, limbs);
    RM_NUM_(mul)(y, y, &r->RM_NUM.weights);
    if (!r->row.one_class) {
      RM_NUM_NAME(rm_class_weight)(&t, &r->row, j, limbs);
      RM_NUM_(mul)(&t, &t, &r->RM_NUM.all);
      RM_NUM_(sub)(y, y, &t);
    }
  }
  RM_NUM_(set)(&t, r->row.g, limbs);
  RM_NUM_(mul)(y, y, &t);
  if (RM_NUM_(sign)(y) != 0) RM_NUM_(div)(y, y, &r->RM_NUM.below);
}
