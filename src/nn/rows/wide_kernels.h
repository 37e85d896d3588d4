/* The functions of rows of binary64 that src/nn compiles once per ISA (rows/wide.h, which derives their bounds). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What no lane may lose by underflow, in units of a normalized deviation. */
#define RM_WIDE_TINY 0x1p-1000
/* A bound, which is above 0 where something is not exact: the product that it is may have underflowed. */
static inline double rm_wide_bound(int is_exact, double bound) { return is_exact ? 0.0 : bound + 0x1p-1020; }

/* hi + lo, |lo| <= 2^-53 |hi|. */
typedef struct {
  double hi, lo;
} rm_wide_pair;

/* n results next to each other from out on, of rows x, w, b, g (padded by finite numbers to whole vectors) and numbers of the
 * row. rel, slope and err are parts of their bound (rows/wide.h). Indices of results that are not decided go to undecided. */
typedef struct {
  int64_t n;
  const double *x, *w, *b, *g;
  rm_wide_pair c, a, c1, b0;
  double rel, slope, slope_hi, err, rel_a;
  char *out;
  int64_t *undecided;
} rm_wide_row;

/* Sums of h and h (x - c), h = g w. Each is hi + lo; size: those of the magnitudes of h, of h dh and of h dl, x - c = dh +
 * dl; depth: no term passes more additions. */
typedef struct {
  rm_wide_pair first, second;
  double size, size_hi, size_lo, depth;
} rm_wide_sums;

/* Exponents of terms that are 0 or stand for themselves, and of those that are 0 (rows/wide_exp.h). */
#define RM_WIDE_EXP_MIN (-660.0) /* 2^-952.2 */
#define RM_WIDE_EXP_ZERO (-745.2)

/* hi + lo within err. */
typedef struct {
  double hi, lo, err;
} rm_wide_total;

struct rm_wide_kernels {
  /* ((x - c) a) w + b. Returns how many indices are in undecided. */
  int64_t (*affine)(const rm_wide_row *row);
  /* Sums over n elements; g may be padded by 0 alone. */
  void (*sums)(int64_t n, const rm_wide_row *row, rm_wide_sums *sums);
  /* a ((g w - c1) - (x - c) b0), as affine. */
  int64_t (*centered)(const rm_wide_row *row);
  /* Adds g (x - c) a to hi + lo, element by element, and to bound what the sum is off by. */
  void (*columns)(const rm_wide_row *row, double *hi, double *lo, double *bound);
  /* The sum of e^(x - m) over n elements, x <= m padded by -infinity; each goes to hi + lo where these are not NULL. */
  void (*exponentials)(int64_t n, const double *x, double m, double *hi, double *lo, rm_wide_total *sum);
  /* (x + w) a of such a term; (x - c) - a, c one number; g - e^x a: as affine. */
  int64_t (*scaled)(const rm_wide_row *row);
  int64_t (*shifted)(const rm_wide_row *row);
  int64_t (*less_exp)(const rm_wide_row *row);
  /* (a g + b0) w, g and a and b0 not below 0, to hi + lo; (x + w) a - (g + b) b0 of a term and of such numbers: as affine. */
  void (*weights)(const rm_wide_row *row, double *hi, double *lo);
  int64_t (*difference)(const rm_wide_row *row);
};
