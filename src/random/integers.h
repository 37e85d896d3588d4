/* The bodies of the loops for words, draws, Bernoulli trials and integers. */
#pragma once

#include "chunks.h"

RM_FN uint32_t rm_make_words32(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                               const int fmt) {
  (void)problem, (void)from, (void)fmt;
  __builtin_memcpy(out, random, 4 * (size_t)n);
  return 0;
}
RM_FN uint32_t rm_make_words64(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                               const int fmt) {
  (void)problem, (void)from, (void)fmt;
  __builtin_memcpy(out, random, 8 * (size_t)n);
  return 0;
}

RM_FN uint32_t rm_make_bernoulli(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                                 const int fmt) {
  const uint64_t limit = problem->drop.limit;
  (void)from, (void)fmt;
  for (int i = 0; i < n; i++) out[i] = rm_draw_at(random, i) >> 11 < limit;
  return 0;
}

/* The 128 bits that follow the draw of element i: the block at counter 2^63 + i. Draws and words of elements below 2^63 have
 * counters below 2^62, so no block serves twice. */
RM_FN void rm_more_bits(uint64_t seed, uint64_t stream, int64_t i, uint64_t more[2]) {
  rm_philox_block(seed, stream, (uint64_t)i | UINT64_C(1) << 63, more);
}

/* floor(count U), U = (d 2^128 + e) 2^-192: d the draw, e = more[0] 2^64 + more[1] the bits that follow. With count d = h
 * 2^64 + l the result is h, or h + 1 when l plus the part of count e above 2^128 reaches 2^64. */
RM_COLD uint64_t rm_scaled_integer(const rm_random_problem *problem, int64_t i, uint64_t d) {
  const uint64_t count = problem->integers.count;
  const rm_u128 product = (rm_u128)count * d;
  uint64_t more[2];
  rm_more_bits(problem->seed, problem->stream, problem->first + i, more);
  const rm_u128 tail = (rm_u128)count * more[0] + (uint64_t)(((rm_u128)count * more[1]) >> 64);
  return (uint64_t)((product + (uint64_t)(tail >> 64)) >> 64);
}

/* e is below 2^128, so it adds less than count to l: it matters only when l > 2^64 - count. */
RM_FN uint64_t rm_integer(const rm_random_problem *problem, int64_t i, uint64_t d) {
  const uint64_t count = problem->integers.count;
  if (count == 0) return d;
  const rm_u128 product = (rm_u128)count * d;
  return RM_LIKELY((uint64_t)product <= 0 - count) ? (uint64_t)(product >> 64) : rm_scaled_integer(problem, i, d);
}

/* A count below 2^32: two products of 32 bits, count d = (count dh + (count dl >> 32)) 2^32 + (count dl mod 2^32). */
RM_FN uint32_t rm_make_integers(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                                const int fmt) {
  (void)fmt;
  const uint64_t count = problem->integers.count;
  int i = 0;
  if (count != 0 && count >> 32 == 0) {
    const vi64 c = vi64_set1((int64_t)count), low = vi64_set1(problem->integers.low), ones = vi64_set1(0xffffffff);
    const vi64 limit = vi64_set1((int64_t)(0 - count));
    for (; i + RM_LANES <= n; i += RM_LANES) {
      const vi64 d = rm_load_draws(random, i), small = vi64_mul_low(c, d);
      const vi64 big = vi64_add(vi64_mul_low(c, vi64_srl(d, 32)), vi64_srl(small, 32));
      const vi64 l = vi64_or(vi64_sll(big, 32), vi64_and(small, ones));
      vi64_store((int64_t *)(void *)(out + 8 * i), vi64_add(low, vi64_srl(big, 32)));
      uint32_t undecided = vm64_bits(vi64_ltu(limit, l));
      for (int k = 0; RM_UNLIKELY(undecided >> k); k++)
        if (undecided >> k & 1u) {
          const uint64_t r =
              (uint64_t)problem->integers.low + rm_scaled_integer(problem, from + i + k, rm_draw_at(random, i + k));
          __builtin_memcpy(out + 8 * (i + k), &r, 8);
        }
    }
  }
  for (; i < n; i++) {
    const uint64_t r = (uint64_t)problem->integers.low + rm_integer(problem, from + i, rm_draw_at(random, i));
    __builtin_memcpy(out + 8 * i, &r, 8);
  }
  return 0;
}
