/* Arithmetic modulo odd numbers p < 2^62, in Montgomery's form (Montgomery 1985): x stands for x 2^64 mod p. */
#pragma once

#include <stdint.h>

typedef struct {
  uint64_t p, inverse; /* inverse: -1/p mod 2^64 */
  uint64_t one, square; /* 2^64 and 2^128 mod p */
} rm_modulus;

/* x y 2^-64 mod p, for x y < 2^64 p. The sum below is less than 2^64 p + 2^64 p < 2^127. */
static inline uint64_t rm_mod_mul(const rm_modulus *m, uint64_t x, uint64_t y) {
  const unsigned __int128 t = (unsigned __int128)x * y;
  const uint64_t q = (uint64_t)t * m->inverse;
  const uint64_t r = (uint64_t)((t + (unsigned __int128)q * m->p) >> 64);
  return r >= m->p ? r - m->p : r;
}
static inline uint64_t rm_mod_sub(const rm_modulus *m, uint64_t x, uint64_t y) { return x >= y ? x - y : x + (m->p - y); }
static inline uint64_t rm_mod_add(const rm_modulus *m, uint64_t x, uint64_t y) {
  const uint64_t s = x + y;
  return s >= m->p ? s - m->p : s;
}
/* Montgomery's form of any x: x 2^128 / 2^64. */
static inline uint64_t rm_mod_of(const rm_modulus *m, uint64_t x) { return rm_mod_mul(m, x % m->p, m->square); }
static inline uint64_t rm_mod_power(const rm_modulus *m, uint64_t x, uint64_t k) {
  uint64_t y = m->one;
  for (; k; k >>= 1, x = rm_mod_mul(m, x, x))
    if (k & 1) y = rm_mod_mul(m, y, x);
  return y;
}
static inline uint64_t rm_mod_inverse(const rm_modulus *m, uint64_t x) { return rm_mod_power(m, x, m->p - 2); }

static inline rm_modulus rm_modulus_of(uint64_t p) {
  uint64_t inverse = p; /* right in 3 bits; each of Newton's steps doubles them */
  for (int i = 0; i < 5; i++) inverse *= 2 - p * inverse;
  const uint64_t one = (uint64_t)(((unsigned __int128)1 << 64) % p);
  return (rm_modulus){p, 0 - inverse, one, (uint64_t)((unsigned __int128)one * one % p)};
}

/* Whether p > 37 is a prime: the test of Miller and Rabin with the primes up to 37 errs for no number below 2^64 (Sorenson
 * and Webster, Math. Comp. 86, 2017). */
static inline int rm_is_prime(const rm_modulus *m) {
  static const unsigned char small[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  const uint64_t minus_one = m->p - m->one, even = m->p - 1;
  const int twos = __builtin_ctzll(even);
  for (unsigned i = 0; i < sizeof small; i++)
    if (m->p % small[i] == 0) return 0;
  for (int i = -1; i < (int)sizeof small; i++) {
    uint64_t x = rm_mod_power(m, rm_mod_of(m, i < 0 ? 2 : small[i]), even >> twos);
    int passes = x == m->one || x == minus_one;
    for (int j = 1; j < twos && !passes; j++) passes = (x = rm_mod_mul(m, x, x)) == minus_one;
    if (!passes) return 0;
  }
  return 1;
}
/* The largest prime below `from` that is `from` less a multiple of `step`, an even number. */
static inline rm_modulus rm_prime_below(uint64_t from, uint64_t step) {
  for (;;) {
    from -= step;
    const rm_modulus m = rm_modulus_of(from);
    if (rm_is_prime(&m)) return m;
  }
}
