/* The loops of pooling over the rows of windows, compiled once per ISA. */
#include "kernels.h"

#include "../../../crlibm/simd/machine.h"
#include "../rows/wide_round.h"

static void max(int64_t n, const double *x, double id, double *best, double *at) {
  const vf64 here = vf64_set1(id);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 v = vf64_load(x + i), b = vf64_load(best + i);
    const vm64 take = vm64_or(vf64_lt(b, v), vm64_andnot(vf64_unord(v, v), vf64_unord(b, b)));
    vf64_store(best + i, vf64_select(take, v, b));
    vf64_store(at + i, vf64_select(take, here, vf64_load(at + i)));
  }
}

static void add(int64_t n, const double *x, double *sum, double *low, double *size) {
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 e;
    vf64_store(sum + i, vf64_two_sum(vf64_load(sum + i), vf64_load(x + i), &e));
    vf64_store(low + i, vf64_add(vf64_load(low + i), e));
    vf64_store(size + i, vf64_add(vf64_load(size + i), vf64_abs(e)));
  }
}

/* to[i] = element k of window i. */
static void pick(int64_t n, int64_t k, const int64_t *first, const int64_t *count, int64_t none, const double *from,
                 double *to) {
  int64_t i = 0;
  for (; i < n; i++) to[i] = from[k < count[i] ? first[i] + k : none];
  for (; i % RM_LANES; i++) to[i] = 0.0;
}

enum { PART = 64 };

static void join(int64_t n, int64_t longest, const int64_t *first, const int64_t *count, int64_t none,
                 const double *const *from, int exact, rm_pool_totals to) {
  double x[3][PART];
  for (int64_t i = 0; i < n; i += PART) {
    const int64_t some = n - i < PART ? n - i : PART;
    double *const sum = to.sum + i, *const low = to.low + i, *const size = to.size + i;
    pick(some, 0, first + i, count + i, none, from[0], sum);
    for (int64_t k = 0; k < some; k++) low[k] = size[k] = 0.0;
    for (int j = 1; j < 3 && !exact; j++) pick(some, 0, first + i, count + i, none, from[j], j == 1 ? low : size);
    for (int64_t k = 1; k < longest; k++) {
      pick(some, k, first + i, count + i, none, from[0], x[0]);
      for (int j = 1; j < 3 && !exact; j++) pick(some, k, first + i, count + i, none, from[j], x[j]);
      for (int64_t at = 0; at < some; at += RM_LANES) {
        vf64 e;
        const vf64 s = vf64_two_sum(vf64_load(sum + at), vf64_load(x[0] + at), &e);
        vf64 l = e, z = vf64_abs(e);
        if (!exact) l = vf64_add(vf64_load(x[1] + at), e), z = vf64_add(vf64_load(x[2] + at), z);
        vf64_store(sum + at, s);
        vf64_store(low + at, vf64_add(vf64_load(low + at), l));
        vf64_store(size + at, vf64_add(vf64_load(size + at), z));
      }
    }
  }
}

/* The exact total S is within b z of sum + low, b = 1.1 (terms + 2) 2^-52 (sum.h), and is sum where z = 0. With u = 2^-53,
 * y = RN(sum + low) and q = RN(y/D), S/D is within b z/D + (2 u + u^2) |q| of q: elements of formats below binary64 are
 * multiples of 2^-149 and D is below 2^20, so that neither is subnormal. The test takes 2 u |q| more: 0x1.1p-51 |q| covers
 * these four u and their rounding, and bound, 1.125 (terms + 2) 2^-52, that of the product by it. Where z = 0, q is RN(S/D):
 * slack is 0 where D is a power of two, else 2^-51, for u |q| and the test. */
static void quotients(int64_t n, double bound, const double *divisor, const double *slack, rm_pool_totals to) {
  const vf64 zero = vf64_set1(0.0);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 z = vf64_load(to.size + i), by = vf64_load(divisor + i);
    const vf64 q = vf64_div(vf64_add(vf64_load(to.sum + i), vf64_load(to.low + i)), by), size = vf64_abs(q);
    const vf64 off = vf64_div(vf64_mul(z, vf64_set1(bound)), by);
    const vf64 err = vf64_add(off, vf64_mad(size, vf64_set1(0x1.1p-51), vf64_set1(0x1p-1000)));
    vf64_store(to.sum + i, q);
    vf64_store(to.size + i, vf64_select(vf64_eq(z, zero), vf64_mul(size, vf64_load(slack + i)), err));
  }
}

/* S as above; h + t = sum + low exactly, |t| <= u |h|. Of q = RN(h/D) the residual r = h - q D is a number, so that h - q D
 * is it in two steps, and |r| <= u |h|. S/D is within b z/D of q + (r + t)/D, whose low part rounds twice by 2u^2 |q|, and
 * the test by that at each end: 8.4u^2 |q|, below 0x1.4p-103 |q|. Numbers are above 2^-960, or nothing is decided; what
 * underflows is below 2^-1040. Divisors of 0 have no quotient. */
static int64_t rounded(int64_t n, double bound, const double *divisor, rm_pool_totals to, char *out, int64_t *undecided) {
  const vm64 none = vf64_lt(vf64_set1(1.0), vf64_set1(0.0));
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 z = vf64_load(to.size + i), by = vf64_load(divisor + i);
    vf64 t, y;
    const vf64 h = vf64_two_sum(vf64_load(to.sum + i), vf64_load(to.low + i), &t), q = vf64_div(h, by), p = vf64_mul(q, by);
    const vf64 r = vf64_sub(vf64_sub(h, p), vf64_mul_err(q, by, p)), l = vf64_div(vf64_add(r, t), by);
    const vf64 off = vf64_div(vf64_mul(z, vf64_set1(bound)), by);
    const vf64 err = vf64_add(off, vf64_mad(vf64_abs(q), vf64_set1(0x1.4p-103), vf64_set1(0x1p-1040)));
    const vm64 open = rm_wide_round(q, l, err, none, &y);
    count += rm_wide_put(y, open, i, n, out, undecided + count);
  }
  return count;
}

extern const struct rm_pool_kernels RM_ISA_SYMBOL(rm_pool_table);
const struct rm_pool_kernels RM_ISA_SYMBOL(rm_pool_table) = {max, add, join, quotients, rounded};
