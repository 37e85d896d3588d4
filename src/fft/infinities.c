/* Transforms with infinite or NaN elements: each part is a sum of products of reals, of which those that are not finite
 * decide (spec.md, section 2). */
#include <stdlib.h>

#include "../../crlibm/fp/round.h"
#include "../common/elements.h"
#include "../reduce/superaccumulator.h"
#include "problem.h"
#include "residues.h"

/* The class of x times the cosine of t/order turns, for an x that is not finite. turn: t moved on by a quarter of a turn
 * makes it a sine's negative. */
static uint32_t class_of(uint64_t bits, int format, int64_t t, int64_t order) {
  if ((bits & (rm_sign_bit(format) - 1)) > rm_infinity_bits(format))
    return rm_is_signalling(bits, format) ? RM_ACC_SNAN : RM_ACC_QNAN;
  if (4 * t == order || 4 * t == 3 * order) return RM_ACC_ZERO_INF;
  const int negative = (4 * t > order && 4 * t < 3 * order) != (int)(bits / rm_sign_bit(format));
  return negative ? RM_ACC_NINF : RM_ACC_PINF;
}

typedef struct {
  int64_t j;
  uint64_t bits;
  int imaginary;
} special;

/* The special elements; their number, or -1 without memory. */
static int64_t find(const rm_fft_problem *p, const char *x, special **found) {
  const int size = rm_size_of(p->format), parts = p->kind == RM_FFT_FROM_REAL ? 1 : 2;
  const int64_t last = p->length[p->rank - 1];
  int64_t count = 0, room = 0;
  for (int64_t row = 0; row < p->rows; row++)
    for (int64_t j = 0; j < p->in_last; j++)
      for (int c = 0; c < parts; c++) {
        const uint64_t bits =
            rm_read_bits(x + rm_fft_row_x(p, row) + (ptrdiff_t)j * p->stride_x[p->rank - 1] + c * size, p->format);
        if ((bits & rm_infinity_bits(p->format)) != rm_infinity_bits(p->format)) continue;
        if (count == room) {
          room = room ? 2 * room : 16;
          special *const more = realloc(*found, (size_t)room * sizeof *more);
          if (!more) return -1;
          *found = more;
        }
        (*found)[count++] = (special){row * last + j, bits, c};
      }
  return count;
}

/* The exponent of element j in result k, of `order`: 4 times the order of the roots, so that quarters of turns are whole
 * numbers. */
static int64_t exponent_of(const rm_fft_problem *p, int64_t j, int64_t k, int64_t order) {
  int64_t t = 0;
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis];
    const int64_t turn = (int64_t)((rm_u128)(uint64_t)(j % n) * (uint64_t)(k % n) % (uint64_t)n);
    t = (t + turn * (order / n)) % order;
    j /= n, k /= n;
  }
  return p->inverse || t == 0 ? t : order - t;
}

rm_status rm_fft_not_finite(const rm_fft_problem *p, const char *x, char *out, uint32_t *flags) {
  const int64_t order = 4 * rm_fft_order(p), last = p->length[p->rank - 1];
  const uint32_t both = RM_ACC_PINF | RM_ACC_NINF;
  special *found = NULL;
  const int64_t count = find(p, x, &found);
  uint32_t nan = 0; /* a NaN reaches every part */
  for (int64_t i = 0; i < count; i++)
    if ((found[i].bits & (rm_sign_bit(p->format) - 1)) > rm_infinity_bits(p->format))
      nan |= class_of(found[i].bits, p->format, 0, 1);
  for (int64_t row = 0; row < p->rows; row++)
    for (int64_t k = 0; k < p->out_last; k++)
      for (int c = 0; c < (p->kind == RM_FFT_TO_REAL ? 1 : 2); c++) {
        uint32_t classes = nan;
        for (int64_t i = 0; i < count && !nan && !(classes & RM_ACC_ZERO_INF) && (classes & both) != both; i++) {
          /* a cos t - b sin t and a sin t + b cos t: -sin t = cos(t + 1/4), sin t = cos(t - 1/4) */
          const int64_t t = exponent_of(p, found[i].j, row * last + k, order);
          const int64_t quarter = found[i].imaginary == c ? 0 : found[i].imaginary ? order / 4 : 3 * (order / 4);
          classes |= class_of(found[i].bits, p->format, (t + quarter) % order, order);
        }
        rm_fft_write(p, out, row * last + k, c,
                     count < 0 ? rm_nan_bits(p->format) : rm_superacc_round_classes(classes, p->format, flags));
      }
  free(found);
  return count < 0 ? RM_ERR_MEMORY : RM_OK;
}
