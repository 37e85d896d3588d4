/* The gradient of a weight of a norm over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */
RM_FORMULA void RM_NUM_NAME(weight_gradient)(RM_NUM_T *sum, void *row, int64_t i, int limbs) {
  rm_weight_sum *r = (rm_weight_sum *)row;
  const rm_weight_range *w = r->range;
  const rm_norm_job *f = r->f;
  RM_NUM_T part, t, d;
  int64_t divisor = 1;
  (void)i;
  RM_NUM_(set)(sum, 0.0, limbs);
  for (int64_t s0 = 0; s0 < f->sets[0]; s0++) {
    for (int64_t s1 = w->set1_from; s1 < w->set1_to; s1++) {
      rm_norm_load(f, &f->x, s0, s1, 0.0, r->state, r->x);
      rm_norm_load(f, &f->g, s0, s1, 0.0, r->state, r->g);
      rm_norm_row_begin(f, s0, s1, &r->row);
      r->row.x = r->x;
      RM_NUM_NAME(rm_norm_prepare)(&r->row, limbs);
      RM_NUM_(set)(&part, 0.0, limbs);
      for (int64_t o = w->outer_from; o < w->outer_to; o++) {
        for (int64_t k = w->inner_from; k < w->inner_to; k++) {
          RM_NUM_(set)(&t, r->g[o * f->inner + k], limbs);
          RM_NUM_NAME(rm_norm_deviation)(&d, &r->row, o * f->inner + k, limbs, &divisor);
          RM_NUM_(mul)(&t, &t, &d);
          RM_NUM_(add)(&part, &part, &t);
        }
      }
      if (RM_NUM_(sign)(&part) == 0) continue;
      RM_NUM_(set_i64)(&t, divisor, limbs);
      RM_NUM_(mul)(&t, &t, &r->row.RM_NUM.root);
      RM_NUM_(div)(&part, &part, &t);
      RM_NUM_(add)(sum, sum, &part);
    }
  }
}
