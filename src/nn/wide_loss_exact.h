/* What the formulas of wide losses share, over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each. */
RM_FORMULA void RM_NUM_NAME(counted)(RM_NUM_T *v, int64_t count, int limbs) {
  RM_NUM_T t;
  if (count == 1) return;
  RM_NUM_(set_i64)(&t, count, limbs);
  RM_NUM_(div)(v, v, &t);
}
