/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), the generator of
 * spec.md, section 6: the block of four 32-bit words at a counter of 128 bits (a counter of 64 bits, then the stream) under
 * a key of 64 bits (the seed); low words first.
 *
 * A round multiplies words 0 and 2 by constants and mixes the halves of the products into the other words. A lane holds one
 * counter, each word in the low half of 64 bits. What the high halves hold does not matter: a product takes low halves
 * only, and exclusive or keeps bits apart. So neither product needs to be split. */
#ifndef RM_COMMON_PHILOX_H /* a name, so that a test can put a changed copy in its place */
#define RM_COMMON_PHILOX_H

#include "../../crlibm/simd/simd.h"

#define RM_PHILOX_M0 0xd2511f53u
#define RM_PHILOX_M1 0xcd9e8d57u
#define RM_PHILOX_W0 0x9e3779b9u
#define RM_PHILOX_W1 0xbb67ae85u
enum { RM_PHILOX_ROUNDS = 10 };

/* One block as two 64-bit draws: words 0 and 1, words 2 and 3, low word first. */
RM_FN void rm_philox_block(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t out[2]) {
  uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int r = 0; r < RM_PHILOX_ROUNDS; r++, k0 += RM_PHILOX_W0, k1 += RM_PHILOX_W1) {
    const uint64_t p0 = (uint64_t)RM_PHILOX_M0 * c0, p1 = (uint64_t)RM_PHILOX_M1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
  }
  out[0] = (uint64_t)c1 << 32 | c0, out[1] = (uint64_t)c3 << 32 | c2;
}

/* Vectors of counters at a time: enough to hide the latency of a product, few enough for the registers. */
#if RM_SIMD == RM_SIMD_AVX512
enum { RM_PHILOX_GROUP = 4 };
#else
enum { RM_PHILOX_GROUP = 2 };
#endif
enum { RM_PHILOX_STEP = RM_PHILOX_GROUP * RM_LANES }; /* blocks that are made together */

/* The blocks at `group` vectors of counters of a stream, whose halves s0 and s1 are; as draws, in the order of
 * vi64_pair_numbers. */
RM_FN void rm_philox_group(uint64_t seed, vi64 s0, vi64 s1, const vi64 *counter, const int group, uint64_t *out) {
  const vi64 m0 = vi64_set1(RM_PHILOX_M0), m1 = vi64_set1(RM_PHILOX_M1), low = vi64_set1(0xffffffff);
  vi64 c0[RM_PHILOX_GROUP], c1[RM_PHILOX_GROUP], c2[RM_PHILOX_GROUP], c3[RM_PHILOX_GROUP];
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  RM_UNROLL
  for (int g = 0; g < group; g++) c0[g] = counter[g], c1[g] = vi64_srl(counter[g], 32), c2[g] = s0, c3[g] = s1;
  RM_UNROLL
  for (int r = 0; r < RM_PHILOX_ROUNDS; r++) {
    const vi64 v0 = vi64_set1(k0), v1 = vi64_set1(k1);
    RM_UNROLL
    for (int g = 0; g < group; g++) {
      const vi64 p0 = vi64_mul_low(m0, c0[g]), p1 = vi64_mul_low(m1, c2[g]);
      c0[g] = vi64_xor(vi64_xor(vi64_srl(p1, 32), c1[g]), v0), c1[g] = p1;
      c2[g] = vi64_xor(vi64_xor(vi64_srl(p0, 32), c3[g]), v1), c3[g] = p0;
    }
    k0 += RM_PHILOX_W0, k1 += RM_PHILOX_W1;
  }
  RM_UNROLL
  for (int g = 0; g < group; g++) {
    const vi64 a = vi64_or(vi64_and(c0[g], low), vi64_sll(c1[g], 32));
    vi64_store_pairs((int64_t *)out, a, vi64_or(vi64_and(c2[g], low), vi64_sll(c3[g], 32)));
    out += 2 * RM_LANES;
  }
}

/* The blocks at counter, counter + 1, ... as draws; blocks is a multiple of RM_PHILOX_STEP. */
RM_FN void rm_philox_fill(uint64_t seed, uint64_t stream, uint64_t counter, int64_t blocks, uint64_t *out) {
  const vi64 s0 = vi64_set1((int64_t)stream), s1 = vi64_srl(s0, 32);
  vi64 next = vi64_add(vi64_set1((int64_t)counter), vi64_pair_numbers());
  for (int64_t b = 0; b < blocks; b += RM_PHILOX_STEP, out += 2 * RM_PHILOX_STEP) {
    vi64 at[RM_PHILOX_GROUP];
    RM_UNROLL
    for (int g = 0; g < RM_PHILOX_GROUP; g++) at[g] = next, next = vi64_add(next, vi64_set1(RM_LANES));
    rm_philox_group(seed, s0, s1, at, RM_PHILOX_GROUP, out);
  }
}

/* The blocks at any counters, of whole vectors; counter b lies at counter[rm_philox_place(b)]. */
RM_FN int64_t rm_philox_place(int64_t b) { /* the lane whose number is b */
  const int l = (int)(b % RM_LANES);
  return RM_LANES == 1 ? b : b - l + (l < RM_LANES / 2 ? 2 * l : 2 * l - RM_LANES + 1);
}
RM_FN void rm_philox_fill_at(uint64_t seed, uint64_t stream, const int64_t *counter, int64_t blocks, uint64_t *out) {
  const vi64 s0 = vi64_set1((int64_t)stream), s1 = vi64_srl(s0, 32);
  for (; blocks >= RM_PHILOX_STEP; blocks -= RM_PHILOX_STEP, counter += RM_PHILOX_STEP, out += 2 * RM_PHILOX_STEP) {
    vi64 at[RM_PHILOX_GROUP];
    RM_UNROLL
    for (int g = 0; g < RM_PHILOX_GROUP; g++) at[g] = vi64_load(counter + g * RM_LANES);
    rm_philox_group(seed, s0, s1, at, RM_PHILOX_GROUP, out);
  }
  if (blocks >= 2 * RM_LANES) {
    const vi64 at[2] = {vi64_load(counter), vi64_load(counter + RM_LANES)};
    rm_philox_group(seed, s0, s1, at, 2, out);
    blocks -= 2 * RM_LANES, counter += 2 * RM_LANES, out += 4 * RM_LANES;
  }
  if (blocks) {
    const vi64 at = vi64_load(counter);
    rm_philox_group(seed, s0, s1, &at, 1, out);
  }
}

#endif
