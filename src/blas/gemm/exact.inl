/* Elements of a matrix product by the superaccumulator: the last tier. It is also device code. */
#include "exact.h"

#include "../../reduce/exact.h"
#include "../conv/im2col_view.h"

RM_STATIC const char *element_at(const rm_operand *o, int64_t row, int64_t k) {
  return o->im2col ? rm_im2col_at(o->im2col, o->base, row, k) : o->base + row * o->row_stride + k * o->k_stride;
}

RM_STATIC void sum_products(rm_superaccumulator *acc, const rm_matmul_problem *p, int64_t i, int64_t j) {
  rm_superacc_clear(acc);
  if (!p->a.im2col && !p->b.im2col) {
    rm_superacc_add_products(acc, p->fmt, p->k, element_at(&p->a, i, 0), p->a.k_stride, element_at(&p->b, j, 0),
                             p->b.k_stride);
  } else {
    for (int64_t k = 0; k < p->k; k++) { /* padding adds no product: it must not meet an infinity */
      const char *x = element_at(&p->a, i, k), *y = element_at(&p->b, j, k);
      if (x && y) rm_superacc_add_products(acc, p->fmt, 1, x, 0, y, 0);
    }
  }
}

RM_HOST_EXTERN uint64_t rm_exact_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags) {
  rm_superaccumulator acc;
  sum_products(&acc, p, i, j);
  if (p->bias.base) rm_superacc_add_array(&acc, p->fmt, 1, p->bias.base + i * p->bias.row + j * p->bias.col, 0);
  return rm_superacc_round(&acc, p->out_fmt, RM_NEAREST, flags);
}

/* Digits of 32 bits in units of 2^-UNIT. A total is a multiple of 2^-RM_ACC_ONE, alpha one of 2^-1074, beta d of 2^-2148; and
 * |alpha S| < 2^(32 RM_ACC_INTEGER + 1024). */
enum { UNIT = RM_ACC_ONE + 34 * RM_ACC_DIGIT_BITS, WIDE = (UNIT + 1024) / RM_ACC_DIGIT_BITS + RM_ACC_INTEGER + 3 };

/* digit += (-1)^negative m 2^shift, shift >= 0; carries wait. */
RM_STATIC void add_at(int64_t *digit, uint64_t m, int shift, int negative) {
  const int s = shift % RM_ACC_DIGIT_BITS;
  int64_t *d = digit + shift / RM_ACC_DIGIT_BITS;
  const rm_u128 wide = (rm_u128)m << s;
  for (int i = 0; i < 3; i++) {
    const int64_t part = (int64_t)(uint32_t)(wide >> (RM_ACC_DIGIT_BITS * i));
    d[i] += negative ? -part : part;
  }
}

RM_STATIC void carry(int64_t *digit) {
  for (int i = 0; i + 1 < WIDE; i++) {
    const int64_t c = digit[i] >> RM_ACC_DIGIT_BITS; /* rounds down */
    digit[i] -= c * (INT64_C(1) << RM_ACC_DIGIT_BITS);
    digit[i + 1] += c;
  }
}

/* alpha S + beta d of finite numbers. */
RM_STATIC uint64_t scale_exactly(const rm_superaccumulator *sum, double alpha, double beta, double d, int fmt,
                                 uint32_t *flags) {
  rm_superaccumulator size;
  int64_t digit[WIDE] = {0};
  int e;
  if (alpha != 0.0) {
    const int negative = rm_superacc_magnitude(sum, &size) != (alpha < 0.0);
    const uint64_t m = rm_decompose(alpha, &e);
    /* A normal significand of 53 bits may end below 2^-1074: with zeros. */
    const int low = e < -1074 ? -1074 - e : 0, shift = e + low + UNIT - RM_ACC_ONE;
    for (int i = 0; i < RM_ACC_DIGITS; i++) {
      const uint64_t x = (uint64_t)size.digit[i];
      if (!x) continue;
      add_at(digit, x * ((m >> low) & 0xffffffffu), shift + RM_ACC_DIGIT_BITS * i, negative);
      add_at(digit, x * (m >> low >> 32), shift + RM_ACC_DIGIT_BITS * (i + 1), negative);
    }
  }
  if (beta != 0.0 && d != 0.0) {
    int eb, ed;
    const uint64_t mb = rm_decompose(beta, &eb), md = rm_decompose(d, &ed);
    const rm_u128 product = (rm_u128)mb * md;
    const int shift = eb + ed + UNIT, negative = (beta < 0.0) != (d < 0.0); /* shift > 0: eb and ed are -1126 or more */
    add_at(digit, (uint64_t)product, shift, negative);
    add_at(digit, (uint64_t)(product >> 64), shift + 64, negative);
  }
  carry(digit);
  const int negative = digit[WIDE - 1] < 0;
  if (negative) {
    for (int i = 0; i < WIDE; i++) digit[i] = -digit[i];
    carry(digit);
  }
  const rm_superacc_top t = rm_digits_top(digit, WIDE);
  return t.m ? rm_round_exact(negative, t.m | (rm_u128)t.inexact, t.e - UNIT, fmt, RM_NEAREST, flags) : 0;
}

/* A number of which only the sign and what is not finite count. */
RM_STATIC double representative(double x) { return !rm_is_finite(x) ? x : (double)((x > 0.0) - (x < 0.0)); }

RM_HOST_EXTERN uint64_t rm_exact_alpha_beta(const rm_matmul_problem *p, int64_t i, int64_t j, uint64_t old, uint32_t *flags) {
  const double alpha = p->alpha_beta->alpha, beta = p->alpha_beta->beta,
               d = beta == 0.0 ? 0.0 : rm_to_double(old, p->out_fmt);
  rm_superaccumulator acc;
  sum_products(&acc, p, i, j);
  if (!acc.classes && rm_is_finite(alpha) && rm_is_finite(beta) && rm_is_finite(d))
    return scale_exactly(&acc, alpha, beta, d, p->out_fmt, flags);
  uint32_t unused = 0;
  const rm_superacc_top top = rm_superacc_get_top(&acc);
  const double sum = acc.classes ? rm_from_bits64(rm_superacc_round_classes(acc.classes, RM_F64, &unused))
                                 : (double)(top.m != 0) * (top.negative ? -1.0 : 1.0);
  const double scaled = alpha == 0.0 ? 0.0 : representative(alpha) * sum;
  const double v = scaled + (beta == 0.0 ? 0.0 : representative(beta) * representative(d));
  const int signals = (acc.classes & RM_ACC_SNAN) || (beta != 0.0 && rm_is_signalling(old, p->out_fmt));
  const int quiet = (acc.classes & RM_ACC_QNAN) || rm_is_nan(alpha) || rm_is_nan(beta) || rm_is_nan(d);
  if (!rm_is_nan(v)) return rm_infinity_bits(p->out_fmt) | (v < 0.0 ? rm_sign_bit(p->out_fmt) : 0);
  if (signals || !quiet) *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(p->out_fmt);
}
