/* Normal numbers by comparison (comparison.h).
 *
 * X = B is not known to hold for any arguments: it would make the integral of exp(-t^2/2) from 0 to a rational r other than
 * 0, which is transcendental (Siegel, 1929), a rational multiple of sqrt(pi/2), which no theorem excludes. A comparison that
 * 16 limbs leave undecided, 2^-950 from equality, is taken as it stands there. */
#include "normal_exact.h"

#include "../../crlibm/ndtri/normal_draw_accurate.h"
#include "comparison.h"

typedef struct {
  uint64_t draw;
  rm_dyadic mean, std;
} rm_normal_target;

/* Whether X > b. The tail beyond |r| falls by less than 0.8 exp(-r^2/2) of what r is short: less than 1.61 2^k of it, here
 * twice. */
RM_STATIC int rm_normal_beyond(const void *target, rm_dyadic b) {
  const rm_normal_target *x = (const rm_normal_target *)target;
  const uint64_t draw = x->draw;
  uint64_t r[RM_MP_LIMBS], v[RM_MP_LIMBS], t[RM_MP_LIMBS], slack[RM_MP_LIMBS], err;
  const int below = !(draw >> 63); /* z < 0 */
  const uint64_t tail = 2 * (below ? draw : ~draw) + 1; /* twice the tail beyond |z|, times 2^64 */
  int size = 0, farther = 0;
  const int sign = rm_mp_ratio(b, x->mean, x->std, 0, r, &size);
  if (sign == 0 || (sign < 0) != below) return sign == 0 ? !below : !below; /* z on one side of 0, r on the other */
  if (size > 4) return below; /* |r| > 2^4 > |z|; below, |r| < 32 */
  if (size < -70) return !below; /* |r| < 2^-69 < |z| */
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_mp_ratio(b, x->mean, x->std, n, r, &size);
    const int k = rm_mp_tail(r, v, n, &err);
    if (-k - 1 - rm_clz64(tail) >= 2) return below; /* tail 2^-64 is at least 4 2^k, v below 2.1: z is nearer */
    rm_mp_from_integer(t, tail, -64 - k, n);
    farther = rm_mp_less(t, v, n); /* a smaller tail: z is farther out than r */
    rm_mp_set(slack, 0, n);
    slack[0] = (uint64_t)RM_BOUND(err) + 1024;
    if (farther) slack[n - n / 2] += 4;
    if (farther) rm_mp_sub(v, v, t, n);
    else rm_mp_sub(v, t, v, n);
    if (rm_mp_less(slack, v, n)) break;
  }
  return farther != below;
}

RM_HOST_EXTERN uint64_t rm_normal_exactly(uint64_t k, double mean, double std, double guess, int format, uint32_t *flags) {
  if (mean == 0.0 && std == 1.0) return rm_normal_accurate(k, format, RM_NEAREST, flags);
  const rm_normal_target x = {k, rm_dyadic_of(mean), rm_dyadic_of(std)};
  const int below = !(k >> 63);
  if (x.std.m == 0) return x.mean.m ? rm_round_exact(x.mean.negative, x.mean.m, x.mean.e, format, RM_NEAREST, flags) : 0;
  /* |std z| < 10 std < 2^-54 |mean|: a hair beside it. */
  if (x.mean.m && rm_dyadic_exponent(x.mean) - rm_dyadic_exponent(x.std) >= 60)
    return rm_round_beside(mean, x.mean.negative == below, format, RM_NEAREST, flags);
  return rm_round_by_comparison(rm_normal_beyond, &x, guess, format, flags);
}
