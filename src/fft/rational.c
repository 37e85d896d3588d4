/* Parts of results at multiples of a quarter of a turn, or of a sixth: sums of elements with signs, or of their halves, which
 * integers decide. */
#include "../common/elements.h"
#include "../reduce/statistics.h"
#include "problem.h"

/* What sums are divided by; 0: an irrational number. */
static uint64_t divisor_of(const rm_fft_problem *p) {
  return p->scale == RM_FFT_SCALE_ONE ? 1 : p->scale == RM_FFT_SCALE_N ? (uint64_t)p->n : (uint64_t)rm_fft_whole_root(p->n);
}

/* Quarters or sixths of a turn that the index of each axis makes in result k; 0: some angle is no multiple. */
static int turns(const rm_fft_problem *p, int64_t k, int parts, int turn[RM_FFT_RANK]) {
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis], i = k % n;
    if (parts * i % n) return 0;
    turn[axis] = (int)(parts * i / n);
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

/* Of real elements twice the real part, where the angles are sixths of a turn. */
static void add_sixths(rm_superaccumulator *acc, const rm_fft_problem *p, const char *at, int start, int step) {
  static const int twice_cosine[6] = {2, 1, -1, -2, -1, 1};
  for (int64_t j = 0; j < p->in_last; j++, at += p->stride_x[p->rank - 1]) {
    const int weight = twice_cosine[(start + (int)(j % 6) * step) % 6];
    const double x = rm_read_element(at, p->format);
    for (int times = weight < 0 ? -weight : weight; times > 0; times--) rm_superacc_add(acc, weight < 0 ? -x : x);
  }
}

int64_t rm_fft_decide_rational(const rm_fft_problem *p, const char *x, char *out, rm_fft_part *part, int64_t count,
                               uint32_t *flags) {
  const uint64_t divisor = divisor_of(p);
  int64_t left = 0;
  for (int64_t i = 0; i < count; i++) {
    int turn[RM_FFT_RANK];
    rm_superaccumulator acc;
    const int sixths = !turns(p, part[i].k, 4, turn);
    if (!divisor || (sixths && (p->kind != RM_FFT_FROM_REAL || part[i].imaginary || !turns(p, part[i].k, 6, turn)))) {
      part[left++] = part[i];
      continue;
    }
    rm_superacc_clear(&acc);
    for (int64_t row = 0; row < p->rows; row++) {
      int64_t start = 0, rest = row;
      for (int axis = p->rank - 2; axis >= 0; axis--) {
        start += rest % p->length[axis] % 12 * turn[axis];
        rest /= p->length[axis];
      }
      const char *const at = x + rm_fft_row_x(p, row);
      if (sixths) add_sixths(&acc, p, at, (int)(start % 6), turn[p->rank - 1]);
      else add_row(&acc, p, at, (int)(start & 3), turn[p->rank - 1], part[i].imaginary);
    }
    const rm_sum_function quotient = {divisor, sixths ? -1 : 0, 0};
    const uint64_t bits = rm_function_of_top(&quotient, rm_superacc_get_top(&acc), p->format, flags);
    rm_fft_write(p, out, part[i].k, part[i].imaginary, bits);
  }
  return left;
}
