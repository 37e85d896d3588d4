/* Weights given by a direction v and a length g, in steps that are rounded to binary64 each, and their gradients, whose
 * results are rounded to binary32:
 *   N = RN(|v|)                       w = RN(RN(v g)/N)
 *   D = RN(sum of r v), B = RN(D/N)   dg = B, dv = RN(RN(RN(r - RN(v RN(B/N))) g)/N)
 *
 * The fast phase knows N and D approximately, and rounds a result where all that the steps may be rounds alike: rounding to
 * binary32 is monotonic. u = 2^-53. Terms of sums are exact; a term passes RM_ROW_CHAIN + 2 additions in a block, five
 * between blocks and lanes, or six: a sum is within E = 44 u of the sum of its terms' magnitudes, that of r v within
 * E sqrt(sum of v^2 sum of r^2) (Cauchy, Schwarz).
 *   N     the root of a sum, within E/2 + u of the exact one, and that within u of N: 24 u
 *   w     v (g/N): 24 u, two roundings of its own and two of the steps, and one of w (1 -+ rel): 29 u < RM_DIRECTION_ERR
 *   B     within e1 = 1.01 (what the sum of r v is off by)/N + 28 u |B|
 *   B/N   within e2 = 1.01 e1/N + 28 u |B/N|
 *   r - v B/N  within |v| (e2 + 2.1 u |B/N|) and 2.1 u of itself
 *   dv    that times g/N, and 29 u of itself: 31.1 u < RM_DIRECTION_ERR
 * Nothing underflows: magnitudes of v, r, g are 0 or from 2^-149 to 2^128, so that N is from 2^-149 to 2^148, g/N at least
 * 2^-297, B/N at least 2^-594. A zero v or r has a result of the right sign: that of B/N is known where its bound is below
 * it, or the sum has no term but zeros.
 *
 * Rows whose v are all 0, or of which an element is not finite, need no exact sum: a sum of exact terms that cannot overflow
 * says what the exact one is, an infinity or NaN, and then every step is done as it stands. */
#include <string.h>

#include "../../../include/repmath/nn.h"
#include "../../../include/repmath/reductions.h"
#include "../../../crlibm/fp/bits.h"
#include "../../common/stats.h"
#include "../../reduce/exact.h"
#include "../../reduce/statistics.h"
#include "../../runtime/env.h"
#include "../rows/kernels.h"

#define RM_DIRECTION_ERR 0x1.2p-48 /* 36 u */
#define RM_DIRECTION_SUM 0x1.6p-48 /* E */

/* The root of the sum of x y, or the sum, rounded to binary64. */
static double rounded_sum(int64_t n, const float *x, const float *y, int root) {
  const rm_terms a = {(const char *)x, sizeof *x}, b = {(const char *)y, sizeof *y};
  const rm_sum_problem p = {n, a, b, RM_F32, NULL};
  const rm_sum_function f = {1, 0, root};
  double hi, lo, err;
  uint64_t bits;
  uint32_t flags = 0;
  if (!rm_sum_approximately(&p, 1, &hi, &lo, &err) || !rm_function_decide(&f, hi, lo, err, RM_F64, &bits, &flags)) {
    rm_superaccumulator sum;
    rm_sum_exactly(&p, &sum);
    bits = rm_function_of_sum(&f, &sum, RM_F64, &flags);
  }
  return rm_from_bits64(bits);
}

static void store(float *to, double x) {
  const float y = x == x ? (float)x : __builtin_nanf("");
  memcpy(to, &y, sizeof y);
}

/* Stores what lies within err of x; 0 where that does not decide. Zeros, subnormal numbers and infinities are left. */
static int stored(float *to, double x, double err) {
  const float low = (float)(x - err), high = (float)(x + err), size = __builtin_fabsf(low);
  memcpy(to, &low, sizeof low);
  return low == high && size >= 0x1p-126f && size <= 0x1.fffffep127f;
}

/* All steps of a row as they are defined. */
static void exactly(const struct rm_nn_kernels *k, rm_direction_row *d, const double *sums, float *number) {
  const int special = sums[0] == 0.0 || !rm_is_finite(sums[0]);
  d->length = special ? __builtin_sqrt(sums[0]) : rounded_sum(d->n, d->v, d->v, 1);
  double first = d->length;
  if (d->r) {
    const double sum = special || !rm_is_finite(sums[1]) ? sums[1] : rounded_sum(d->n, d->r, d->v, 0);
    first = sum / d->length;
    d->by = first / d->length;
  }
  store(number, first);
  d->exact = 1;
  k->direction_store(d);
}

static void row(const struct rm_nn_kernels *k, rm_direction_row *d, float *number) {
  double sums[3];
  int known;
  k->direction_sums(d->n, d->v, d->r, sums);
  d->exact = 0;
  d->length = __builtin_sqrt(sums[0]);
  d->scale = d->g / d->length;
  d->rel = RM_DIRECTION_ERR;
  if (!rm_is_finite(sums[0]) || sums[0] == 0.0) {
    known = 0;
  } else if (!d->r) {
    known = stored(number, d->length, RM_DIRECTION_ERR * d->length);
  } else {
    const double first = sums[1] / d->length,
                 off = 1.01 * RM_DIRECTION_SUM * __builtin_sqrt(sums[0]) * __builtin_sqrt(sums[2]);
    const double e1 = 1.01 * off / d->length + RM_DIRECTION_ERR * __builtin_fabs(first);
    d->by = first / d->length;
    const double e2 = 1.01 * e1 / d->length + RM_DIRECTION_ERR * __builtin_fabs(d->by);
    d->err = 1.02 * __builtin_fabs(d->scale) * e2;
    known = e1 < __builtin_fabs(first) && stored(number, first, e1);
  }
  if (!known || k->direction_store(d)) exactly(k, d, sums, number);
}

/* Arguments: count and n, then arrays of rows and of one number a row; which of those may have no elements. */
static rm_status check(int64_t count, int64_t n, int arrays, const void *const *a, int of_rows) {
  if (count < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  for (int i = 0; i < arrays; i++)
    if (!a[i] && count > 0 && (n > 0 || !(of_rows >> i & 1))) return RM_STATUS(RM_ERR_NULL, 3 + i);
  return RM_OK;
}

static rm_status rows(int64_t count, int64_t n, const float *r, const float *v, const float *g, float *out, float *numbers) {
  const struct rm_nn_kernels *k = rm_nn_kernels();
  if (!k) return RM_ERR_ISA;
  const rm_env env = rm_env_enter();
  for (int64_t i = 0; i < count; i++) {
    rm_direction_row d = {.n = n, .v = v + i * n, .r = r ? r + i * n : NULL, .out = out + i * n, .g = (double)g[i]};
    row(k, &d, numbers + i);
  }
  rm_env_leave(env, 0);
  return RM_OK;
}

rm_status rm_weight_norm_f32(int64_t count, int64_t n, const float *v, const float *g, float *w, float *lengths) {
  const void *const a[] = {v, g, w, lengths};
  const rm_status status = check(count, n, 4, a, 1 | 4);
  return status ? status : rows(count, n, NULL, v, g, w, lengths);
}
rm_status rm_weight_norm_backward_f32(int64_t count, int64_t n, const float *r, const float *v, const float *g, float *dv,
                                      float *dg) {
  const void *const a[] = {r, v, g, dv, dg};
  const rm_status status = check(count, n, 5, a, 1 | 2 | 8);
  return status ? status : rows(count, n, r, v, g, dv, dg);
}

rm_status rm_norm_rows_f32(int64_t count, int64_t n, const float *x, float *norms) {
  const void *const a[] = {x, norms};
  const rm_status status = check(count, n, 2, a, 1);
  if (status) return status;
  const struct rm_nn_kernels *k = rm_nn_kernels();
  if (!k) return RM_ERR_ISA;
  const rm_env env = rm_env_enter();
  int64_t fast = 0;
  for (int64_t i = 0; i < count; i++) {
    double sum;
    k->direction_sums(n, x + i * n, NULL, &sum);
    const double root = __builtin_sqrt(sum);
    int known = 1;
    if (sum == 0.0 || !rm_is_finite(sum)) store(norms + i, root);
    else known = stored(norms + i, root, RM_DIRECTION_ERR * root);
    fast += known;
    if (!known) rm_norm(RM_FORMAT_F32, n, x + i * n, sizeof *x, RM_FORMAT_F32, norms + i);
  }
  rm_stats_add(fast, 0, 0);
  rm_env_leave(env, 0);
  return RM_OK;
}
