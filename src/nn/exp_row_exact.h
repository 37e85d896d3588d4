/* Exponentials of a row (exp_row.h) over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */

/* *sum = the sum of the finite e^(x_k - m) that are at least e^least, over k = first, first + step ... except skip. Whether any was below that. */
RM_FORMULA int RM_NUM_NAME(rm_exp_row_some)(RM_NUM_T *sum, const rm_exp_row *r, int64_t skip, double least, int limbs, int64_t first,
                                            int64_t step) {
  RM_NUM_T m, t;
  RM_NUM_(set)(sum, 0.0, limbs);
  RM_NUM_(set)(&m, r->m, limbs);
  int left_out = 0;
  for (int64_t k = first; k < r->n; k += step) {
    if (k == skip || r->x[k] - r->x[k] != 0.0) continue;
    if (r->x[k] - r->m < least) {
      left_out = 1;
      continue;
    }
    RM_NUM_(set)(&t, r->x[k], limbs);
    RM_NUM_(sub)(&t, &t, &m);
    RM_NUM_(exp)(&t, &t);
    RM_NUM_(add)(sum, sum, &t);
  }
  return left_out;
}

/* The same over all k. On a device the threads of a row share the sum of rm_near (src/cuda/rows_team.h). */
RM_FORMULA int RM_NUM_NAME(rm_exp_row_part)(RM_NUM_T *sum, const rm_exp_row *r, int64_t skip, double least, int limbs) {
#if defined(RM_TEAM_EXPONENTIALS) && RM_CAT(RM_IS_, RM_NUM)
  (void)limbs;
  return rm_exp_row_shared(sum, r, skip, least);
#else
  return RM_NUM_NAME(rm_exp_row_some)(sum, r, skip, least, limbs, 0, 1);
#endif
}

/* *sum = the sum of e^(x_k - m) over k != skip. Terms below e^RM_EXP_LEFT_OUT are left out, and counted as error; beside an exact sum, which
 * may be a boundary or cancel, the sign of the rest decides, and a positive number of its order stands for them. So it does where all terms are
 * below the tail: what is left out could be more than they are. */
RM_FORMULA void RM_NUM_NAME(rm_exp_row_sum)(RM_NUM_T *sum, const rm_exp_row *r, int64_t skip, int limbs) {
  RM_NUM_T t;
  const double least = r->only_tail > 0 && skip == r->at ? RM_EXP_TAIL : RM_EXP_LEFT_OUT;
  const int left_out = RM_NUM_NAME(rm_exp_row_part)(sum, r, skip, least, limbs);
  if (left_out && RM_NUM_(is_exact)(sum)) {
    RM_NUM_(set)(&t, 1.0, limbs);
    RM_NUM_(scale)(&t, &t, RM_TAIL_BITS);
    RM_NUM_(add)(sum, sum, &t);
  } else if (left_out) {
    RM_NUM_(widen)(sum, sum, RM_EXP_LEFT_OUT_BITS + 40); /* fewer than 2^40 of them */
  }
}

/* e^(x_i - m): 0 at -infinity, and below the tail a positive number of its order (see rm_exp_row_log). */
RM_FORMULA void RM_NUM_NAME(rm_exp_row_term)(RM_NUM_T *t, const rm_exp_row *r, int64_t i, int limbs) {
  RM_NUM_T m;
  if (r->x[i] - r->m < RM_EXP_TAIL) {
    RM_NUM_(set)(t, r->x[i] - r->x[i] == 0.0 ? 1.0 : 0.0, limbs);
    RM_NUM_(scale)(t, t, RM_TAIL_BITS);
    return;
  }
  RM_NUM_(set)(&m, r->m, limbs);
  RM_NUM_(set)(t, r->x[i], limbs);
  RM_NUM_(sub)(t, t, &m);
  RM_NUM_(exp)(t, t);
}

/* log(1 + sum) of the terms but the greatest; when nothing is above the tail, a positive number of its order stands for the sum:
 * what it is added to has no boundary so near. */
RM_FORMULA void RM_NUM_NAME(rm_exp_row_log)(RM_NUM_T *l, rm_exp_row *r, int limbs) {
  if (r->only_tail) {
    RM_NUM_(set)(l, r->only_tail > 0 ? 1.0 : 0.0, limbs);
    RM_NUM_(scale)(l, l, RM_TAIL_BITS);
    return;
  }
  RM_NUM_NAME(rm_exp_row_sum)(l, r, r->at, limbs);
  RM_NUM_(log1p)(l, l);
}

/* The same with nothing that stands for anything, for totals: there logarithms of other rows may cancel this one down to its last terms. What is
 * left out is error; beside nothing but terms below the tail nothing is left out. */
RM_FORMULA void RM_NUM_NAME(rm_exp_row_log_in_total)(RM_NUM_T *l, const rm_exp_row *r, int limbs) {
  const double least = r->only_tail ? -rm_near_infinity() : RM_EXP_LEFT_OUT;
  if (RM_NUM_NAME(rm_exp_row_part)(l, r, r->at, least, limbs)) RM_NUM_(widen)(l, l, RM_EXP_LEFT_OUT_BITS + 40);
  RM_NUM_(log1p)(l, l);
}

/* The difference of log(1 + sum) and log h, h the sum of 1 and the terms that are not in the tail: log(1 + t/h), t the sum of the other terms. */
RM_FORMULA void RM_NUM_NAME(rm_exp_row_tail_in_total)(RM_NUM_T *l, const rm_exp_row *r, int limbs) {
  RM_NUM_T m, t;
  RM_NUM_(set)(l, 0.0, limbs);
  RM_NUM_(set)(&m, r->m, limbs);
  for (int64_t k = 0; k < r->n; k++) {
    if (r->x[k] - r->x[k] != 0.0 || r->x[k] - r->m >= RM_EXP_TAIL) continue;
    RM_NUM_(set)(&t, r->x[k], limbs);
    RM_NUM_(sub)(&t, &t, &m);
    RM_NUM_(exp)(&t, &t);
    RM_NUM_(add)(l, l, &t);
  }
  RM_NUM_NAME(rm_exp_row_part)(&t, r, r->at, RM_EXP_TAIL, limbs);
  RM_NUM_(set)(&m, 1.0, limbs);
  RM_NUM_(add)(&t, &t, &m);
  RM_NUM_(div)(l, l, &t);
  RM_NUM_(log1p)(l, l);
}
