/* Roundings and comparisons in multiprecision by evaluations that are as far off as they say they may be, for
 * elementwise/test_comparison.py: with `moved_limbs` limbs an evaluation says that it may be off by `moved` more, and is off
 * by 0.95 of that. With more limbs it is as it is. */
#include "../../crlibm/erfc/erfc_mp.h"

static int moved_limbs;
static double moved; /* of the value; downwards where it is negative */

static void move(uint64_t *v, int k, int n, uint64_t *err) {
  uint64_t by[RM_MP_LIMBS];
  if (n != moved_limbs) return;
  const double units = moved * rm_pow2(64 * n) * rm_pow2(-k);
  rm_mp_set(by, 0, n);
  by[0] = (uint64_t)(0.95 * __builtin_fabs(units));
  if (units < 0.0) rm_mp_sub(v, v, by, n);
  else rm_mp_add(v, v, by, n);
  *err += (uint64_t)__builtin_fabs(units);
}

static int erf_moved(uint64_t *v, uint64_t a, int e, int half, int n, uint64_t *err) {
  const int k = rm_erf_mp_of(v, a, e, half, n, err);
  return move(v, k, n, err), k;
}
static int erfc_moved(uint64_t *v, uint64_t a, int e, int half, int n, uint64_t *err) {
  const int k = rm_erfc_mp_of(v, a, e, half, n, err);
  return move(v, k, n, err), k;
}
#define rm_erf_mp_of erf_moved
#define rm_erfc_mp_of erfc_moved
#include "../../crlibm/erfinv/erfinv_accurate.h"

#include "../../src/random/comparison.h"
static int tail_moved(const uint64_t *r, uint64_t *v, int n, uint64_t *err) {
  const int k = rm_mp_tail(r, v, n, err);
  return move(v, k, n, err), k;
}
#define rm_mp_tail tail_moved
#include "../../src/random/normal_exact.inl"

/* Whether the inverse of erf at the target is above b 2^eb. */
int rm_test_erfinv_above(uint64_t m, int e, int tail, int half, uint64_t b, int eb, int limbs, double by);
int rm_test_erfinv_above(uint64_t m, int e, int tail, int half, uint64_t b, int eb, int limbs, double by) {
  const struct rm_erfinv_target target = {m, e, tail, half};
  double away;
  moved_limbs = limbs, moved = by;
  return rm_erfinv_above(&target, b, eb, &away);
}

/* Whether the normal number of a draw is above b. */
int rm_test_normal_beyond(uint64_t draw, double mean, double std, double b, int limbs, double by);
int rm_test_normal_beyond(uint64_t draw, double mean, double std, double b, int limbs, double by) {
  const rm_normal_target target = {draw, rm_dyadic_of(mean), rm_dyadic_of(std)};
  moved_limbs = limbs, moved = by;
  return rm_normal_beyond(&target, rm_dyadic_of(b));
}

/* Rounds (-1)^negative a 2^e, a being within err units: rm_mp_round. Returns whether that is decided. */
int rm_test_mp_round(int negative, const uint64_t *a, int64_t e, uint64_t err, int n, int format, int rule, uint64_t *bits);
int rm_test_mp_round(int negative, const uint64_t *a, int64_t e, uint64_t err, int n, int format, int rule, uint64_t *bits) {
  uint32_t flags = 0;
  return rm_mp_round(negative, a, e, err, n, format, rule, &flags, bits);
}
