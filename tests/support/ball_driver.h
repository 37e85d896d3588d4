/* The driver for one arithmetic, RM_NUM: see ball_driver.c. */

/* x[0] + x[1], within 2^x[2] when x[2] is finite. */
static void RM_NUM_NAME(operand)(RM_NUM_T *r, const double *x, int n) {
  RM_NUM_T low;
  RM_NUM_(set)(r, x[0], n);
  RM_NUM_(set)(&low, x[1], n);
  RM_NUM_(add)(r, r, &low);
  if (x[2] - x[2] != 0.0) return;
  RM_NUM_NAME(widen)(r, (int)x[2]);
}

static void RM_NUM_NAME(operate)(RM_NUM_T *r, int operation, const RM_NUM_T *a, const RM_NUM_T *b, int64_t k) {
  if (operation == ADD) RM_NUM_(add)(r, a, b);
  if (operation == SUB) RM_NUM_(sub)(r, a, b);
  if (operation == MUL) RM_NUM_(mul)(r, a, b);
  if (operation == DIV) RM_NUM_(div)(r, a, b);
  if (operation == SQRT) RM_NUM_(sqrt)(r, a);
  if (operation == POW) RM_NUM_(pow)(r, a, (uint64_t)k);
  if (operation == EXP) RM_NUM_(exp)(r, a);
  if (operation == EXPM1) RM_NUM_(expm1)(r, a);
  if (operation == LOG) RM_NUM_(log)(r, a);
  if (operation == LOG1P) RM_NUM_(log1p)(r, a);
  if (operation == SCALE) RM_NUM_(scale)(r, a, k);
  if (operation == NEG) RM_NUM_(neg)(r, a);
}

/* Operands have three doubles each; k is the power, the scale or the separation; results go to `put`, their signs and
 * roundings to the arrays after it. r may be an operand: every other result is computed in the place of the first one. */
void RM_NUM_NAME(rm_test)(int operation, int limbs, int64_t n, const double *x, const double *y, const int64_t *k,
                          void *results, int format, int rule, int32_t *sign, int32_t *decided, uint32_t *flags,
                          uint64_t *bits);
void RM_NUM_NAME(rm_test)(int operation, int limbs, int64_t n, const double *x, const double *y, const int64_t *k,
                          void *results, int format, int rule, int32_t *sign, int32_t *decided, uint32_t *flags,
                          uint64_t *bits) {
  static _Thread_local RM_NUM_T a, b, r;
  for (int64_t i = 0; i < n; i++) {
    RM_NUM_NAME(operand)(&a, x + 3 * i, limbs);
    RM_NUM_NAME(operand)(&b, y + 3 * i, limbs);
    RM_NUM_T *to = i % 3 == 0 ? &r : i % 3 == 1 ? &a : &b;
    RM_NUM_NAME(operate)(to, operation, &a, &b, k[i]);
    RM_NUM_NAME(put)(results, i, to);
    sign[i] = RM_NUM_(sign)(to);
    flags[i] = 0;
    decided[i] = RM_NUM_(round)(to, format, rule, flags + i, bits + i);
    RM_NUM_NAME(separated)(to, k[i], format, rule, flags + i, bits + i, decided + i);
  }
}
