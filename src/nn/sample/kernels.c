/* The loops of weighted sums (kernels.h), compiled once per ISA. */
#include "kernels.h"

#include "../../../crlibm/simd/machine.h"
#include "../../runtime/isa.h"

RM_FN void weigh_as(const int each, int64_t n, int terms, const double *const *w, const double *const *x, double *sum,
                    double *low, double *z) {
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 s = vf64_load(sum + i), l = vf64_load(low + i), m = vf64_load(z + i);
    for (int t = 0; t < terms; t++) {
      const vf64 a = each ? vf64_load(w[t] + i) : vf64_set1(w[t][0]), b = vf64_load(x[t] + i), p = vf64_mul(a, b);
      const vf64 r = vf64_mul_err(a, b, p);
      vf64 e;
      s = vf64_two_sum(s, p, &e);
      l = vf64_add(l, vf64_add(e, r));
      m = vf64_add(m, vf64_add(vf64_abs(e), vf64_abs(r)));
    }
    vf64_store(sum + i, s);
    vf64_store(low + i, l);
    vf64_store(z + i, m);
  }
}
static void weigh(int64_t n, int terms, const double *const *w, int each, const double *const *x, double *sum, double *low,
                  double *z) {
  if (each) weigh_as(1, n, terms, w, x, sum, low, z);
  else weigh_as(0, n, terms, w, x, sum, low, z);
}

/* sum + low is rounded, and divided, each within u = 2^-53 of the result, and the test takes 2^-52 of it: 2^-51 of either
 * covers that. */
static void finish(int64_t n, double bound, double divisor, double slack, const double *sum, double *low, double *z) {
  const vf64 zero = vf64_set1(0.0), by = vf64_set1(divisor), inverse = vf64_set1(1.0 / divisor);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 m = vf64_load(z + i);
    vf64 y = vf64_add(vf64_load(sum + i), vf64_load(low + i));
    vf64 err = vf64_mad(m, vf64_set1(bound), vf64_mad(vf64_abs(y), vf64_set1(0x1p-51), vf64_set1(0x1p-1000)));
    err = vf64_select(vf64_eq(m, zero), zero, err);
    if (divisor != 1.0) {
      y = vf64_div(y, by);
      err = vf64_mad(vf64_abs(y), vf64_set1(slack), vf64_mul(err, inverse));
    }
    vf64_store(low + i, y);
    vf64_store(z + i, err);
  }
}

extern const struct rm_sample_kernels RM_ISA_SYMBOL(rm_sample_table);
const struct rm_sample_kernels RM_ISA_SYMBOL(rm_sample_table) = {weigh, finish};
