/* Transforms modulo primes, which decide what no approximation can: whether a part of a result is exactly a given number.
 *
 * The elements of a transform are integers times 2^unit, of which this file sees the integers. With L the least common
 * multiple of the lengths and M = lcm(4, L), twice the real part and twice the imaginary part of X_k are algebraic integers
 * of the field of the M-th roots of unity,
 *   2 Re X_k = X_k + X'_k,   2 Im X_k = (X_k - X'_k)/i,   X'_k = conj(X_k), the transform of the conjugates at -k.
 * Let p be a prime, p = 1 modulo M. Modulo p there are M-th roots of unity, and putting one in place of e^(2 pi i/M) is a map
 * of the ring of integers onto the integers modulo p; its kernel is a prime ideal P above p. p does not divide M and is the
 * product of all conjugates of P.
 *
 * An automorphism of the field takes e^(2 pi i/M) to its power a, a prime to M, and i to i^a. It takes 2 Re X_k to 2 Re X_(a
 * k) if i stays, a = 1 modulo 4, and to 2 Re X_(-a k) if not, where -a = 1 modulo 4. So the conjugates of 2 Re X_k are the 2
 * Re X_(u k), u prime to M and 1 modulo 4: these u run through all residues prime to the order of k, or where 4 divides this
 * order through those that are 1 modulo 4. The same holds for imaginary parts.
 *
 * Now let z be an algebraic integer of the field all conjugates of which are in P. Then z is in all conjugates of P, hence
 * z/p is an algebraic integer. The product of its conjugates is an integer; if each conjugate of z is below p, it is below 1,
 * and z = 0. With several primes the same holds for their product in place of p.
 *
 * So: if 2 Re X_(u k) has one residue for all u, modulo each of several primes, and if these numbers are known to be less
 * than the product of the primes apart, their differences (with their conjugates, which are such differences) are 0: 2 Re X_k
 * is rational, hence an integer. Two integers that have the same residues and are less than the product apart are equal. And
 * where residues differ the numbers do. Where the result is divided by a root of n that is irrational, the squares of 2 Re
 * X_k take the place of these numbers. */
#pragma once

#include "../common/modular.h"
#include "problem.h"

enum { RM_FFT_PRIMES = 256 };

/* The residues of all parts of a transform modulo one prime: 2 Re X_k/2^unit at k, 2 Im X_k/2^unit at n + k. */
typedef struct {
  rm_modulus q;
  uint64_t *part;
} rm_fft_residues;

/* Residues modulo the next prime below `below` (2^62 for the first one). 0: no memory. */
int rm_fft_residues_make(rm_fft_residues *r, const rm_fft_problem *p, const double *re, const double *im, int unit,
                         uint64_t below);

/* m 2^e modulo the prime, e >= 0. */
uint64_t rm_fft_residue(const rm_modulus *q, uint64_t m, int64_t e);

int64_t rm_fft_gcd(int64_t a, int64_t b);
/* The least common multiple of the lengths. */
int64_t rm_fft_order(const rm_fft_problem *p);
