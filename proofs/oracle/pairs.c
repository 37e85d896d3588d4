/* The errors of the evaluations of two arguments in binary32 (crlibm/<f>/<f>_b32_half.h) at all pairs of a 16-bit format,
 * measured against values from polynomials in binary64 whose coefficients python-flint has made (b32_half.py). RM_PAIR is 1
 * for atan2, 2 for pow, 3 for logaddexp.
 *
 * The values are within RM_SLACK = 2^-44 of the function, relatively. c[j] is f on part j in s, |s| <= 1, with the sum of the
 * coefficients' sizes at most 1.5 |f|, within 2^-46 (b32_half.py checks both); Horner's 2 x 8 roundings are below 2^-48.
 * Then,
 *   atan2      q = m/n is rounded and reduced to (j, s) exactly; q times the polynomial of atan(q)/q, where |c0 pi/4| is
 *              added at most three roundings more: below 2^-45.5 together, the result being at least pi/8 times what is
 *              cancelled
 *   pow        t = y log2 x, |t| < 93, is off by 2^-46.2, which counts ln2 times; t - k is exact, its part and s round by
 *              2^-53
 *   logaddexp  d = x - y rounds by 2^-53 d < 2^-46.5, of which the slope makes as much; s as above. Beyond 86 L is taken as
 *              0. */
#include <math.h>
#include <stdint.h>

#include "crlibm/simd/b32.h"

#if RM_PAIR == 3
/* What the evaluation compares last: twice its error with the distance of the sum from a midpoint. */
static vf32 last_err2;
static inline vm32 noted_lt(vf32 a, vf32 b) {
  last_err2 = a;
  return vf32_lt(a, b);
}
#define vf32_lt noted_lt
#endif
#include RM_FUNCTION_HEADER
#undef vf32_lt

enum { RM_PARTS = 2048, RM_TERMS = 9, RM_INPUTS = 65536, RM_CHUNK = 1024 };
#define RM_SLACK 0x1p-44

struct rm_pairs {
  double logarithms[RM_INPUTS]; /* log2 of the format's numbers, pow only */
  double c[RM_PARTS][RM_TERMS];
};

struct rm_pairs_found {
  int64_t pairs, undecided, bad;
  double ratio;
  uint32_t at, bad_at; /* the first argument's bits above the second's */
};

/* f at part j = floor(u), u >= 0, s = 2 (u - j) - 1. */
static inline double at(const struct rm_pairs *t, double u) {
  const int j = (int)u;
  const double s = 2 * (u - j) - 1, *c = t->c[j];
  double v = c[RM_TERMS - 1];
  for (int k = RM_TERMS - 2; k >= 0; k--) v = c[k] + s * v;
  return v;
}

/* What the rounding test covers: in f16 it rounds v (1 -+ rel), by 2^-24 |v| (simd.h). */
static inline double claimed(double rel, int format) { return rel - (format == RM_F16 ? 0x1p-24 : 0); }

/* |v - f(a, b)| over what is claimed, for numbers b and results v of the evaluation. No branches, so that it is compiled to
 * vectors. For pow a is the logarithm. */
static void ratios(const struct rm_pairs *t, int format, double a, const float *bs, const float *vs, const float *err2s,
                   double *out) {
  for (int i = 0; i < RM_CHUNK; i++) {
    const double b = (double)bs[i], v = (double)vs[i];
#if RM_PAIR == 1 /* y = a >= 0, x = b */
    (void)err2s;
    const double size = fabs(b), small = a < size ? a : size, large = a < size ? size : a, q = small / large,
                 pi = 0x1.921fb54442d18p1;
    const double u = q * 128 < 128 ? q * 128 : 127.99999999999999;
    double f = q * at(t, large > 0 ? u : 0);
    f = a > size ? pi / 2 - f : f;
    f = __builtin_copysign(1.0, b) < 0 ? pi - f : f;
    const double claim = claimed(RM_HALF_ERR_atan2(format), format) * f,
                 least = f < 0x1p-126 ? 8 * 0x1p-149 : 0; /* the test's units (simd.h) */
    out[i] = (fabs(v - f) + RM_SLACK * f) / (claim > least ? claim : least);
#elif RM_PAIR == 2 /* log2 x = a */
    (void)err2s;
    const double y = b * a < 200 && b * a > -200 ? b * a : 0, k = floor(y), magic = 0x1.8p52, power = magic + (k + 1023);
    int64_t bits;
    __builtin_memcpy(&bits, &power, sizeof bits);
    bits <<= 52;
    double scale;
    __builtin_memcpy(&scale, &bits, sizeof scale);
    const double f = at(t, (y - k) * 128) * scale;
    out[i] = (fabs(v - f) + RM_SLACK * f) / (claimed(RM_HALF_ERR_pow(format), format) * f);
#else
    (void)format;
    const double big = a > b ? a : b, d = fabs(a - b), f = at(t, d <= 86 ? d * 16 : 86 * 16), l = d <= 86 ? f : 0,
                 off = v - big - l;
    /* v - big rounds by 2^-53 of itself, which is at most |off| + l. */
    out[i] = (fabs(off) + RM_SLACK * (l + fabs(off)) + (d <= 86 ? 0 : 0x1p-124)) / (0.5 * (double)err2s[i]);
#endif
  }
}

#if RM_PAIR == 3
#define RM_ERR2 last_err2
#else
#define RM_ERR2 va
#endif
#define EVALUATE RM_CAT(RM_CAT(rm_, RM_EVALUATED), _b32_half)

#define RM_LOOP(fmt, FMT)                                                                                      \
  void rm_pairs_##fmt(const struct rm_pairs *t, int first, int last, int step, struct rm_pairs_found *found) { \
    for (int a = first; a <= last; a += step)                                                                  \
      for (int from = 0; from < RM_INPUTS; from += RM_CHUNK) {                                                 \
        static float v[RM_CHUNK], y[RM_CHUNK], err2[RM_CHUNK];                                                 \
        static double ratio[RM_CHUNK];                                                                         \
        uint16_t as[RM_B32_LANES], bs[RM_B32_LANES];                                                           \
        float x[RM_B32_LANES];                                                                                 \
        for (int k = 0; k < RM_B32_LANES; k++) as[k] = (uint16_t)a;                                            \
        const vf32 va = vf32_load_##fmt(as);                                                                   \
        vf32_store_f32(x, va);                                                                                 \
        for (int b = 0; b < RM_CHUNK; b += RM_B32_LANES) {                                                     \
          for (int k = 0; k < RM_B32_LANES; k++) bs[k] = (uint16_t)(from + b + k);                             \
          const vf32 in[] = {va, vf32_load_##fmt(bs)};                                                         \
          vf32_store_f32(v + b, EVALUATE(in, FMT)), vf32_store_f32(y + b, in[1]);                              \
          vf32_store_f32(err2 + b, RM_ERR2);                                                                   \
        }                                                                                                      \
        ratios(t, FMT, RM_PAIR == 2 ? t->logarithms[a] : (double)x[0], y, v, err2, ratio);                     \
        for (int k = 0; k < RM_CHUNK; k++) {                                                                   \
          const int same = RM_PAIR == 3 && !(y[k] <= x[0]), undecided = !(fabsf(v[k]) <= 0x1.fffffep127f);     \
          found->pairs += !same, found->undecided += !same & undecided;                                        \
          if (same | undecided) continue; /* the other order is the same */                                    \
          const uint32_t both = (uint32_t)a << 16 | (uint32_t)(from + k);                                      \
          if (!(ratio[k] <= 1)) {                                                                              \
            if (found->bad++ == 0) found->bad_at = both;                                                       \
          } else if (ratio[k] > found->ratio) {                                                                \
            found->ratio = ratio[k], found->at = both;                                                         \
          }                                                                                                    \
        }                                                                                                      \
      }                                                                                                        \
  }
RM_LOOP(f16, RM_F16)
RM_LOOP(bf16, RM_BF16)
