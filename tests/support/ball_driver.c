/* The arithmetics of the tiers after the fast phase, crlibm/enclosure/dd_ball.h and ball.h, one operation over arrays, for
 * test_ball.py. */
#include "../../src/reduce/total.h"

/* Operations, in the order of test_ball.py. */
enum { ADD, SUB, MUL, DIV, SQRT, POW, EXP, EXPM1, LOG, LOG1P, SCALE, NEG };

#ifndef RM_TEST_SHRINK /* a control takes the errors of results for smaller than they are */
#define RM_TEST_SHRINK 1.0
#endif

static void widen_dd_ball(rm_dd_ball *r, int exponent) { rm_dd_ball_finish(r, r->hi, r->lo, 1, r->err + rm_pow2(exponent)); }
static void widen_ball(rm_ball *r, int exponent) { rm_ball_widen(r, r, exponent); }

/* hi, lo, err */
static void put_dd_ball(void *results, int64_t i, const rm_dd_ball *r) {
  const double v[3] = {r->hi, r->lo, r->err * RM_TEST_SHRINK};
  __builtin_memcpy((double *)results + 3 * i, v, sizeof v);
}
/* negative, length, e, err as bits, and the first limbs */
#ifndef RM_TEST_PUT
#define RM_TEST_PUT 40
#endif
enum { PUT = RM_TEST_PUT };
static void put_ball(void *results, int64_t i, const rm_ball *r) {
  uint64_t *v = (uint64_t *)results + (PUT + 4) * i;
  v[0] = (uint64_t)r->negative;
  v[1] = (uint64_t)r->length;
  v[2] = (uint64_t)r->e;
  v[3] = rm_bits64(r->err * RM_TEST_SHRINK);
  for (int k = 0; k < r->length && k < PUT; k++) v[4 + k] = r->m[k];
}

/* An undecided ball is also rounded as that of a value that is a boundary or 2^separation away: *decided becomes 2. */
static void separated_dd_ball(const rm_dd_ball *r, int64_t separation, int format, int rule, uint32_t *flags, uint64_t *bits,
                              int32_t *decided) {
  (void)r, (void)separation, (void)format, (void)rule, (void)flags, (void)bits, (void)decided;
}
static void separated_ball(const rm_ball *r, int64_t separation, int format, int rule, uint32_t *flags, uint64_t *bits,
                           int32_t *decided) {
  if (!*decided && rm_ball_round_separated(r, separation, format, rule, flags, bits)) *decided = 2;
}

#define RM_NUM dd_ball
#include "ball_driver.h"
#undef RM_NUM
#define RM_NUM ball
#include "ball_driver.h"
#undef RM_NUM

/* The total of the products of n pairs of numbers, for both; with the source of the superaccumulator. */
void rm_test_total(int64_t n, const double *x, const double *y, int limbs, double *near, uint64_t *ball);
void rm_test_total(int64_t n, const double *x, const double *y, int limbs, double *near, uint64_t *ball) {
  rm_superaccumulator acc;
  rm_dd_ball a;
  rm_ball b;
  rm_superacc_clear(&acc);
  for (int64_t i = 0; i < n; i++) rm_superacc_add_product(&acc, x[i], y[i]);
  rm_dd_ball_set_total(&a, &acc, limbs);
  rm_ball_set_total(&b, &acc, limbs);
  put_dd_ball(near, 0, &a);
  put_ball(ball, 0, &b);
}
