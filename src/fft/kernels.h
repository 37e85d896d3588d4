/* The table of functions that src/fft compiles once per ISA: passes of a transform, and Ziv's rounding test of its results.
 *
 * The error of a transform. A pass of radix r multiplies the vector of all elements by sqrt(r) times a unitary matrix:
 * butterflies, and then twiddle factors of absolute value 1. Where the norm of what the computed pass adds is at most eta of
 * the norm of its exact result, all passes together are within prod(1 + eta_i) - 1 of the norm of the exact transform, which
 * is sqrt(n) ||x||; and so is each element. The eta_i are added up as rm_fft_plan.loss, in units of u = 2^-53 in binary64 and
 * 8 u^2 = 2^-103 in double-double. A sum of etas below 2^-20 exceeds the product by less than 2^-20 of itself.
 *
 * binary64, with or without FMA:
 * - radix 2: each component of a sum is within u of itself, so that the norm is: eta = u. Radix 4 is two of these; factors of
 *   i are exact: (1 + u)^2 - 1 < 2.1 u.
 * - odd radix, a prime, h = (r - 1)/2: a_j = x_j + x_(r-j) and b_j = x_j - x_(r-j) are within u of themselves, and the
 *   results are sqrt(r/2) times a unitary matrix of x_0 sqrt(2) and these: an eta of u. c_k is x_0 and h products of the a_j
 *   with cosines, s_k h products of the b_j with sines, all of which are within u: each term has at most h + 2 roundings. The
 *   sums of |cos(2 pi j k/r)| over j are the same for all k, and so are those of the sines: C = (1/sin(pi/(2 r)) - 1)/2 and S
 *   = 1/(2 tan(pi/(2 r))), which are the norms of these matrices of magnitudes. So the c_k are within (h + 2) u (sqrt(h)
 *   |x_0| + C |a|) together, and the s_k within (h + 2) u S |b|. Since |x_0|^2 + (|a|^2 + |b|^2)/2 = V^2, the squares of
 *   these add up to at most (h + 2)^2 u^2 V^2 times the larger one of h + 2 C^2 and 2 S^2, which are below 2 (r/pi)^2
 *   (proofs/formula). Results k and r - k are c_k -+ i s_k, with twice the squares; their sum adds u. Result 0 has h sums,
 *   and sqrt(r) V times h u. Beside sqrt(r) V: eta <= 2 u + u sqrt(h^2 + (2/pi (h + 2))^2 r).
 * - a twiddle factor c + i s of a + i b: the products of a component are within u (|a c| + |b s|) together, and their sum
 *   or the fused operation within u of it. By (|a c| + |b s|)^2 + (|a s| + |b c|)^2 = |x|^2 |w|^2 + 4 |a b c s| <= 2 |x|^2
 *   |w|^2 the norm of the first is sqrt(2) u |x|, of the second u |x|, but for terms of u^2. Each component of the factor is
 *   rounded by u/2 at most, as it is at most 1, and so w is within u/sqrt(2). eta <= (sqrt(2) + 1 + sqrt(1/2)) u + O(u^2) <
 *   3.2 u.
 *
 * double-double: numbers are h + l, and l may exceed u |h| (numbers.h). V is the norm of the exact vector, L of that of the
 * l, which is at most lambda u V; elements, and all results along an axis, have lambda < 1.01. Factors of 1 + O(lambda u) are
 * below 1.001, as lambda < 2^30: the plan multiplies by that.
 * - a sum: h = RN(h1 + h2) with error e, l = RN(e + RN(l1 + l2)): |l| <= |l1 + l2| + u |h|, and the sum is within 2 u |l1 +
 *   l2| + u^2 |h| of itself. Radix 2: sqrt(2) V is the exact norm, and sqrt(2) L that of l1 +- l2: lambda grows by 1, eta =
 *   (2 lambda + 1) u^2. Radix 4 is two of these: by 2, eta = (4 lambda + 4) u^2.
 * - a product with c = c1 + c2, |c2| <= u |c1|: h = RN(h1 c1) with error e, l = RN(l1 c1 + RN(h1 c2 + e)), with or without
 *   FMA: roundings and the dropped l1 c2 are within 3 u |l1 c| + 5 u^2 |h1 c|, and |l| <= |l1 c| + 2 u |h1 c|.
 * - a twiddle factor: two such products and their sum; norms of |a c| + |b s| are at most sqrt(2) |x| |w| (above). eta =
 *   sqrt(2) (3 lambda + 5) + sqrt(2) (2 (lambda + 2) + 1) u^2, and 2^-101 = 32 u^2 for the factor (plan.c): (7.1 lambda +
 *   46.5) u^2. lambda grows by 2 sqrt(2) + sqrt(2) < 4.3, as a multiplication by w keeps the norm of the l.
 * - odd radices: with S the sum of |h1|, and S_l that of |l1|, of a component: the a_j and b_j are within 2 u S_l + u^2 S,
 *   together, products within 3 u (S_l + u S) + 5 u^2 S, constants (within 2^-105) 2 u^2 S. Numbers that are summed are
 *   normal, |l| <= u |h|, but the products' and x_0's l are not, whose sum is at most 2 S_l + 3 u S: the h sums are within 4
 *   u S_l + (6 + 3 h) u^2 S, and the last one within 5 u^2 S. As above, eta = sqrt(2 r) (9 lambda + 3 h + 22) u^2; |l| <= 3
 *   u S, and lambda becomes 3 sqrt(2 r). The plan takes 1.42 for sqrt(2), and 23 and 3.1.
 *
 * A radix as a convolution of length n (plan.h): of r numbers of norm V, the exact results have the norm sqrt(r) V. Let B be
 * the filter, |B| <= beta = sqrt(r) `largest`, and L the loss of a transform of n numbers. The first factors c_j keep V,
 * and their eta counts as it is; a transform is within L u of sqrt(n) V; products with B/n are within an eta of them, and at
 * most beta/n times as large; the second transform, whose exact norm is beta V at most, is within L u again; then the factors
 * c_k. So eta = 2 eta_c + `largest` (2 L + eta_B).
 * - binary64: eta_c = 3.2 u. A part of B is rounded by u |B| instead of u/2, so that eta_B = (sqrt(2) + 2) u, and how far the
 *   filter was off before is below 2^-20 u. The plan takes 6.4 and 3.5.
 * - double-double, in u^2: what is made of products is normal before the transforms, and so are the numbers that they end
 *   with. eta_c = 7.1 lambda + 46.5, lambda = 1.01 for the second one (below 54); eta_B = 7.1 1.01 + 14.2 < 22, and the
 *   error of a number of B: 8 L' sqrt(n) of sqrt(2 r - 1), which beta is not below (Parseval), L' the loss of the filter's
 *   transform. In the last pass of all it is enough to bound elements: by Cauchy, with the norms sqrt(n) V of the transform
 *   and 8 L' u^2 sqrt(n) sqrt(2 r - 1) of the filter's error, they are off by 8 L' u^2 sqrt(2 r) V, and 8 L' sqrt(2) is
 *   enough, for which the plan takes 12 L'.
 * Products of these errors, and those of `largest`, are in the factor 1.01.
 *
 * Underflow: elements of binary64 are f32 numbers or zero, those of double-double have been scaled to a largest component in
 * [1, 2). An operation below 2^-968 errs by at most 2^-1070 absolutely, and a transform has fewer than 2^60 of them, whose
 * errors sums and twiddles enlarge by less than 2^40: they are far below the 2^-20 of the bound, which is at least 2^-103
 * 2^-149. Nothing overflows: n 2^128 < 2^1023. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../runtime/isa.h"
#include "plan.h"

enum { RM_FFT_RANK = 64, RM_FFT_PAD = 16 };

/* One transform, or `width` of them, whose elements lie beside each other. Planes are as in plan.h, `plane` numbers apart: at
 * least n width + RM_FFT_PAD. */
typedef struct {
  int rank;
  const rm_fft_plan *const *plan;
  int64_t n, width, plane;
  int half; /* planes of a real part: 1 in binary64, 2 in double-double */
  int swapped; /* the imaginary part is the first of a pair */
  double *buffer[2], *scratch; /* scratch: rm_fft_scratch numbers */
} rm_fft_work;

/* Of each transform, about its real parts or its imaginary ones: the largest magnitude; 0 where all are finite, else NaN; the
 * sum of squares. */
typedef struct {
  double most[RM_FFT_PAD], none[RM_FFT_PAD], squares[RM_FFT_PAD];
} rm_fft_survey;

/* The last step, of `count` numbers of the transforms from `begin` on, to f32 or f64. The exact value is within err of the
 * number times scale: there are width of err, and in f32 of scale, which in f64 is one number in two parts. Rounded results
 * go to re and im, of f32 or f64, or where im is NULL as pairs to re, of f32; bit 0 of open[i] says that the real part of
 * result i is undecided, bit 1 that the imaginary part is. Returns whether any bit is set. */
typedef int rm_fft_round_fn(const rm_fft_work *work, const double *from, int64_t begin, int64_t count, const double *scale,
                            const double *err, void *re, void *im, uint8_t *open);

struct rm_fft_kernels {
  int lanes;
  int (*transform[RM_FFT_TIERS])(const rm_fft_work *work); /* of buffer[0]; returns which buffer has the result */
  /* Number k of the double-double transform of buffer[0], of rank and width 1, in planes one number apart: made by those
   * operations of the passes that it depends on, so that the bound of the transform is its. buffer[1] is used. NULL
   * without vectors. */
  void (*one)(const rm_fft_work *work, int64_t k, double number[4]);
  /* Of `count` numbers, of `width` transforms in turn. */
  void (*magnitudes)(const double *x, int64_t count, int width, rm_fft_survey *s);
  void (*squares)(const double *x, int64_t count, int width, rm_fft_survey *s);
  rm_fft_round_fn *round_f32, *round_f64;                  /* of either tier; of double-double */
  /* Reads `count` neighbours of f32 at x. They are complex (parts: 2) or real (1). */
  void (*read_row)(const char *x, int64_t count, int parts, double *re, double *im);
  /* Reads `count` neighbours of as many transforms as a vector has lanes: number j of transform l, which is at x[l], to
   * re[j lanes + l] and im[...]. */
  void (*read_lanes)(const char *const *x, int64_t count, int parts, double *re, double *im, int format);
};
RM_ISA_TABLES(struct rm_fft_kernels, rm_fft_kernels_of, rm_fft_kernels)

/* The doubles that a pass needs. */
static inline int64_t rm_fft_scratch(const rm_fft_pass *pass) {
  if (!pass->chirp) return 4 * RM_FFT_PAD * (2 * pass->r + 2);
  const int64_t n = pass->chirp->n;
  return 8 * (n * (pass->m == 1 && n > RM_FFT_ALONE ? 1 : RM_FFT_PAD / 2) + RM_FFT_PAD);
}
