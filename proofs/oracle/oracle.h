/* Enclosures of a function at consecutive binary32 numbers, from polynomials in integers whose errors python-flint has
 * bounded (blocks.py). Neither a number nor a line of the library is in them.
 *
 * A block is `count` numbers whose bits follow each other from `first` on. At the i-th of them
 *   RM_POLYNOMIAL   V = c[0] + s (c[1] + s (...)), s = i 2^-(power - 1) - 1, count = 2^power, each product rounded down to a
 *                   unit (one number: V = c[0])
 *   RM_TURNS        V from the polynomials of sine or tangent, and the argument in quarters of a turn modulo 4, first and
 *                   step in c: it is known within 2^-100
 * and the function's value is between (V - below) 2^-scale and (V + above) 2^-scale, and is neither. Rounding down to a unit
 * is part of the bounds, where products are not exact. |V| + below, |V| + above < 2^62.
 *   RM_CONSTANT     the result has the bits c[0]
 *   RM_IDENTITY     the result is the argument
 * where a result is known for a reason (functions.py). `twin` gives the negative numbers as well: 1 for an odd function, 2
 * for an even one. */
#ifndef RM_PROOFS_ORACLE_H
#define RM_PROOFS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

enum { RM_POLYNOMIAL, RM_TURNS, RM_CONSTANT, RM_IDENTITY };
enum { RM_SINE, RM_COSINE, RM_TANGENT };
enum { RM_DEGREE = 15, RM_PARTS = 128, RM_TURNS_DEGREE = 9 };

struct rm_block {
  uint32_t first, count;
  int32_t kind, twin, scale, degree, power, turns; /* turns: RM_SINE ... */
  int64_t below, above, c[RM_DEGREE + 1];
};

/* sin(pi/2 f), or tan(pi/2 f), for f = (j + (s + 1)/2)/RM_PARTS, by its polynomial in s, times 2^61, within `error`. */
struct rm_turns {
  int64_t c[RM_PARTS][RM_TURNS_DEGREE + 1], error;
};

enum { RM_CHUNK = 4096 };

/* Values of numbers from..from + n - 1 of a block: V, and what belongs to each: scale and bounds. Below and above are the
 * block's but for tangents, whose reciprocals have their own. */
struct rm_values {
  int64_t v[RM_CHUNK], error[RM_CHUNK];
  int32_t scale[RM_CHUNK];
};

static inline int64_t rm_horner(const int64_t *c, int degree, int64_t s) {
  int64_t v = c[degree];
  for (int j = degree - 1; j >= 0; j--) v = c[j] + (int64_t)(((__int128)v * s) >> 63);
  return v;
}

static inline int64_t rm_polynomial(const struct rm_block *b, uint32_t i) {
  if (b->power == 0) return b->c[0];
  const int64_t s = (int64_t)(((uint64_t)i << (64 - b->power)) ^ (UINT64_C(1) << 63));
  return rm_horner(b->c, b->degree, s);
}

/* The part of f in which it lies, and s there. */
static inline int64_t rm_part(const struct rm_turns *t, uint64_t f) {
  return rm_horner(t->c[f >> 57], RM_TURNS_DEGREE, (int64_t)((f << 7) ^ (UINT64_C(1) << 63)));
}

/* The i-th number of a block of turns: r = quarters + f, in units of 2^-126. f is cut to 2^-64, and its complement is another
 * 2^-64 off: 2^-63 pi/2 2^61 < 1 unit of the sine, and twice that of the tangent, whose slope is below pi where f < 1/2. */
static inline int64_t rm_turn(const struct rm_block *b, const struct rm_turns *tables, unsigned __int128 r, int32_t *scale,
                              int64_t *error) {
  unsigned quarter = (unsigned)(r >> 126);
  uint64_t f = (uint64_t)((r << 2) >> 64);
  *scale = 61;
  if (b->turns != RM_TANGENT) {
    const struct rm_turns *t = tables + 0;
    quarter += b->turns == RM_COSINE;
    const int64_t v = rm_part(t, quarter & 1 ? ~f : f);
    *error = t->error + 1;
    return quarter & 2 ? -v : v;
  }
  const struct rm_turns *t = tables + 1;
  const int above = f >> 63, odd = quarter & 1;
  const int64_t v = rm_part(t, above ? ~f : f), e = t->error + 2;
  *error = e;
  if (above != odd && v >> 20 <= e) { /* too small to be divided by */
    *error = INT64_C(1) << 61;
    return 0;
  }
  if (above == odd) return odd ? -v : v;
  /* 1/tan: 2^61/v = q 2^(61 + shift - 122), q within q e/v (1 + 2^-19) of it, q <= 2^61 <= v 2^shift. */
  const int shift = __builtin_clzll((uint64_t)v) - 2;
  const int64_t q = (int64_t)(((unsigned __int128)1 << 122) / (uint64_t)(v << shift));
  *scale = 61 - shift;
  *error = (e << shift) + (e << shift >> 19) + 2;
  return odd ? -q : q;
}

static inline void rm_values_of(const struct rm_block *b, const struct rm_turns *tables, uint32_t from, int n,
                                struct rm_values *out) {
  if (b->kind == RM_POLYNOMIAL) {
    for (int i = 0; i < n; i++) out->v[i] = rm_polynomial(b, from + (uint32_t)i);
  } else {
    const unsigned __int128 step = (unsigned __int128)(uint64_t)b->c[1] << 64 | (uint64_t)b->c[0];
    unsigned __int128 r = step * (((b->first & 0x7fffff) + from) | 0x800000);
    for (int i = 0; i < n; i++, r += step) out->v[i] = rm_turn(b, tables, r, out->scale + i, out->error + i);
  }
}

/* Whether every number between (v - below) 2^-scale and (v + above) 2^-scale, neither included, rounds to the number with the
 * bits y. */
static inline int rm_shown(int64_t v, int64_t below, int64_t above, int scale, uint32_t y) {
  if (v < 0) {
    const int64_t was = below;
    v = -v, below = above, above = was, y ^= 0x80000000u;
  }
  if (y > 0x7f800000u || v < below) return 0;
  const int exponent = (int)(y >> 23), normal = exponent != 0, k = (normal ? exponent : 1) - 152 + scale;
  if (k < 0) return 0;
  /* In quarters of y's last place: the midpoints beside it. Below a power of two places are half as large. */
  const int64_t m = (int64_t)(y & 0x7fffff) | (int64_t)normal << 23;
  if (k > 60 || (4 * m + 2) >> (62 - k)) return y == 0 && k > 60; /* V + above < 2^62 <= 2^(k + 1); else y is too large */
  const int64_t lower = (4 * m - (m == 0x800000 && exponent > 1 ? 1 : 2)) * (INT64_C(1) << k), upper = (4 * m + 2) << k;
  return v - below >= lower && (y == 0x7f800000u || v + above <= upper);
}

#endif
