/* Truncated normal numbers by comparison (comparison.h): of twice the tail below X,
 *   (1 - U) L(a) + U L(b), L(x) = 2 Phi(x),
 * with twice the tail below a boundary B, or of the tails above, whichever is the smaller one of B's.
 *
 * They are not equal: 1 and the integrals of exp(-t^2/2) from 0 to rational numbers of different squares are linearly
 * independent over the rationals (Shidlovskii's theorem for such E-functions), and twice the tails differ by rational
 * multiples of the integrals over sqrt(pi/2); the cases of like squares would make U 0, 1/2 or 1. Where an end is infinite
 * the relation has a term with sqrt(pi), which the theorem leaves out; none is known. A comparison that 16 limbs leave
 * undecided is taken as it stands there. Ends closer than 2^-100 std are excluded by the interface (random/args.c): there
 * too, that one end is within 30 std of the mean. */
#include "truncated_exact.h"

#include "comparison.h"

typedef struct {
  uint64_t draw;
  rm_dyadic mean, std, end[2];
  int infinite[2];
} rm_truncated_target;

RM_STATIC rm_truncated_target rm_truncated_target_of(uint64_t draw, const struct rm_truncation *t) {
  rm_truncated_target x = {draw, rm_dyadic_of(t->mean), rm_dyadic_of(t->std), {{0, 0, 0}, {0, 0, 0}}, {0, 0}};
  for (int i = 0; i < 2; i++) {
    x.infinite[i] = rm_is_infinite(t->end[i]);
    if (!x.infinite[i]) x.end[i] = rm_dyadic_of(t->end[i]);
  }
  return x;
}

/* s 2^k = twice the tail of end i below it, or with upper above it, short of it by *fall units 2^(64 (n - n/2)) at most
 * besides *err single ones. Ends beyond 60 std count as infinite, which leaves out less than 2^-2500; all is above 2^-730
 * (see rm_truncated_beyond). */
RM_STATIC int rm_truncated_end_tail(const rm_truncated_target *x, int i, int upper, int n, uint64_t *s, uint64_t *err,
                                    uint64_t *fall) {
  uint64_t r[RM_MP_LIMBS];
  int size = -100000, side = i ? 1 : -1, far = x->infinite[i];
  *err = 1, *fall = 0;
  if (!far) {
    side = rm_mp_ratio(x->end[i], x->mean, x->std, 0, r, &size);
    far = size > 6; /* |r| > 2^6, below 2^7 otherwise */
    if (!far) {
      if (side) {
        rm_mp_ratio(x->end[i], x->mean, x->std, n, r, &size);
        far = r[n] >= 60;
      } else {
        rm_mp_set(r, 0, n);
      }
    }
  }
  const int same = side > 0 ? upper : !upper; /* the end's own tail is the one that is asked for */
  if (far) {
    rm_mp_set(s, same ? 0 : 2, n);
    return 0;
  }
  const int k = rm_mp_tail(r, s, n, err);
  *fall = 4;
  if (same || side == 0) return k;
  rm_erfc_mp_reflect(s, k, n);
  ++*err;
  return 0;
}

/* Twice the tail of X on one side: t 2^k, within *err single units and *fall of 2^(64 (n - n/2)). The scale is that of the
 * larger term. U and 1 - U, which add up to 1, are within a unit; so a product with a tail, below 2.01, has that tail's
 * error, 2.01 units, n + 1 that it is short by, and one for the cut to the scale: both together add 2 n + 9 to e, where 4 n +
 * 16 stand. */
RM_STATIC int rm_truncated_tail(const rm_truncated_target *x, int upper, int n, uint64_t *t, uint64_t *err, uint64_t *fall) {
  uint64_t s[2][RM_MP_LIMBS], u[RM_MP_LIMBS], one[RM_MP_LIMBS], e[2], f[2];
  int k[2];
  rm_mp_from_integer(u, x->draw, -64, n);
  rm_mp_from_integer(one, 1, -65, n);
  rm_mp_add(u, u, one, n);
  rm_mp_set(one, 1, n);
  for (int i = 1; i >= 0; i--) { /* U of the upper end, then 1 - U of the lower one */
    k[i] = rm_truncated_end_tail(x, i, upper, n, s[i], &e[i], &f[i]);
    rm_mp_mul(s[i], s[i], u, n);
    rm_mp_sub(u, one, u, n);
  }
  const int top = rm_mp_length(s[0], n) == 0 ? k[1] : rm_mp_length(s[1], n) == 0 || k[0] > k[1] ? k[0] : k[1];
  for (int i = 0; i < 2; i++)
    if (top > k[i]) rm_mp_shift_down(s[i], s[i], top - k[i], n);
  rm_mp_add(t, s[0], s[1], n);
  *err = e[0] + e[1] + 4 * (uint64_t)n + 16, *fall = f[0] + f[1];
  return top;
}

RM_STATIC int rm_truncated_beyond(const void *target, rm_dyadic b) {
  const rm_truncated_target *x = (const rm_truncated_target *)target;
  uint64_t r[RM_MP_LIMBS], v[RM_MP_LIMBS], t[RM_MP_LIMBS], slack[RM_MP_LIMBS], err, more, fall;
  int size = -100000, larger = 0;
  if (!x->infinite[0] && rm_mp_ratio(b, x->end[0], x->std, 0, r, &size) <= 0) return 1;
  if (!x->infinite[1] && rm_mp_ratio(b, x->end[1], x->std, 0, r, &size) >= 0) return 0;
  const int upper = rm_mp_ratio(b, x->mean, x->std, 0, r, &size) > 0;
  /* The nearest end is within 30 std, where twice the tail is above e^-454, and U, 1 - U above 2^-66: X has more than e^-500
   * beyond it, and 38 std less than e^-722. */
  if (size > 5) return !upper; /* |r| > 2^5: twice the tail is below e^-512 */
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_mp_set(r, 0, n);
    rm_mp_ratio(b, x->mean, x->std, n, r, &size);
    if (r[n] >= 60) return !upper;
    const int kv = rm_mp_tail(r, v, n, &err), kt = rm_truncated_tail(x, upper, n, t, &more, &fall);
    if (kv < kt) rm_mp_shift_down(v, v, kt - kv, n);
    else rm_mp_shift_down(t, t, kv - kt, n);
    larger = rm_mp_less(v, t, n); /* X has the larger tail: it is nearer to the mean than b */
    /* v and t are on the scale of the larger tail; what is on a smaller scale loses a unit more and has smaller errors. v is
     * within err units of the tail beyond the r that is evaluated, t within `more` of its two. These r are short of their
     * ratios by at most d = 2^(64 (n - n/2)) + 1024 units (rm_mp_ratio), and the scaled tail, f W with f <= 2.01
     * (rm_mp_tail), has the slope -sqrt(2/pi) f, above -1.61: v is above the tail that is asked for by 1.61 d, less than 4
     * units 2^(64 (n - n/2)), and t by `fall` of these. So v - t is within err + more + 1 and fall + 4 of those: where it is
     * larger than slack, it has the sign of the exact difference. */
    rm_mp_set(slack, 0, n);
    slack[0] = (uint64_t)RM_BOUND(err + more) + 2048;
    slack[n - n / 2] += fall + 4;
    if (larger) rm_mp_sub(v, t, v, n);
    else rm_mp_sub(v, v, t, n);
    if (rm_mp_less(slack, v, n)) break;
  }
  return larger != upper;
}

RM_HOST_EXTERN uint64_t rm_truncated_exactly(uint64_t draw, const struct rm_truncation *t, double guess, int format,
                                             uint32_t *flags) {
  const rm_truncated_target x = rm_truncated_target_of(draw, t);
  return rm_round_by_comparison(rm_truncated_beyond, &x, guess, format, flags);
}

/* s 2^k in two parts, within 2^-104 of it, for s 2^k >= 2^-907. */
RM_COLD void rm_mp_in_parts(const uint64_t *s, int k, int n, double *to) {
  int64_t at;
  const rm_u128 m = rm_mp_sticky(s, n, &at) >> 2;
  const double unit = 0x1p-100, rest = rm_pow2((int)(at + 2 + k + 100));
  to[0] = (double)m;
  to[1] = (double)(__int128)(m - (rm_u128)to[0]);
  to[0] = to[0] * unit * rest, to[1] = to[1] * unit * rest;
}

RM_HOST_EXTERN void rm_truncation_prepare(struct rm_truncation *t) {
  const rm_truncated_target x = rm_truncated_target_of(0, t);
  enum { N = 8 };
  for (int upper = 0; upper < 2; upper++)
    for (int i = 0; i < 2; i++) {
      uint64_t s[RM_MP_LIMBS], err, fall;
      const int k = rm_truncated_end_tail(&x, i, upper, N, s, &err, &fall);
      double *to = t->tails[upper][i];
      to[0] = to[1] = 0.0; /* what is left out is far below 2^-100 of the sum */
      if (rm_mp_length(s, N) > 0 && k >= -900) rm_mp_in_parts(s, k, N, to);
    }
}
