/* The loops of weighted sums (kernels.h), compiled once per ISA. */
#include "kernels.h"

#include "../../../crlibm/simd/machine.h"
#include "../../reduce/round_columns.h"
#include "../../runtime/isa.h"

/* s + l += a b, and m grows by what was left over. */
RM_FN void add_product(vf64 a, vf64 b, vf64 *s, vf64 *l, vf64 *m) {
  const vf64 p = vf64_mul(a, b), r = vf64_mul_err(a, b, p);
  vf64 e;
  *s = vf64_two_sum(*s, p, &e);
  *l = vf64_add(*l, vf64_add(e, r));
  *m = vf64_add(*m, vf64_add(vf64_abs(e), vf64_abs(r)));
}

RM_FN void weigh_as(const int each, int64_t n, int terms, const double *const *w, const double *const *x, double *sum,
                    double *low, double *z) {
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 s = vf64_load(sum + i), l = vf64_load(low + i), m = vf64_load(z + i);
    for (int t = 0; t < terms; t++) {
      const vf64 a = each ? vf64_load(w[t] + i) : vf64_set1(w[t][0]);
      add_product(a, vf64_load(x[t] + i), &s, &l, &m);
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

/* Whether sums of few rounded products round alike within their bound: of T of them, each term passes T roundings at most, so
 * that the sum is off by 1.01 T u times the sum of their magnitudes, which is rounded as often; T + 2 covers it and the
 * roundings of the ends. No product underflows (api.c). */
RM_FN int round_plainly(int64_t i, int terms, const double *const *w, const double *const *x, float *out) {
  vf64 s = vf64_set1(0.0), size = s;
  for (int t = 0; t < terms; t++) {
    const vf64 p = vf64_mul(vf64_load(w[t] + i), vf64_load(x[t] + i));
    s = vf64_add(s, p), size = vf64_add(size, vf64_abs(p));
  }
  const vf64 err = vf64_mul(size, vf64_set1(RM_BOUND(1.02 * 0x1p-53) * (double)(terms + 2)));
  const vf64 low = vf64_round_f32(vf64_sub(s, err)), high = vf64_round_f32(vf64_add(s, err));
  vf64_store_f32(out + i, high);
  return vm64_none(vm64_or(vm64_not(vi64_eq(vf64_bits(low), vf64_bits(high))), vf64_not_finite(high, RM_F32)));
}

/* Whether sums of two products are known at once: where these are exact, s + e is the sum, which rounding to odd keeps. */
RM_FN int round_two(int64_t i, const double *const *w, const double *const *x, float *out) {
  const vf64 a = vf64_load(w[0] + i), b = vf64_load(w[1] + i), c = vf64_load(x[0] + i), d = vf64_load(x[1] + i);
  const vf64 p = vf64_mul(a, c), q = vf64_mul(b, d);
  const vf64 left = vf64_add(vf64_abs(vf64_mul_err(a, c, p)), vf64_abs(vf64_mul_err(b, d, q)));
  vf64 e;
  const vf64 s = vf64_add(vf64_two_sum(p, q, &e), vf64_set1(0.0)), value = vf64_to_odd(s, e); /* of -0 and -0: 0 */
  vf64_store_f32(out + i, value);
  return vm64_none(vm64_or(vm64_not(vf64_eq(left, vf64_set1(0.0))), vf64_not_finite(value, RM_F32)));
}

/* The sum is c + r within err, c = RN(c + r): where err is less than |r|, it lies on r's side of c, as c + r does, and rounds
 * to odd alike. A sum that is infinite by itself has the class of its terms (api.c). */
static int64_t rounded(int64_t n, int terms, const double *const *w, const double *const *x, double bound, float *out,
                       int64_t *undecided) {
  const vf64 zero = vf64_set1(0.0);
  int64_t left = 0;
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 s = zero, l = zero, m = zero, r;
    if (terms == 2 ? round_two(i, w, x, out) : round_plainly(i, terms, w, x, out)) continue; /* of two, many are ties */
    for (int t = 0; t < terms; t++) add_product(vf64_load(w[t] + i), vf64_load(x[t] + i), &s, &l, &m);
    const vf64 c = vf64_two_sum(s, l, &r), err = vf64_mad(m, vf64_set1(bound), vf64_set1(0x1p-1000));
    const vm64 infinite = vf64_is_infinite(s), sided = vm64_or(vf64_lt(err, vf64_abs(r)), vf64_eq(m, zero));
    uint32_t open = rm_round_columns(vf64_select(infinite, s, c), vf64_select(infinite, zero, r),
                                     vf64_select(vm64_or(infinite, sided), zero, err), RM_F32, (unsigned char *)(out + i)) &
                    ~vm64_bits(infinite);
    for (; RM_UNLIKELY(open); open &= open - 1) undecided[left++] = i + rm_ctz64(open);
  }
  while (left > 0 && undecided[left - 1] >= n) left--; /* beyond the end */
  return left;
}

extern const struct rm_sample_kernels RM_ISA_SYMBOL(rm_sample_table);
const struct rm_sample_kernels RM_ISA_SYMBOL(rm_sample_table) = {weigh, finish, rounded};
