/* Greatest common divisors of exact numbers. */
#pragma once

#include "../../../crlibm/enclosure/ball.h"

/* The exponent of the lowest bit of a, which is exact and not 0. */
RM_FN int64_t rm_ball_lowest_bit(const rm_ball *a) {
  int i = 0;
  while (a->m[i] == 0) i++;
  return a->e + 64 * (int64_t)i + __builtin_ctzll(a->m[i]);
}

/* t = |a| without its factors of 2; a is exact and not 0. Returns its length. */
RM_STATIC int rm_odd_limbs(uint64_t *t, const rm_ball *a) {
  rm_ball_place(t, a->length, a, rm_ball_lowest_bit(a));
  return rm_limbs_length(t, a->length);
}

/* The greatest odd divisor of exact a and b, not 0, by Euclid's algorithm: factors of 2 are removed from each remainder. */
RM_STATIC void rm_odd_divisor(rm_ball *r, const rm_ball *a, const rm_ball *b) {
  uint64_t u[RM_BALL_LIMBS + 1], v[RM_BALL_LIMBS + 1], q[RM_BALL_LIMBS + 1];
  rm_ball rest;
  int nu = rm_odd_limbs(u, a), nv = rm_odd_limbs(v, b);
  for (;;) {
    if (nu >= nv) {
      u[nu] = 0;
      if (!rm_limbs_divide(q, u, nu, v, nv)) break; /* u is the remainder times a power of 2 */
      rm_ball_store(&rest, 0, u, nv, 0, 0.0, RM_BALL_LIMBS);
      nu = rm_odd_limbs(u, &rest);
    }
    uint64_t t[RM_BALL_LIMBS];
    const int nt = nu;
    for (int i = 0; i < nu; i++) t[i] = u[i];
    for (int i = 0; i < nv; i++) u[i] = v[i];
    for (int i = 0; i < nt; i++) v[i] = t[i];
    nu = nv, nv = nt;
  }
  rm_ball_store(r, 0, v, nv, 0, 0.0, RM_BALL_LIMBS);
}

/* The greatest number of which exact a and b, not 0, are both integer multiples. */
RM_STATIC void rm_ball_divisor(rm_ball *r, const rm_ball *a, const rm_ball *b) {
  const int64_t ea = rm_ball_lowest_bit(a), eb = rm_ball_lowest_bit(b);
  rm_odd_divisor(r, a, b);
  rm_ball_scale(r, r, ea < eb ? ea : eb);
}
