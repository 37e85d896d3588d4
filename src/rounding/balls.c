/* Numbers known to within a radius, rounded under a random mode: what is evaluated in binary64 is rounded here.
 *
 * Let c be a binary64 number whose magnitude lies among the normal numbers of a format, below its last power of two, and d
 * the number of its last bits that the format has not; u = 2^d. The last d bits L of its encoding are the fraction f = L/u,
 * and the bits before them, as an integer, are k with the exponent, to which an addition carries as rounding does. Under w
 *   stochastic: f > (w + 1/2) 2^-32 where L > (w + 1/2) 2^(d-32).
 *     d = 29: 8 L > w + 1/2, so L >= floor(w/8) + 1, and L + R >= u for R = u - 1 - floor(w/8) = floor((2^32 - 1 - w)/8);
 *     d = 42, 45: L >= w 2^(d-32) + 2^(d-33) + 1, so R = (2^32 - 1 - w) 2^(d-32) + 2^(d-33) - 1;
 *   random: R = u - 1 where the top bit of w is 1, else 0.
 * So both ends of a ball are rounded by one addition, and where they agree, since each mode is monotonic for one word, so is
 * the value. Ends of different signs, beyond that range, or infinite are rounded by rm_round_exact. */
#include <float.h>

#include "../common/elements.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "words.h"

enum { GRAIN = 1 << 12 };

typedef struct {
  const double *middle, *radius;
  int format;
  char *out;
  uint8_t *undecided;
  const rm_random_rounding *r;
} problem;

static uint64_t next(uint64_t bits, int up) { /* the neighbour of a finite number, 0 has two: of the sign that leads there */
  if ((bits << 1) == 0) return up ? 1 : UINT64_C(0x8000000000000001);
  return bits >> 63 == (uint64_t)up ? bits - 1 : bits + 1;
}

static uint64_t rounded(uint64_t bits, int format, rm_mode mode, uint32_t *flags) {
  const double c = rm_from_bits64(bits);
  const int negative = (int)(bits >> 63);
  if (c == 0.0) return 0;
  int e;
  const uint64_t m = rm_decompose(c, &e);
  return rm_round_exact(negative, m, e, format, mode, flags);
}

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const problem *p = context;
  const int format = p->format, dropped = 53 - rm_precision(format), size = rm_size_of(format);
  const int stochastic = p->r->mode == RM_ROUND_STOCHASTIC;
  const uint64_t magnitude = ~UINT64_C(0) >> 1, infinity = rm_infinity_bits(RM_FORMAT_F64);
  const uint64_t least = (uint64_t)(1023 + rm_emin(format)) << 52, range = (uint64_t)(rm_emax(format) - rm_emin(format))
                                                                           << 52;
  const uint64_t lift = (uint64_t)(1022 + rm_emin(format)) << (52 - dropped);
  rm_rounding_words words = rm_rounding_words_of(p->r);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    const uint32_t word = rm_rounding_word(&words, p->r->first + i);
    const double c = p->middle[i], r = p->radius ? p->radius[i] : 0.0;
    uint64_t low = rm_bits64(c - r), high = rm_bits64(c + r), bits = 0;
    int unknown = !(r <= DBL_MAX) || !(c <= DBL_MAX && c >= -DBL_MAX);
    if (r > 0.0 && !unknown) { /* c - r and c + r were rounded */
      low = next(low, 0);
      high = next(high, 1);
    }
    unknown |= (low & magnitude) >= infinity || (high & magnitude) >= infinity;
    const uint64_t a = low & magnitude, b = high & magnitude;
    if (RM_LIKELY(!unknown && low >> 63 == high >> 63 && a - least < range && b - least < range)) {
      uint64_t add = word >> 31 ? (UINT64_C(1) << dropped) - 1 : 0;
      if (stochastic)
        add = dropped == 29 ? (uint64_t)(~word >> 3)
                            : ((uint64_t)(uint32_t)~word << (dropped - 32)) + (UINT64_C(1) << (dropped - 33)) - 1;
      bits = (a + add) >> dropped;
      unknown = bits != (b + add) >> dropped;
      bits = (bits - lift) | (low >> 63 ? rm_sign_bit(format) : 0);
    } else if (!unknown) {
      const rm_mode mode = rm_random_mode(p->r->mode, word);
      uint32_t one = 0, other = 0;
      bits = rounded(low, format, mode, &one);
      unknown = bits != rounded(high, format, mode, &other) || one != other;
      if (!unknown) flags |= one;
    }
    if (unknown) bits = 0;
    rm_write_bits(p->out + i * size, bits, format);
    p->undecided[i] = (uint8_t)unknown;
  }
  return flags;
}

rm_status rm_random_balls(int format, int64_t n, const double *middle, const double *radius, void *out, uint8_t *undecided,
                          const rm_random_rounding *r) {
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  const rm_status status = rm_rounding_check(r, n, 7);
  if (status) return status;
  if (r->mode == RM_ROUND_UP_DOWN) return RM_STATUS(RM_ERR_ENUM, 7);
  if (n == 0) return RM_OK;
  if (!middle) return RM_STATUS(RM_ERR_NULL, 3);
  if (!out) return RM_STATUS(RM_ERR_NULL, 5);
  if (!undecided) return RM_STATUS(RM_ERR_NULL, 6);
  const problem p = {middle, radius, format, out, undecided, r};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(n, GRAIN, part, &p));
  return RM_OK;
}

typedef struct {
  int format;
  char *x;
  const rm_random_rounding *r;
} steps;

static uint32_t step_part(const void *context, int64_t begin, int64_t end) {
  const steps *p = context;
  const int size = rm_size_of(p->format);
  rm_rounding_words words = rm_rounding_words_of(p->r);
  for (int64_t i = begin; i < end; i++) {
    char *x = p->x + i * size;
    const uint32_t word = rm_rounding_word(&words, p->r->first + i);
    rm_write_bits(x, rm_round_up_down(rm_read_bits(x, p->format), p->format, word), p->format);
  }
  return 0;
}

rm_status rm_random_steps(int format, int64_t n, void *x, const rm_random_rounding *r) {
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F64) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  const rm_status status = rm_rounding_check(r, n, 4);
  if (status) return status;
  if (r->mode != RM_ROUND_UP_DOWN) return RM_STATUS(RM_ERR_ENUM, 4);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 3);
  const steps p = {format, x, r};
  rm_in_parts(n, GRAIN, step_part, &p);
  return RM_OK;
}
