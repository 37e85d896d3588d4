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

/* The loss of the row that is loaded, times the scale: sum of q_c (m - x_c) + (sum of q_c) log(1 + S'). */
RM_FORMULA void RM_NUM_NAME(rm_row_loss)(RM_NUM_T *loss, rm_entropy_exact *exact, int limbs) {
  const rm_entropy_row *r = &exact->row;
  RM_NUM_T q, m, x, sum;
  RM_NUM_(set)(loss, 0.0, limbs);
  RM_NUM_(set)(&sum, 0.0, limbs);
  RM_NUM_(set)(&m, exact->e.m, limbs);
  for (int64_t c = first_class(r); c < end_class(r); c++) {
    RM_NUM_NAME(rm_class_weight)(&q, r, c, limbs);
    RM_NUM_(add)(&sum, &sum, &q);
    RM_NUM_(set)(&x, exact->e.x[c], limbs);
    RM_NUM_(sub)(&x, &m, &x);
    RM_NUM_(mul)(&x, &x, &q);
    RM_NUM_(add)(loss, loss, &x);
  }
  RM_NUM_NAME(rm_exp_row_log)(&x, &exact->e, limbs);
  RM_NUM_(mul)(&x, &x, &sum);
  RM_NUM_(add)(loss, loss, &x);
}

RM_FORMULA void RM_NUM_NAME(row_loss)(RM_NUM_T *loss, void *row, int64_t i, int limbs) {
  rm_entropy_exact *r = (rm_entropy_exact *)row;
  RM_NUM_T scale;
  (void)i;
  RM_NUM_NAME(rm_row_loss)(loss, r, limbs);
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

/* The sum of the losses, times the scale. */
RM_FORMULA void RM_NUM_NAME(all_losses)(RM_NUM_T *total, rm_entropy_exact *r, int limbs) {
  RM_NUM_T t;
  RM_NUM_(set)(total, 0.0, limbs);
  for (int64_t k = 0; k < r->row.f->p.rows; k++) {
    if (!rm_entropy_load(r, k)) continue;
    RM_NUM_NAME(rm_row_loss)(&t, r, limbs);
    RM_NUM_(add)(total, total, &t);
  }
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
 * sign however near to 1 the class is. One division by all of the divisors: a value that is a boundary of rounding is exact. */
RM_FORMULA void RM_NUM_NAME(entropy_gradient)(RM_NUM_T *y, void *row, int64_t j, int limbs) {
  rm_entropy_exact *r = (rm_entropy_exact *)row;
  RM_NUM_T t;
  if (r->RM_NUM_NAME(limbs) != limbs) {
    r->RM_NUM_NAME(limbs) = limbs;
    RM_NUM_NAME(rm_exp_row_sum)(&r->RM_NUM.all, &r->e, -1, limbs);
    RM_NUM_NAME(rm_class_weights)(&r->RM_NUM.weights, &r->row, limbs);
    RM_NUM_NAME(rm_entropy_below)(&t, r->row.f, limbs);
    RM_NUM_(mul)(&r->RM_NUM.below, &r->RM_NUM.all, &t);
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
