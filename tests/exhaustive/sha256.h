/* SHA-256 (FIPS 180-4) of long streams, with the SHA instructions of x86 where the CPU has them: 16 GiB a function are
 * hashed. */
#ifndef RM_EXHAUSTIVE_SHA256_H
#define RM_EXHAUSTIVE_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

struct sha256 {
  uint32_t h[8], k[64];
  uint64_t length;
  unsigned char block[64];
  int instructions; /* the CPU has SHA-NI */
};

/* The first 32 fractional bits of the root-th root (2 or 3) of p: floor(root 2^32) modulo 2^32, by bisection. p <= 311, so
 * the root is below 2^37 and its cube below 2^111. */
static inline uint32_t sha256_root(unsigned p, int root) {
  unsigned __int128 target = (unsigned __int128)p << (32 * root);
  uint64_t low = 0, high = UINT64_C(1) << 37;
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    unsigned __int128 power = (unsigned __int128)middle * middle;
    if (root == 3) power *= middle;
    if (power <= target) low = middle;
    else high = middle;
  }
  return (uint32_t)low;
}

static inline void sha256_begin(struct sha256 *s) {
  int count = 0;
  for (unsigned p = 2; count < 64; p++) { /* the first 64 primes */
    int prime = 1;
    for (unsigned d = 2; d * d <= p; d++) prime &= p % d != 0;
    if (!prime) continue;
    if (count < 8) s->h[count] = sha256_root(p, 2);
    s->k[count++] = sha256_root(p, 3);
  }
  s->length = 0;
  s->instructions = 0;
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) s->instructions = (int)(b >> 29 & 1);
#endif
}

static inline uint32_t sha256_rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void sha256_blocks_plain(struct sha256 *s, const unsigned char *p, size_t blocks) {
  for (; blocks > 0; blocks--, p += 64) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
      w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
      uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (sha256_rotr(a, 7) ^ sha256_rotr(a, 18) ^ a >> 3) +
             (sha256_rotr(b, 17) ^ sha256_rotr(b, 19) ^ b >> 10);
    }
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
      uint32_t e = v[4], a = v[0];
      uint32_t t1 =
          v[7] + (sha256_rotr(e, 6) ^ sha256_rotr(e, 11) ^ sha256_rotr(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + s->k[i] + w[i];
      uint32_t t2 = (sha256_rotr(a, 2) ^ sha256_rotr(a, 13) ^ sha256_rotr(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
      for (int j = 7; j > 0; j--) v[j] = v[j - 1];
      v[4] += t1;
      v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) s->h[i] += v[i];
  }
}

#if defined(__x86_64__)
/* The instructions keep the state as (a b e f) and (c d g h), and do two rounds, or four words of the schedule, at a time. */
__attribute__((target("sha,ssse3,sse4.1"))) static inline void sha256_blocks_x86(struct sha256 *s, const unsigned char *p,
                                                                                 size_t blocks) {
  const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  __m128i abef = _mm_set_epi32((int)s->h[0], (int)s->h[1], (int)s->h[4], (int)s->h[5]);
  __m128i cdgh = _mm_set_epi32((int)s->h[2], (int)s->h[3], (int)s->h[6], (int)s->h[7]);
  uint32_t out[4];
  for (; blocks > 0; blocks--, p += 64) {
    const __m128i abef0 = abef, cdgh0 = cdgh;
    __m128i m[4];
    for (int i = 0; i < 4; i++) m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)), swap);
    for (int i = 0; i < 16; i++) {
      __m128i w = _mm_add_epi32(m[i & 3], _mm_loadu_si128((const __m128i *)(const void *)(s->k + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, w);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(w, 0x0e));
      if (i < 12) { /* words 4 i + 16 ... 4 i + 19 replace the four just used */
        __m128i seven = _mm_alignr_epi8(m[(i + 3) & 3], m[(i + 2) & 3], 4);
        m[i & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(m[i & 3], m[(i + 1) & 3]), seven), m[(i + 3) & 3]);
      }
    }
    abef = _mm_add_epi32(abef, abef0);
    cdgh = _mm_add_epi32(cdgh, cdgh0);
  }
  _mm_storeu_si128((__m128i *)(void *)out, abef);
  s->h[0] = out[3], s->h[1] = out[2], s->h[4] = out[1], s->h[5] = out[0];
  _mm_storeu_si128((__m128i *)(void *)out, cdgh);
  s->h[2] = out[3], s->h[3] = out[2], s->h[6] = out[1], s->h[7] = out[0];
}
#endif

static inline void sha256_blocks(struct sha256 *s, const unsigned char *p, size_t blocks) {
#if defined(__x86_64__)
  if (s->instructions) {
    sha256_blocks_x86(s, p, blocks);
    return;
  }
#endif
  sha256_blocks_plain(s, p, blocks);
}

static inline void sha256_feed(struct sha256 *s, const void *data, size_t bytes) {
  const unsigned char *p = data;
  while (bytes > 0) {
    size_t at = s->length % 64, part = bytes < 64 - at ? bytes : 64 - at;
    if (at == 0 && bytes >= 64) {
      part = bytes / 64 * 64;
      sha256_blocks(s, p, bytes / 64);
    } else {
      memcpy(s->block + at, p, part);
      if (at + part == 64) sha256_blocks(s, s->block, 1);
    }
    s->length += part;
    p += part;
    bytes -= part;
  }
}

/* 64 hexadecimal digits and a final zero. */
static inline void sha256_end(struct sha256 *s, char text[65]) {
  const uint64_t bits = s->length * 8;
  const unsigned char one = 0x80, zero = 0;
  unsigned char tail[8];
  sha256_feed(s, &one, 1);
  while (s->length % 64 != 56) sha256_feed(s, &zero, 1);
  for (int i = 0; i < 8; i++) tail[i] = (unsigned char)(bits >> (56 - 8 * i));
  sha256_feed(s, tail, 8);
  for (int i = 0; i < 8; i++) snprintf(text + 8 * i, 9, "%08x", (unsigned)s->h[i]);
}

#endif
