/* Binary cross entropy with logits: w ((1 - y) x + c log(1 + e^-x)), c = 1 + (p - 1) y, by double-double, then balls.
 *
 * Values are transcendental (Lindemann, Weierstrass) but where c w = 0, when they are rational, with fewer than 9000 bits. Beyond
 * RM_BCE_TAIL e^-|x| is below 2^RM_BCE_TAIL_BITS, and products with c and w below 2^-8000: nearer to what they are added to, a number
 * with fewer than 7500 bits, than any boundary it is not; only the sign matters, and 2^RM_BCE_TAIL_BITS stands for it. A sum whose
 * transcendental parts cancel is rational too. */
#include "../../include/repmath/losses.h"
#include "wide_loss.h"

#define RM_BCE_TAIL 8192.0
#define RM_BCE_TAIL_BITS (-11818) /* e^-8192 < 2^-11818 */

enum { X, Y, W, P, G };
typedef struct {
  double x, y, w, p, g;
} bce_element;

static bce_element element(const rm_wide_loss *f, int64_t i) {
  return (bce_element){rm_wide_loss_read(f, X, i), rm_wide_loss_read(f, Y, i), rm_wide_loss_read(f, W, i), rm_wide_loss_read(f, P, i),
                       rm_wide_loss_read(f, G, i)};
}

static int holds(const rm_wide_loss *f, int64_t i, int gradient) {
  const bce_element e = element(f, i);
  const int finite = e.y - e.y == 0.0 && e.w - e.w == 0.0 && e.p - e.p == 0.0 && e.g - e.g == 0.0;
  return finite && (gradient ? e.x == e.x : e.x - e.x == 0.0); /* the gradient's formula has the limit at infinity */
}

#define RM_NUM near
#include "bce_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "bce_exact.h"
#undef RM_NUM

/* The sign of the term, or of its gradient, without weight and g; x, y, p are finite. */
static double sign_of(const rm_wide_loss *f, int64_t i, int gradient) {
  rm_wide_loss plain = *f;
  plain.in[W].base = plain.in[G].base = NULL, plain.count = 1;
  rm_ball v;
  int sign = RM_SIGN_UNKNOWN;
  for (int limbs = 4; limbs <= RM_BALL_LIMBS && sign == RM_SIGN_UNKNOWN; limbs *= 2) {
    (gradient ? bce_gradient_ball : bce_value_ball)(&v, &plain, i, limbs);
    sign = rm_ball_sign(&v);
  }
  return sign == RM_SIGN_UNKNOWN ? 0.0 : sign;
}

/* A result that is not of finite numbers: NaN, infinite, or 0 where an infinite x makes it so: (1 - y) x, -p y x, by the slopes at either end. */
static double limit(const rm_wide_loss *f, int64_t i, int gradient) {
  const bce_element e = element(f, i);
  if (e.y - e.y != 0.0 || e.p - e.p != 0.0 || e.x != e.x) return rm_from_bits64(rm_nan_bits(RM_F64));
  double v;
  if (e.x - e.x == 0.0) {
    v = sign_of(f, i, gradient);
  } else {
    const double slope = e.x > 0.0 ? 1.0 - e.y : (e.p > 0.0) == (e.y > 0.0) ? -1.0 : 1.0;
    const double at = e.x < 0.0 && (e.p == 0.0 || e.y == 0.0) ? 0.0 : slope;
    v = gradient || at == 0.0 ? at : at * e.x;
  }
  return v * e.w * e.g;
}

static const rm_wide_loss_kind kind = {bce_value_near, bce_gradient_near, bce_total_near, bce_value_ball, bce_gradient_ball,
                                       bce_total_ball, holds,             limit};

rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                             const void *weight, ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight,
                             void *out, ptrdiff_t stride_out) {
  rm_wide_loss f;
  const rm_status status = rm_wide_loss_begin(&f, &kind, format, reduction, n, 3);
  if (status) return status;
  const int none = reduction == RM_REDUCTION_NONE;
  if (none && n == 0) return RM_OK;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 4);
  if (n && !y) return RM_STATUS(RM_ERR_NULL, 6);
  if (!out) return RM_STATUS(RM_ERR_NULL, 12);
  f.in[X] = rm_wide_loss_line(x, stride_x), f.in[Y] = rm_wide_loss_line(y, stride_y);
  f.in[W] = rm_wide_loss_line(weight, stride_weight), f.in[P] = rm_wide_loss_line(pos_weight, stride_pos_weight);
  f.out = rm_wide_loss_line(out, stride_out);
  if (!none) {
    rm_wide_loss_total(&f);
    return RM_OK;
  }
  return rm_wide_loss_each(&f, 0, 12);
}

rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                                      ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight,
                                      ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx,
                                      ptrdiff_t stride_dx) {
  rm_wide_loss f;
  const rm_status status = rm_wide_loss_begin(&f, &kind, format, reduction, n, 3);
  if (status || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 4);
  if (!x) return RM_STATUS(RM_ERR_NULL, 6);
  if (!y) return RM_STATUS(RM_ERR_NULL, 8);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 14);
  f.in[X] = rm_wide_loss_line(x, stride_x), f.in[Y] = rm_wide_loss_line(y, stride_y);
  f.in[W] = rm_wide_loss_line(weight, stride_weight), f.in[P] = rm_wide_loss_line(pos_weight, stride_pos_weight);
  f.in[G] = rm_wide_loss_line(g, reduction == RM_REDUCTION_NONE ? stride_g : 0), f.out = rm_wide_loss_line(dx, stride_dx);
  return rm_wide_loss_each(&f, 1, 14);
}
