/* Totals to which terms far below them belong, over the numbers RM_NUM (crlibm/fp/numbers.h). Included once for each.
 *
 * The tail of a total is a sum of products f log(1 + S), S a sum of exponentials below 2^RM_TAIL_BITS, f a rational factor. It is much
 * smaller than the distance of the rest from every boundary of rounding that the rest is not, where the rest is rational (the including files
 * show that): then only the sign of the tail matters, and plus or minus 2^RM_TAIL_BITS stands for it. That sign is the one of all factors;
 * where they have both, the larger exponential decides, so that the logarithms are evaluated. Beside a rest that is not exact the tail is
 * evaluated, too: nothing is known of that rest's distance. Signs are a set: 1, there is a positive factor; 2, there is a negative one. */

/* The set of a factor, or of a tail; both where the sign is not known. */
RM_FORMULA int RM_NUM_NAME(rm_tail_signs)(const RM_NUM_T *v) {
  const int sign = RM_NUM_(sign)(v);
  return sign == RM_SIGN_UNKNOWN ? 3 : sign > 0 ? 1 : sign < 0 ? 2 : 0;
}

/* Whether the tail has to be evaluated. */
RM_FORMULA int RM_NUM_NAME(rm_tail_is_open)(const RM_NUM_T *total, int signs) {
  return signs == 3 || (signs != 0 && !RM_NUM_(is_exact)(total));
}

/* total += the tail; tail: its value, where it has to be evaluated. */
RM_FORMULA void RM_NUM_NAME(rm_tail_add)(RM_NUM_T *total, int signs, const RM_NUM_T *tail, int limbs) {
  RM_NUM_T t;
  if (RM_NUM_NAME(rm_tail_is_open)(total, signs)) {
    signs = RM_NUM_NAME(rm_tail_signs)(tail);
    if (signs == 3 || !RM_NUM_(is_exact)(total)) {
      RM_NUM_(add)(total, total, tail);
      return;
    }
  }
  if (signs == 0) return;
  RM_NUM_(set)(&t, signs == 1 ? 1.0 : -1.0, limbs);
  RM_NUM_(scale)(&t, &t, RM_TAIL_BITS);
  RM_NUM_(add)(total, total, &t);
}
