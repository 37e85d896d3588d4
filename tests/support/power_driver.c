/* The evaluations of powers with an integer, for elementwise/test_powers.py. */
#include "../../crlibm/pown/pown_accurate.h"

double rm_test_power_b64(int kind, double x, int64_t n);
double rm_test_power_b64(int kind, double x, int64_t n) {
  vf64 rest;
  vm64 large;
  const vf64 a = rm_pown_base(kind, x, &rest), number = rm_pown_number(n, &large);
  return rm_pown_exponent(kind, a, rest, number);
}

void rm_test_power_dd(int kind, double x, int64_t n, double *out);
void rm_test_power_dd(int kind, double x, int64_t n, double *out) {
  vf64 rest, k, m, hi, lo;
  vm64 large;
  vi64 j;
  const vf64 a = rm_pown_base(kind, x, &rest), number = rm_pown_number(n, &large);
  rm_log_reduce(a, &k, &m, &j);
  rm_pown_log_dd(kind, k, m, j, a, rest, &hi, &lo);
  rm_pown_exponent_dd(kind, hi, lo, number, out, out + 1);
}

/* The fast phase: the numbers that are stored as results, or NaN where they are undecided. */
void rm_test_power_fast(int kind, int format, int64_t count, const double *x, const int64_t *n, double *out);
void rm_test_power_fast(int kind, int format, int64_t count, const double *x, const int64_t *n, double *out) {
  for (int64_t i = 0; i < count; i++) {
    vf64 y;
    vm64 large;
    out[i] = rm_pown_fast(kind, format, x[i], n[i], &y, &large) ? rm_from_bits64(rm_nan_bits(RM_F64)) : y;
  }
}

uint64_t rm_test_power_accurate(int kind, int format, int mode, double x, int64_t n);
uint64_t rm_test_power_accurate(int kind, int format, int mode, double x, int64_t n) {
  uint32_t flags = 0;
  const rm_mode rounding = (rm_mode)mode;
  if (kind == RM_POWN) return rm_pown_accurate(x, n, format, rounding, &flags);
  if (kind == RM_ROOTN) return rm_rootn_accurate(x, n, format, rounding, &flags);
  return rm_compound_accurate(x, n, format, rounding, &flags);
}
