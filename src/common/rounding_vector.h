/* Vectors of numbers known to within a radius, rounded under a random mode.
 *
 * Let c be a binary64 number whose magnitude lies among the normal numbers of a format, below its last power of two, and d
 * the number of its last bits that the format has not; u = 2^d. The last d bits L of its encoding are the fraction f = L/u,
 * and the bits before them, as an integer, are k with the exponent, to which an addition carries as rounding does. Under w
 *   stochastic: f > (w + 1/2) 2^-32 where L > (w + 1/2) 2^(d-32).
 *     d = 29: 8 L > w + 1/2, so L >= floor(w/8) + 1, and L + R >= u for R = u - 1 - floor(w/8) = floor((2^32 - 1 - w)/8);
 *     d = 42, 45: L >= w 2^(d-32) + 2^(d-33) + 1, so R = (2^32 - 1 - w) 2^(d-32) + 2^(d-33) - 1;
 *   random: R = u - 1 where the top bit of w is 1, else 0.
 * So both ends of a ball are rounded by one addition, and where they agree, since each mode is monotonic for one word, so is
 * the value. Ends that are rounded themselves, c - r and c + r, are moved by one number outwards where r is not 0. All this
 * is done on magnitudes: rounding to nearest is symmetric. Lanes whose ends have different signs, lie beyond that range or
 * are not finite are left to rm_round_within. */
#ifndef RM_COMMON_ROUNDING_VECTOR_H /* a name, so that a proof can put something else in its place */
#define RM_COMMON_ROUNDING_VECTOR_H

#include <float.h>

#include "../../crlibm/simd/machine.h"
#include "elements.h"
#include "rounding_words.h"

/* Elements whose words are made together. */
enum { RM_WORDS_CHUNK = 512, RM_WORDS_BLOCKS = RM_WORDS_CHUNK / 4 + 1 };

typedef struct {
  uint64_t draws[2 * (RM_WORDS_BLOCKS + RM_PHILOX_STEP)];
  int64_t add[RM_WORDS_CHUNK + RM_LANES]; /* R of each element */
  const uint32_t *word; /* the words, in `draws` */
} rm_words_chunk;

/* The words of elements [element, element + n) of a stream, at most RM_WORDS_CHUNK. */
RM_STATIC void rm_words_fill(rm_words_chunk *c, uint64_t seed, uint64_t stream, int64_t element, int64_t n) {
  const int skip = (int)(element & 3);
  const int64_t blocks = (skip + n + 3) / 4;
  rm_philox_fill(seed, stream, RM_ROUNDING_COUNTER + ((uint64_t)element >> 2),
                 (blocks + RM_PHILOX_STEP - 1) / RM_PHILOX_STEP * RM_PHILOX_STEP, c->draws);
  c->word = (const uint32_t *)(const void *)c->draws + skip;
}

/* The word of the chunk's element i. */
RM_FN uint32_t rm_chunk_word(const rm_words_chunk *c, int64_t i) {
  uint32_t w;
  __builtin_memcpy(&w, (const char *)c->word + 4 * i, 4);
  return w;
}

/* RM_LANES neighbouring words. */
RM_FN vi64 rm_words_vector(const void *at) { return vi64_load_u32(at); }

/* R of words. */
RM_FN vi64 rm_addends(vi64 w, const int stochastic, const int dropped) {
  const vi64 rest = vi64_xor(w, vi64_set1(0xffffffff));
  if (!stochastic) return vi64_and(vi64_sub(vi64_set1(0), vi64_srl(w, 31)), vi64_set1((INT64_C(1) << dropped) - 1));
  if (dropped == 29) return vi64_srl(rest, 3);
  if (dropped == 42) return vi64_add(vi64_sll(rest, 10), vi64_set1((1 << 9) - 1));
  return vi64_add(vi64_sll(rest, 13), vi64_set1((1 << 12) - 1));
}

/* R of each of the chunk's words, and of what stands behind them up to a whole vector. */
RM_STATIC void rm_words_addends(rm_words_chunk *c, int64_t n, const int stochastic, const int dropped) {
  for (int64_t i = 0; i < n; i += RM_LANES)
    vi64_store(c->add + i, rm_addends(rm_words_vector(c->word + i), stochastic, dropped));
}

/* Values within r >= 0 of c, with the R of their words: *y is the rounded number, or a zero of c's sign where the value is
 * exactly 0. Returns the lanes that are left. */
RM_FN vm64 rm_round_ball_vector(vf64 c, vf64 r, vi64 add, const int fmt, vf64 *y) {
  const int dropped = 53 - rm_precision(fmt);
  const int64_t kept = -(INT64_C(1) << dropped);
  const vi64 least = vi64_set1((int64_t)(1023 + rm_emin(fmt)) << 52);
  const vi64 range = vi64_set1((int64_t)(rm_emax(fmt) - rm_emin(fmt)) << 52);
  const vf64 size = vf64_abs(c), zero = vf64_set1(0.0);
  const vi64 sign = vi64_xor(vf64_bits(c), vf64_bits(size));
  const vi64 outwards = vf64_bits(vf64_select(vf64_eq(r, zero), zero, vf64_from_bits(vi64_set1(1))));
  const vi64 low = vi64_sub(vf64_bits(vf64_sub(size, r)), outwards), high = vi64_add(vf64_bits(vf64_add(size, r)), outwards);
  const vi64 a = vi64_add(low, add), b = vi64_add(high, add);
  const vm64 normal = vm64_and(vi64_ltu(vi64_sub(low, least), range), vi64_ltu(vi64_sub(high, least), range));
  const vm64 same = vi64_ltu(vi64_xor(a, b), vi64_set1(-kept));
  const vm64 nothing = vi64_eq(high, vi64_set1(0)); /* |c| + r = 0 */
  const vf64 rounded = vf64_from_bits(vi64_or(vi64_and(a, vi64_set1(kept)), sign));
  *y = vf64_select(nothing, c, rounded);
  return vm64_not(vm64_or(nothing, vm64_and(normal, same)));
}

/* --- what vectors leave */

RM_STATIC uint64_t rm_round_random(double c, int format, rm_mode mode, uint32_t *flags) {
  if (c == 0.0) return 0;
  int e;
  const uint64_t m = rm_decompose(c, &e);
  return rm_round_exact((int)(rm_bits64(c) >> 63), m, e, format, mode, flags);
}

/* One element between low and high: rounded under its word, into *bits. Returns whether that is undecided, or an end is not
 * finite; else adds to *flags. */
RM_STATIC int rm_round_between(double low, double high, int format, rm_mode mode, uint64_t *bits, uint32_t *flags) {
  if (!(low >= -DBL_MAX && high <= DBL_MAX)) return 1;
  uint32_t one = 0, other = 0;
  *bits = rm_round_random(low, format, mode, &one);
  if (*bits != rm_round_random(high, format, mode, &other) || one != other) return 1;
  *flags |= one;
  return 0;
}

/* The next number below x, which is not -infinity. */
RM_STATIC double rm_next_below(double x) {
  const uint64_t bits = rm_bits64(x);
  return x == 0.0 ? -0x1p-1074 : rm_from_bits64(x > 0.0 ? bits - 1 : bits + 1);
}

/* The same for a value within r >= 0 of c. */
RM_STATIC int rm_round_within(double c, double r, int format, rm_mode mode, uint64_t *bits, uint32_t *flags) {
  if (!(r <= DBL_MAX) || !(c <= DBL_MAX && c >= -DBL_MAX)) return 1;
  const double low = c - r, high = c + r;
  if (r > 0.0) return rm_round_between(rm_next_below(low), -rm_next_below(-high), format, mode, bits, flags);
  return rm_round_between(low, high, format, mode, bits, flags);
}

#endif
