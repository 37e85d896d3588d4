/* The accurate phase of tanpi: any argument, format and rounding mode, for what the fast phase leaves undecided. Which
 * results are rational: sinpi_accurate.h. */
#pragma once

#include "../sinpi/sinpi_accurate.h"
#include "../tan/tan_mp.h"
#include "tanpi.h"

/* |tan(pi a)| = v 2^e within rm_tanpi_mp_err(n) units, for a as in sinpi_mp.h; *negative when the tangent is. Returns e. As
 * rm_tan_mp, with sines and cosines that may be three times as far off. */
RM_FN uint64_t rm_tanpi_mp_err(int n) { return (uint64_t)(45 * n + 66); }
RM_LONG int rm_tanpi_mp(uint64_t *v, double a, int n, int *negative) {
  uint64_t r[RM_MP_LIMBS];
  int j;
  const int k = rm_sinpi_mp_reduce(r, a, n, &j, negative);
  return rm_tan_mp_reduced(v, r, k, j, n, negative);
}

RM_COLD uint64_t rm_tanpi_mp_round(double a, int flip, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative;
    const int e = rm_tanpi_mp(v, a, n, &negative);
    if (rm_mp_round(negative ^ flip, v, e, rm_tanpi_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}

RM_COLD uint64_t rm_tanpi_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  uint64_t special;
  int k;
  if (rm_special_periodic(x, rm_signed_zero(negative, format), format, flags, &special)) return special;
  const double a = rm_sinpi_part(x);
  if (rm_sinpi_is_whole(4.0 * a, &k)) {
    const int sign = negative ^ (k >> 2 & 1); /* of zeros and poles; of +-1 with the next bit */
    if (!(k & 3)) return rm_signed_zero(sign, format);
    if (!(k & 1)) return rm_pole(sign, format, flags);
    return rm_one_bits(format) | rm_signed_zero(negative ^ (k >> 1 & 1), format);
  }
#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  const int shift = a < 0x1p-900 ? 200 : 0; /* as in sinpi_accurate.h */
  rm_tanpi_dd(a * rm_pow2(shift), &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, -shift, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_tanpi_mp_round(a, negative, format, mode, flags);
}
