/* Parts of results at multiples of a quarter of a turn: sums of elements with signs, which integers decide. */
#include "../common/elements.h"
#include "../reduce/superaccumulator.h"
#include "problem.h"

/* The exponent of the factor, a power of two; -1: it is another number. */
static int factor_exponent(const rm_fft_problem *p) {
  int k = 0;
  if (p->scale == RM_FFT_SCALE_ONE) return 0;
  if (p->n & (p->n - 1)) return -1;
  while (p->n >> k > 1) k++;
  if (p->scale == RM_FFT_SCALE_N) return k;
  return k % 2 ? -1 : k / 2;
}

/* Quarters of a turn that the index of each axis makes in result k; 0: some angle is no multiple. */
static int quarters(const rm_fft_problem *p, int64_t k, int turn[RM_FFT_RANK]) {
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis], i = k % n;
    if (4 * i % n) return 0;
    turn[axis] = (int)(4 * i / n);
    k /= n;
  }
  return 1;
}

/* Adds the terms of a row, the first of which is turned by `start` quarters, each by `step` more. */
static void add_row(rm_superaccumulator *acc, const rm_fft_problem *p, const char *at, int start, int step, int imaginary) {
  const int size = rm_size_of(p->format), real = p->kind == RM_FFT_FROM_REAL;
  for (int64_t j = 0; j < p->in_last; j++, at += p->stride_x[p->rank - 1]) {
    const int t = (start + (int)(j & 3) * step) & 3, back = p->inverse ? t : (4 - t) & 3; /* times i^back */
    const int other = back & 1; /* the part comes from the other part of the element */
    const int from = imaginary != other;
    /* i (a + i b) = -b + i a, i^2 changes both signs */
    const int negative = (back >> 1) ^ (other && !imaginary);
    if (real && from) continue;
    const double x = rm_read_element(at + from * size, p->format);
    for (int times = rm_fft_weight(p, j); times > 0; times--) rm_superacc_add(acc, negative ? -x : x);
  }
}

int64_t rm_fft_decide_rational(const rm_fft_problem *p, const char *x, char *out, rm_fft_part *part, int64_t count,
                               uint32_t *flags) {
  const int shift = factor_exponent(p);
  int64_t left = 0;
  for (int64_t i = 0; i < count; i++) {
    int turn[RM_FFT_RANK];
    rm_superaccumulator acc;
    if (shift < 0 || !quarters(p, part[i].k, turn)) {
      part[left++] = part[i];
      continue;
    }
    rm_superacc_clear(&acc);
    for (int64_t row = 0; row < p->rows; row++) {
      int start = 0;
      int64_t rest = row;
      for (int axis = p->rank - 2; axis >= 0; axis--) {
        start += (int)(rest % p->length[axis] & 3) * turn[axis];
        rest /= p->length[axis];
      }
      add_row(&acc, p, x + rm_fft_row_x(p, row), start & 3, turn[p->rank - 1], part[i].imaginary);
    }
    const rm_superacc_top t = rm_superacc_get_top(&acc);
    const uint64_t bits =
        t.m ? rm_round_exact(t.negative, t.m | (rm_u128)t.inexact, t.e - shift, p->format, RM_NEAREST, flags) : 0;
    rm_fft_write(p, out, part[i].k, part[i].imaginary, bits);
  }
  return left;
}
