/* The accurate phase of normal random numbers: RN(Phi^-1((k + 1/2) 2^-64)) of a 64-bit draw k (spec.md, section 6), in any
 * format and rounding mode. The number z is never infinite, NaN or zero: |z| is between 1.25 2^-64 and 9.2. No flag is
 * raised.
 *
 * With s the top bit of k and j = k or, for s = 1, 2^64 - 1 - k: the probability of the tail is (j + 1/2) 2^-64, 1 - |u| =
 * (2 j + 1) 2^-64 and |u| = (2^64 - 2 j - 1) 2^-64, exact integers of 64 bits, and s = 0 gives a negative number. */
#pragma once

#include "../erfinv/erfinv_mp.h"

/* m 2^-64 = h + l, exactly, h = RN of it. */
RM_FN void rm_normal_parts(uint64_t m, double *h, double *l) {
  *h = (double)m;
  const uint64_t back = *h < 0x1p64 ? (uint64_t)*h : 0; /* modulo 2^64 */
  *l = (double)(int64_t)(m - back) * 0x1p-64;
  *h *= 0x1p-64;
}

RM_COLD uint64_t rm_normal_accurate(uint64_t k, int format, rm_mode mode, uint32_t *flags) {
  const int negative = !(k >> 63);
  const uint64_t mv = 2 * (negative ? k : ~k) + 1, mu = 0 - mv;
  double uh, ul, vh, vl;
  rm_normal_parts(mu, &uh, &ul);
  rm_normal_parts(mv, &vh, &vl);
  const int tail = mv < mu;
  const struct rm_erfinv_target target = {tail ? mv : mu, -64, tail, 1};
  return rm_erfinv_complete(&target, negative, uh, ul, vh, vl, format, mode, flags);
}
