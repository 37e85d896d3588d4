/* The gradient of a weight of a norm over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* *part = the sum of g deviation over the elements of a set that have the weight; r->row has the sums of the set. */
RM_FORMULA void RM_NUM_NAME(weight_part)(RM_NUM_T *part, rm_weight_sum *r, int64_t s0, int64_t s1, int limbs) {
  const rm_weight_range *w = r->range;
  const rm_norm_job *f = r->f;
  RM_NUM_T t, d;
  rm_norm_load(f, &f->x, s0, s1, 0.0, r->state, r->x);
  rm_norm_load(f, &f->g, s0, s1, 0.0, r->state, r->g);
  rm_norm_row_begin(f, s0, s1, &r->row);
  r->row.x = r->x;
  RM_NUM_NAME(rm_norm_sums)(&r->row, limbs);
  RM_NUM_(set)(part, 0.0, limbs);
  for (int64_t o = w->outer_from; o < w->outer_to; o++) {
    for (int64_t k = w->inner_from; k < w->inner_to; k++) {
      RM_NUM_(set)(&t, r->g[o * f->inner + k], limbs);
      RM_NUM_NAME(rm_norm_deviation)(&d, &r->row, o * f->inner + k, limbs);
      RM_NUM_(mul)(&t, &t, &d);
      RM_NUM_(add)(part, part, &t);
    }
  }
}

/* Adds part/sqrt(square). */
RM_FORMULA void RM_NUM_NAME(add_weight_part)(RM_NUM_T *sum, RM_NUM_T *part, const RM_NUM_T *square) {
  RM_NUM_T root;
  if (RM_NUM_(sign)(part) == 0) return;
  RM_NUM_(sqrt)(&root, square);
  RM_NUM_(div)(part, part, &root);
  RM_NUM_(add)(sum, sum, part);
}

#if RM_DEVICE
/* The sum of all parts over the roots of their sets, with squares that are exact at so many limbs: those of one square after the other, from the
 * least on, in a walk over all sets for each. */
RM_FORMULA void RM_NUM_NAME(weight_by_squares)(RM_NUM_T *sum, rm_weight_sum *r, int limbs) {
  const rm_weight_range *w = r->range;
  RM_NUM_T part, *own = &r->RM_NUM.part[0], *least = &r->RM_NUM.square[0], *done = &r->RM_NUM.square[1];
  RM_NUM_(set)(sum, 0.0, limbs);
  RM_NUM_(set)(done, -1.0, limbs); /* squares are positive */
  for (;;) {
    int found = 0;
    for (int64_t s0 = 0; s0 < r->f->sets[0]; s0++) {
      for (int64_t s1 = w->set1_from; s1 < w->set1_to; s1++) {
        RM_NUM_NAME(weight_part)(&part, r, s0, s1, limbs);
        if (RM_NUM_(compare)(&r->row.RM_NUM.square, done) != 1) continue;
        const int side = found ? RM_NUM_(compare)(&r->row.RM_NUM.square, least) : -1;
        if (side == -1) {
          RM_NUM_(copy)(least, &r->row.RM_NUM.square);
          RM_NUM_(copy)(own, &part);
          found = 1;
        } else if (side == 0) {
          RM_NUM_(add)(own, own, &part);
        }
      }
    }
    if (!found) return;
    RM_NUM_NAME(add_weight_part)(sum, own, least);
    RM_NUM_(copy)(done, least);
  }
}
#endif

/* The sum of all parts over the roots of their sets. Parts of equal squares are added first, so that what cancels in them is exactly 0. */
RM_FORMULA void RM_NUM_NAME(weight_gradient)(RM_NUM_T *sum, void *row, int64_t i, int limbs) {
  rm_weight_sum *r = (rm_weight_sum *)row;
  const rm_weight_range *w = r->range;
  RM_NUM_T part;
  int groups = 0, at;
  (void)i;
#if RM_DEVICE
  if (limbs == RM_WEIGHT_LIMBS) {
    RM_NUM_NAME(weight_by_squares)(sum, r, limbs);
    return;
  }
#endif
  RM_NUM_(set)(sum, 0.0, limbs);
  for (int64_t s0 = 0; s0 < r->f->sets[0]; s0++) {
    for (int64_t s1 = w->set1_from; s1 < w->set1_to; s1++) {
      RM_NUM_NAME(weight_part)(&part, r, s0, s1, limbs);
      if (RM_NUM_(sign)(&part) == 0) continue;
      for (at = 0; at < groups; at++)
        if (RM_NUM_(compare)(&r->RM_NUM.square[at], &r->row.RM_NUM.square) == 0) break;
      if (at == RM_WEIGHT_GROUPS) {
        RM_NUM_NAME(add_weight_part)(sum, &part, &r->row.RM_NUM.square);
      } else if (at == groups) {
        RM_NUM_(copy)(&r->RM_NUM.square[at], &r->row.RM_NUM.square);
        RM_NUM_(copy)(&r->RM_NUM.part[groups++], &part);
      } else {
        RM_NUM_(add)(&r->RM_NUM.part[at], &r->RM_NUM.part[at], &part);
      }
    }
  }
  for (at = 0; at < groups; at++) RM_NUM_NAME(add_weight_part)(sum, &r->RM_NUM.part[at], &r->RM_NUM.square[at]);
}
