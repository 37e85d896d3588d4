/* The complete scalar functions over arrays, for test_slow.py. Compiled there, with several settings of RM_CFG_*. */
#include "../src/elementwise/slow.c"

void rm_test_slow(int function, int format, int rule, int64_t n, const double *x, uint64_t *y, uint32_t *flags);
void rm_test_slow(int function, int format, int rule, int64_t n, const double *x, uint64_t *y, uint32_t *flags) {
  for (int64_t i = 0; i < n; i++) {
    flags[i] = 0;
    y[i] = rm_slow_table[function](x[i], format, rule, flags + i);
  }
}

/* hi + lo within err, for the rounding step of the middle tier. */
uint64_t rm_test_round_dd(double hi, double lo, double err, int format, int rule, uint32_t *flags, int *undecided);
uint64_t rm_test_round_dd(double hi, double lo, double err, int format, int rule, uint32_t *flags, int *undecided) {
  return rm_round_dd(hi, lo, err, 0, format, rule, flags, undecided);
}

/* (-1)^negative (high 2^64 + low) 2^e, within err units of 2^e. */
uint64_t rm_test_round(int negative, uint64_t high, uint64_t low, int64_t e, uint64_t err, int format, int rule,
                       uint32_t *flags, int *undecided);
uint64_t rm_test_round(int negative, uint64_t high, uint64_t low, int64_t e, uint64_t err, int format, int rule,
                       uint32_t *flags, int *undecided) {
  return rm_round_bits(negative, (rm_u128)high << 64 | low, e, err, format, rule, flags, undecided);
}

/* |f(x)| = v 2^(the result) within *err units of 2^(-64 n), for n + 1 limbs v: the wide evaluation alone. */
int rm_test_wide(int function, double x, int n, uint64_t *v, uint64_t *err);
int rm_test_wide(int function, double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t y[RM_WIDE_LIMBS];
  switch (function) {
    case RM_FN_exp:
      rm_wide_from_double(y, x, 0, n);
      *err = rm_exp_wide_err(n);
      return rm_exp_wide(v, y, x < 0.0, n);
    case RM_FN_log:
      rm_log_wide(v, x, n);
      *err = rm_log_wide_err(n);
      return 0;
    case RM_FN_tanh:
      rm_tanh_wide(v, x, n);
      *err = 2 * rm_exp_wide_err(n) + 5;
      return 0;
    default: return rm_erf_wide(v, x, n, err);
  }
}
