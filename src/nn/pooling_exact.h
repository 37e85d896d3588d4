/* The sum of quotients of an average's gradient over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */
RM_FORMULA void RM_NUM_NAME(rm_pool_quotients)(RM_NUM_T *sum, void *row, int64_t i, int limbs) {
  const rm_pool_window *w = (const rm_pool_window *)row;
  const rm_pooling *f = w->pool;
  RM_NUM_T t, d;
  (void)i;
  RM_NUM_(set)(sum, 0.0, limbs);
  for (int64_t a = w->first[0]; a < w->end[0]; a++)
    for (int64_t b = w->first[1]; b < w->end[1]; b++)
      for (int64_t c = w->first[2]; c < w->end[2]; c++) {
        RM_NUM_(set)(&t, rm_read_element(rm_pool_element(f, w->plane, a, b, c), f->format), limbs);
        RM_NUM_(set_u64)(&d, (uint64_t)(f->axis[0].divisor[a] * f->axis[1].divisor[b] * f->axis[2].divisor[c]), limbs);
        RM_NUM_(div)(&t, &t, &d);
        RM_NUM_(add)(sum, sum, &t);
      }
}
