/* Rounding of the numbers of ball.h. */
#pragma once

/* The ends of an interval, rounded: `near` is the one of smaller magnitude. */
typedef struct {
  uint64_t near, far; /* bits of the format */
  uint32_t near_flags, far_flags;
  int zero; /* the interval holds 0 */
} rm_ball_ends;

/* t 2^e rounded, t of `length` limbs; zero is +0. */
RM_FN uint64_t rm_limbs_round(int negative, const uint64_t *t, int length, int64_t e, int format, rm_mode mode,
                              uint32_t *flags) {
  int64_t at;
  if (rm_limbs_length(t, length) == 0) return 0;
  const rm_u128 m = rm_mp_sticky(t, length - 1, &at);
  return rm_round_exact(negative, m, e + 64 * (int64_t)(length - 1) + at, format, mode, flags);
}

/* 0 when nothing is known of a. One limb is added below, so that the error counts at least one unit. */
RM_FN int rm_ball_round_ends(const rm_ball *a, int format, rm_mode mode, rm_ball_ends *ends) {
  enum { LIMBS = RM_BALL_LIMBS + 4 };
  RM_BIG(uint64_t, t, LIMBS);
  RM_BIG(uint64_t, off, LIMBS);
  RM_BIG(uint64_t, low, LIMBS);
  if (rm_ball_is_unknown(a)) return 0;
  const int length = (a->length > 2 ? a->length : 2) + 2;
  const int64_t e = a->e - 64;
  rm_ball_place(t, length, a, e);
  const double err = RM_BOUND(a->err);
  const uint64_t whole = err < 0x1p63 ? (uint64_t)err : 0; /* err 2^64, rounded up */
  const double rest = (err - (double)whole) * 0x1p64; /* exact; below 2^64 when err < 2^63 */
  for (int i = 0; i < length; i++) off[i] = 0;
  if (err < 0x1p63) {
    off[1] = whole;
    off[0] = (uint64_t)rest;
    if ((double)off[0] < rest && ++off[0] == 0) off[1]++;
  } else { /* below 2^66, a multiple of 4 */
    off[1] = (uint64_t)(err * 0.25) << 2;
    off[2] = (uint64_t)(err * 0.25) >> 62;
  }
  ends->near_flags = ends->far_flags = 0;
  ends->zero = !rm_mp_less(off, t, length - 1);
  if (ends->zero) rm_mp_sub(low, off, t, length - 1);
  else rm_mp_sub(low, t, off, length - 1);
  rm_mp_add(t, t, off, length - 1);
  const int crosses = ends->zero ? !a->negative : a->negative;
  ends->near = rm_limbs_round(crosses, low, length, e, format, mode, &ends->near_flags);
  ends->far = rm_limbs_round(a->negative, t, length, e, format, mode, &ends->far_flags);
  return 1;
}

/* 1 when every number that a may be rounds alike: then to *bits, raising flags; a zero becomes +0. */
RM_SHARED int rm_ball_round(const rm_ball *a, int format, rm_mode mode, uint32_t *flags, uint64_t *bits);

/* The same for a value of which the caller has proved that it is a boundary of rounding or at least 2^separation away from
 * every one: then an interval that is narrower, and holds a boundary, stands for that boundary. Boundaries are 0 and, to
 * nearest, the midpoints of numbers, else the numbers themselves. Returns 0, with nothing in *bits or *flags to use, where
 * the interval is wider or holds more than one: the value is undecided, and the caller has to go on or to say so.
 *
 * Intervals are closed: the value may be an end, and so may the boundary. With err below 2^k the ends that are rounded are at
 * most 2^k units from the middle, and the value less than that: so value and boundary are less than 2^(k + 1) units apart,
 * which must be no more than 2^separation. A boundary at an end that rounds to the side of the interval changes nothing,
 * since all that the ball may be rounds alike then. */
RM_SHARED int rm_ball_round_separated(const rm_ball *a, int64_t separation, int format, rm_mode mode, uint32_t *flags,
                                      uint64_t *bits);

#if RM_DEFINES_SHARED
RM_SHARED int rm_ball_round(const rm_ball *a, int format, rm_mode mode, uint32_t *flags, uint64_t *bits) {
  rm_ball_ends ends;
  *bits = 0;
  if (!rm_ball_round_ends(a, format, mode, &ends)) return 0;
  *bits = ends.near;
  if (ends.near != ends.far || ends.near_flags != ends.far_flags) return 0;
  *flags |= ends.near_flags;
  return 1;
}

RM_SHARED int rm_ball_round_separated(const rm_ball *a, int64_t separation, int format, rm_mode mode, uint32_t *flags,
                                      uint64_t *bits) {
  rm_ball_ends ends;
  if (rm_ball_round(a, format, mode, flags, bits)) return 1;
  if (rm_ball_is_unknown(a) || a->err == 0.0) return 0;
  if (a->e + rm_ball_exponent(a->err) + 2 > separation) return 0;
  rm_ball_round_ends(a, format, RM_NEAREST, &ends);
  const uint64_t sign = rm_sign_bit(format);
  if (ends.zero) {
    *bits = 0;
    return ((ends.near | ends.far) & ~sign) == 0;
  }
  rm_ball_round_ends(a, format, mode, &ends);
  if (ends.far != ends.near + 1) return 0;
  const int away = mode == (a->negative ? RM_DOWN : RM_UP);
  const int far = mode == RM_NEAREST ? (ends.near & 1) != 0 : !away;
  *bits = far ? ends.far : ends.near;
  *flags |= far ? ends.far_flags : ends.near_flags;
  return 1;
}
#endif
