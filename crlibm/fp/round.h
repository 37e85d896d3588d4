/* The one place where a real number, known exactly or up to an error, becomes the bits of a format in a rounding mode.
 *
 * Everything here is integer arithmetic on magnitudes: value = (-1)^negative m 2^e. Overflow and gradual underflow are those
 * of IEEE 754; RM_FLAG_OVERFLOW is raised when the value rounded with an unbounded exponent exceeds the largest finite
 * number. */
#pragma once

#include "bits.h"

typedef unsigned __int128 rm_u128;

/* What defines a format: the bits of the significand, the hidden one included, and the exponents of normal numbers. */
RM_FN int rm_precision(int format) { return format == RM_F64 ? 53 : format == RM_F32 ? 24 : format == RM_F16 ? 11 : 8; }
RM_FN int rm_emax(int format) { return format == RM_F64 ? 1023 : format == RM_F16 ? 15 : 127; }
RM_FN int rm_emin(int format) { return 1 - rm_emax(format); }

/* Named values are given as bits of the format. */
RM_FN uint64_t rm_sign_bit(int format) { return UINT64_C(1) << (format == RM_F64 ? 63 : format == RM_F32 ? 31 : 15); }
RM_FN uint64_t rm_infinity_bits(int format) { return (uint64_t)(2 * rm_emax(format) + 1) << (rm_precision(format) - 1); }
RM_FN uint64_t rm_nan_bits(int format) { /* the canonical one */
  return rm_infinity_bits(format) | UINT64_C(1) << (rm_precision(format) - 2);
}
RM_FN uint64_t rm_max_finite_bits(int format) { return rm_infinity_bits(format) - 1; }
RM_FN uint64_t rm_one_bits(int format) { return (uint64_t)rm_emax(format) << (rm_precision(format) - 1); }

/* The bytes of a number of the format. */
RM_FN int rm_size_of(int format) { return format == RM_F64 ? 8 : format == RM_F32 ? 4 : 2; }

/* Whether the bits are a signalling NaN: above infinity and below the first quiet NaN. A conversion would quiet it, so the
 * bits in memory are asked. */
RM_FN int rm_is_signalling(uint64_t bits, int format) {
  uint64_t size = bits & (rm_sign_bit(format) - 1);
  return size > rm_infinity_bits(format) && size < rm_nan_bits(format);
}

/* The number that the bits of a format stand for; the conversion is exact. */
RM_FN double rm_to_double(uint64_t bits, int format) {
  if (format == RM_F64) return rm_from_bits64(bits);
  if (format == RM_F32) return (double)rm_from_bits32((uint32_t)bits);
  if (format == RM_F16) return (double)rm_f16_to_f32((uint16_t)bits);
  return (double)rm_bf16_to_f32((uint16_t)bits);
}

/* |x| = m 2^e with 2^52 <= m < 2^53, for finite x != 0. */
RM_FN uint64_t rm_decompose(double x, int *e) {
  uint64_t b = rm_bits64(x) & UINT64_C(0x7fffffffffffffff), m = b & UINT64_C(0xfffffffffffff);
  int biased = (int)(b >> 52);
  if (biased == 0) {
    int s = rm_clz64(m) - 11;
    *e = -1074 - s;
    return m << s;
  }
  *e = biased - 1075;
  return m | UINT64_C(1) << 52;
}

RM_FN int rm_clz128(rm_u128 m) {
  uint64_t high = (uint64_t)(m >> 64);
  return high ? rm_clz64(high) : 64 + rm_clz64((uint64_t)m);
}

/* The result that overflow gives in each rounding mode. */
RM_FN uint64_t rm_overflow(int negative, int format, rm_mode mode, uint32_t *flags) {
  const int kind = rm_mode_kind(mode); /* what is beyond 2^(emax+1) has two infinite neighbours under the random modes */
  int away = kind == RM_NEAREST || kind >= RM_STOCHASTIC || (kind == RM_UP && !negative) || (kind == RM_DOWN && negative);
  *flags |= RM_FLAG_OVERFLOW;
  return (away ? rm_infinity_bits(format) : rm_max_finite_bits(format)) | (negative ? rm_sign_bit(format) : 0);
}

/* Whether `near` is so near to a number of a format that no boundary of rounding but that number lies within: `near` is a
 * bound that suffices for boundaries of p + 1 bits, `nearer` one for those of p + 33 bits, which stochastic rounding has. */
RM_FN int rm_is_near(double size, double near, double nearer, rm_mode mode) {
  return size <= (rm_mode_kind(mode) == RM_STOCHASTIC ? nearer : near);
}
/* The binary digits that boundaries of rounding have more under stochastic rounding than under the other modes. */
RM_FN int rm_more_digits(rm_mode mode) { return rm_mode_kind(mode) == RM_STOCHASTIC ? 33 : 0; }

/* Whether f, m of s > 0 bits of fraction, exceeds the threshold (w + 1/2) 2^-32 (spec.md, section 1a). It is t = 2w + 1 units
 * of 2^-33, of which f has d whole ones. */
RM_FN int rm_exceeds_threshold(rm_u128 m, int64_t s, uint32_t word) {
  const uint64_t t = ((uint64_t)word << 1) + 1;
  if (s > 160) return 0; /* m < 2^128: f < 2^-32/2 <= every threshold */
  const int64_t down = s - 33;
  if (s < 128) m &= ((rm_u128)1 << s) - 1;
  if (down <= 0) return (uint64_t)m << -down > t;
  const uint64_t d = down < 128 ? (uint64_t)(m >> down) : 0;
  return d > t || (d == t && (m & (((rm_u128)1 << down) - 1)) != 0); /* d = t > 0: down < 128 */
}

/* (-1)^negative m 2^e, m != 0, rounded once.
 *
 * The last bit of m may be sticky: every boundary of rounding (a number of the format or a midpoint of two) has at most 54
 * significant bits. So a number that lies strictly between the integers m and m+1, in units of 2^e, with m of at least 56
 * bits, may be passed as m | 1: no boundary separates the two. Under stochastic rounding boundaries have at most p + 33 bits,
 * 86 in binary64, and m at least p + 34: units are then at most half of those in which thresholds are integers. */
RM_LONG uint64_t rm_round_exact(int negative, rm_u128 m, int64_t e, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emin = rm_emin(format);
  const int top = 127 - rm_clz128(m);
  int64_t exponent = e + top; /* 2^exponent <= value < 2^(exponent+1) */
  uint64_t q, bits;
  int half, below, up;
  if (exponent > rm_emax(format)) return rm_overflow(negative, format, mode, flags);
  if (exponent < emin) exponent = emin;
  int64_t s = exponent - (p - 1) - e; /* the quantum is 2^s units */
  if (s > top + 1) { /* below half a quantum */
    q = 0;
    half = 0;
    below = 1;
  } else if (s <= 0) { /* exact; top - s <= p-1, so it fits */
    q = (uint64_t)m << -s;
    half = below = 0;
  } else { /* s <= 128; two shifts, since one by 128 is undefined */
    rm_u128 h = m >> (s - 1);
    q = (uint64_t)(h >> 1);
    half = (int)(h & 1);
    below = (h << (s - 1)) != m;
  }
  switch (rm_mode_kind(mode)) {
    case RM_NEAREST: up = half & (below | (int)(q & 1)); break;
    case RM_STOCHASTIC: up = s > 0 && rm_exceeds_threshold(m, s, rm_mode_word(mode)); break;
    case RM_RANDOM: up = (half | below) & (int)(rm_mode_word(mode) >> 31); break;
    default: up = (half | below) & (mode == (negative ? RM_DOWN : RM_UP));
  }
  /* q has its hidden bit when the result is normal: it adds one to the exponent field. A carry does the same. */
  bits = ((uint64_t)(exponent - emin) << (p - 1)) + q + (uint64_t)up;
  if (bits >= rm_infinity_bits(format)) return rm_overflow(negative, format, mode, flags);
  return bits | (negative ? rm_sign_bit(format) : 0);
}

/* The same for a value strictly within (m-err, m+err) 2^e; err = 0 means exactly m 2^e. *undecided becomes 1, and the
 * result and the flags mean nothing, when the ends of the interval do not round alike; else 0. */
RM_LONG uint64_t rm_round_bits(int negative, rm_u128 m, int64_t e, rm_u128 err, int format, rm_mode mode, uint32_t *flags,
                               int *undecided) {
  uint32_t low_flags = 0, high_flags = 0;
  uint64_t low, high;
  *undecided = 0;
  if (err == 0) return rm_round_exact(negative, m, e, format, mode, flags);
  *undecided = 1;
  if (err >= m) return 0;
  /* Two free bits at the top; then a unit is far below every boundary, and m-err+1/2 lies with m-err+anything in (0,1). */
  int s = rm_clz128(m) - 2;
  if (s >= 0) {
    m <<= s;
    if (err >> (126 - s)) return 0;
    err <<= s;
  } else { /* the value is within (m'-err', m'+err') for m' = floor(m 2^s) and err' = floor(err 2^s) + 2 */
    m >>= -s;
    err = (err >> -s) + 2;
  }
  if (err >= m) return 0;
  low = rm_round_exact(negative, 2 * (m - err) + 1, e - s - 1, format, mode, &low_flags);
  high = rm_round_exact(negative, 2 * (m + err) - 1, e - s - 1, format, mode, &high_flags);
  if (low != high || low_flags != high_flags) return 0;
  *undecided = 0;
  *flags |= low_flags;
  return low;
}

/* A number a hair (but not at all) above (side 1) or below (side -1) x 2^k in magnitude, or just that (side 0); x is finite
 * and not 0. The hair is less than 2^-54 of it: nearer than the next boundary of any format. Below a power of two the next
 * boundary is a quarter of an ulp away, and an ulp of binary64 is at least 2^-53 of the number. Under stochastic rounding it
 * must be less than 2^-88, since the least distance is 2^-34 of an ulp (rm_is_near). */
RM_LONG uint64_t rm_round_beside_scaled(double x, int k, int side, int format, rm_mode mode, uint32_t *flags) {
  int e;
  const rm_u128 m = (rm_u128)rm_decompose(x, &e) << 60;
  return rm_round_exact((int)(rm_bits64(x) >> 63), side > 0 ? m + 1 : side < 0 ? m - 1 : m, e - 60 + k, format, mode, flags);
}

/* A hair above or below x in magnitude. */
RM_FN uint64_t rm_round_beside(double x, int above, int format, rm_mode mode, uint32_t *flags) {
  return rm_round_beside_scaled(x, 0, above ? 1 : -1, format, mode, flags);
}

/* |hi + lo| is within (m - margin, m + margin) 2^e when hi + lo is known closer than |err|, just m 2^e when err = 0 and
 * margin = 0. hi is not 0, |lo| and |err| are at most 2^-9 |hi|, all are finite: 2^122 < m < 2^125, margin < 2^117. */
RM_FN void rm_decompose_dd(double hi, double lo, double err, rm_u128 *m, rm_u128 *margin, int *e) {
  int el;
  const int negative = (int)(rm_bits64(hi) >> 63);
  /* Units of 2^e: hi is in [2^123, 2^124) of them; lo and err are below 2^116, their least bits at 2^62 or lower. */
  *m = (rm_u128)rm_decompose(hi, e) << 71, *margin = 0;
  *e -= 71;
  if (lo != 0.0) {
    const uint64_t ml = rm_decompose(lo, &el);
    const int s = el - *e;
    const rm_u128 t = s >= 0 ? (rm_u128)ml << s : s > -64 ? ml >> -s : 0;
    if (s < 0) *margin = 1; /* what was cut off */
    *m = (int)(rm_bits64(lo) >> 63) == negative ? *m + t : *m - t;
  }
  if (err != 0.0) {
    const uint64_t me = rm_decompose(err, &el);
    const int s = el - *e;
    *margin += s >= 0 ? (rm_u128)me << s : (s > -64 ? me >> -s : 0) + 1;
  }
}

/* (hi + lo) 2^k, as in rm_decompose_dd. */
RM_LONG uint64_t rm_round_dd(double hi, double lo, double err, int k, int format, rm_mode mode, uint32_t *flags,
                             int *undecided) {
  rm_u128 m, margin;
  int e;
  rm_decompose_dd(hi, lo, err, &m, &margin, &e);
  return rm_round_bits((int)(rm_bits64(hi) >> 63), m, e + k, margin, format, mode, flags, undecided);
}
