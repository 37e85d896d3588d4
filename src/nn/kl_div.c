/* Kullback-Leibler divergence, by double-double, then balls: t (log t - x), or of log t given, e^t (t - x).
 *
 * Values are transcendental (Lindemann) but for t = 1, where log t is 0, for t = x and t = 0 of e^t (t - x): exact in either arithmetic.
 * log t is irrational for every other rational t, so a sum is rational only where its transcendental parts cancel (Baker;
 * Lindemann, Weierstrass); the last ball then holds the boundary.
 *
 * Exponents. A single e^t (t - x) with t beyond +-2^14 overflows, or rounds to a zero with the sign of t - x: |t - x| and g / count are
 * between 2^-1138 and 2^1025. Any t as far out on the same side stands for it. In a sum m is the greatest t whose t - x do not
 * add up to 0; terms above it cancel and are left out, so the sum is not 0 (Lindemann, Weierstrass). Where m is beyond +-2^13 the sum
 * is e^m times that of e^(t - m) (t - x). rm_ball_exp takes exponents down to -2^40 and makes an interval of the rest; m is held
 * to +-2^39 in e^m, where any sum that 2^15 bits tell from 0 overflows or rounds to a zero of its sign. */
#include "../../include/repmath/losses.h"
#include "../api/env.h"
#include "../reduce/superaccumulator.h"
#include "wide_loss.h"

#define RM_KL_FAR 0x1p14
#define RM_KL_FACTORED 0x1p13
#define RM_KL_FARTHEST 0x1p39

enum { X, T, G };
enum { RM_KL_GROUPS = 32 };

static double held(double t, double end) { return t < -end ? -end : t > end ? end : t; }

/* t > 0 with any finite x; t = 0 is a 0, whatever x is. Of logarithms both are finite. The gradient has no x. */
static int holds(const rm_wide_loss *f, int64_t i, int gradient) {
  const double x = rm_wide_loss_read(f, X, i), t = rm_wide_loss_read(f, T, i), g = rm_wide_loss_read(f, G, i);
  return t - t == 0.0 && g - g == 0.0 && (gradient || (x - x == 0.0 && (f->option || t > 0.0)));
}

/* At infinity, and for t that is no probability. */
static double limit(const rm_wide_loss *f, int64_t i, int gradient) {
  const double x = rm_wide_loss_read(f, X, i), t = rm_wide_loss_read(f, T, i), g = rm_wide_loss_read(f, G, i);
  const double p = !f->option ? t : t - t == 0.0 ? 1.0 : t < 0.0 ? 0.0 : t; /* t, or a number like e^t */
  if (gradient) return -p * g;
  if (x != x || !(p >= 0.0)) return rm_from_bits64(rm_nan_bits(RM_F64));
  return p == 0.0 ? 0.0 : p - p == 0.0 ? -p * x : p - x;
}

#define RM_NUM near
#include "kl_div_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "kl_div_exact.h"
#undef RM_NUM

static const rm_wide_loss_kind kind = {kl_value_near, kl_gradient_near, kl_total_near, kl_value_ball, kl_gradient_ball,
                                       kl_total_ball, holds,            limit};

/* m, or -infinity where every term cancels. After RM_KL_GROUPS values of t that cancel, the next one, whatever it does: each costs
 * a walk over all elements. */
static double top_of(const rm_wide_loss *f) {
  double above = rm_near_infinity();
  for (int group = 0;; group++) {
    double m = -rm_near_infinity();
    for (int64_t i = 0; i < f->n; i++) {
      const double t = rm_wide_loss_read(f, T, i);
      if (t < above && t > m && t != rm_wide_loss_read(f, X, i) && holds(f, i, 0)) m = t;
    }
    if (m - m != 0.0 || group == RM_KL_GROUPS) return m;
    uint32_t flags = 0;
    rm_superaccumulator sum;
    rm_superacc_clear(&sum);
    for (int64_t i = 0; i < f->n; i++)
      if (rm_wide_loss_read(f, T, i) == m && holds(f, i, 0)) {
        rm_superacc_add(&sum, m);
        rm_superacc_add(&sum, -rm_wide_loss_read(f, X, i));
      }
    if (rm_superacc_round_f64(&sum, &flags) != 0.0) return m;
    above = m;
  }
}

/* Positions from 5 on as in losses.h. */
static rm_status begin(rm_wide_loss *f, int format, int reduction, int log_target, int64_t count, int64_t n) {
  const rm_status status = rm_wide_loss_begin(f, &kind, format, reduction, n, 5);
  if (status) return status;
  if (log_target != 0 && log_target != 1) return RM_STATUS(RM_ERR_RANGE, 3);
  f->option = log_target;
  if (reduction != RM_REDUCTION_MEAN) return RM_OK;
  if (count < 0 || (count == 0 && n > 0)) return RM_STATUS(RM_ERR_RANGE, 4);
  f->count = count;
  return RM_OK;
}

rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x, ptrdiff_t stride_x,
                    const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out) {
  rm_wide_loss f;
  const rm_status status = begin(&f, format, reduction, log_target, count, n);
  if (status) return status;
  const int none = reduction == RM_REDUCTION_NONE;
  if (none && n == 0) return RM_OK;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 6);
  if (n && !t) return RM_STATUS(RM_ERR_NULL, 8);
  if (!out) return RM_STATUS(RM_ERR_NULL, 10);
  f.in[X] = rm_wide_loss_line(x, stride_x), f.in[T] = rm_wide_loss_line(t, stride_t), f.out = rm_wide_loss_line(out, stride_out);
  if (none) return rm_wide_loss_each(&f, 0, 10);
  if (log_target) {
    const rm_env env = rm_env_enter(); /* which knows subnormal numbers */
    f.top = top_of(&f);
    rm_env_leave(env, 0);
  }
  rm_wide_loss_total(&f);
  return RM_OK;
}

rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g, ptrdiff_t stride_g,
                             const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx) {
  rm_wide_loss f;
  const rm_status status = begin(&f, format, reduction, log_target, count, n);
  if (status || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 6);
  if (!t) return RM_STATUS(RM_ERR_NULL, 8);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 10);
  f.in[T] = rm_wide_loss_line(t, stride_t), f.in[G] = rm_wide_loss_line(g, reduction == RM_REDUCTION_NONE ? stride_g : 0);
  f.out = rm_wide_loss_line(dx, stride_dx);
  return rm_wide_loss_each(&f, 1, 10);
}
