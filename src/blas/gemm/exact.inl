/* The last tier of matrix products computes an element by the superaccumulator. It is also device code. */
#include "exact.h"

#include "../../../crlibm/enclosure/limbs.h"
#include "../../common/elements.h"
#include "../../reduce/exact.h"
#include "../conv/im2col_view.h"

enum { PART = 32 };

/* Writes the addresses of n elements of a row from the k-th on, NULL for padding. */
RM_STATIC void rm_operand_addresses(const rm_operand *o, int64_t row, int64_t k, int64_t n, const char **at) {
  if (o->im2col) rm_im2col_row(o->im2col, o->base, row, k, n, at);
  else
    for (int64_t q = 0; q < n; q++) at[q] = o->base + row * o->row_stride + (k + q) * o->k_stride;
}

RM_HOST_EXTERN void rm_exact_sum_products(rm_superaccumulator *acc, const rm_matmul_problem *p, int64_t i, int64_t j) {
  rm_superacc_clear(acc);
  if (!p->a.im2col && !p->b.im2col) {
    rm_superacc_add_products(acc, p->fmt, p->k, p->a.base + i * p->a.row_stride, p->a.k_stride,
                             p->b.base + j * p->b.row_stride, p->b.k_stride);
    return;
  }
  for (int64_t k = 0; k < p->k; k += PART) {
    const char *x[PART], *y[PART];
    const int64_t n = p->k - k < PART ? p->k - k : PART;
    rm_operand_addresses(&p->a, i, k, n, x);
    rm_operand_addresses(&p->b, j, k, n, y);
    for (int64_t q = 0; q < n; q++) /* padding adds no product: it must not meet an infinity */
      if (x[q] && y[q]) rm_superacc_add_products(acc, p->fmt, 1, x[q], 0, y[q], 0);
  }
}

/* The bits of C[i,j] from the exact sum of its products. */
RM_STATIC uint64_t rm_exact_round(const rm_matmul_problem *p, int64_t i, int64_t j, rm_superaccumulator *acc,
                                  uint32_t *flags) {
  if (p->bias.base) rm_superacc_add_array(acc, p->fmt, 1, p->bias.base + i * p->bias.row + j * p->bias.col, 0);
  return rm_superacc_round(acc, p->out_fmt, rm_mode_of_element(p, i, j), flags);
}
RM_HOST_EXTERN uint64_t rm_exact_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_exact_sum_products(&acc, p, i, j);
  return rm_exact_round(p, i, j, &acc, flags);
}

/* The first of n elements that is not finite, from the given one on; n without one. */
RM_FN int64_t rm_next_special(rm_run r, int64_t from, int64_t n, const int fmt) {
  const uint64_t infinity = rm_infinity_bits(fmt);
  while (from < n && (rm_read_bits(r.p + from * r.step, fmt) & infinity) != infinity) from++;
  return from;
}
RM_STATIC int64_t rm_next_special_of(rm_run r, int64_t from, int64_t n, int fmt) {
  switch (fmt) {
    case RM_F16: return rm_next_special(r, from, n, RM_F16);
    case RM_BF16: return rm_next_special(r, from, n, RM_BF16);
    case RM_F32: return rm_next_special(r, from, n, RM_F32);
    default: return rm_next_special(r, from, n, RM_F64);
  }
}

RM_HOST_EXTERN int rm_special_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t row, uint32_t column,
                                      uint64_t *bits, uint32_t *flags) {
  /* What no other term changes: a signalling NaN, where there may be none any other, and where there is none at all what
   * makes one. */
  const uint32_t both = row | column;
  const int signals = (both & RM_ACC_SNAN) != 0, made = !(both & (RM_ACC_QNAN | RM_ACC_SNAN));
  const uint32_t last = RM_ACC_SNAN | (signals ? 0 : RM_ACC_QNAN) | (made ? RM_ACC_ZERO_INF : 0);
  const int size = rm_size_of(p->fmt);
  rm_superaccumulator acc; /* of which only the classes are used: no term that is added is finite */
  acc.classes = 0;
  for (int64_t k = 0; k < p->k; k += PART) {
    char in_x[PART * 8], in_y[PART * 8];
    const char *x[PART], *y[PART];
    const int64_t n = p->k - k < PART ? p->k - k : PART;
    rm_run a = {0, 0}, b = {0, 0};
    int found = 0;
    if (row) a = rm_run_of(&p->a, i, k, n, size, in_x);
    if (column) b = rm_run_of(&p->b, j, k, n, size, in_y);
    for (int64_t q = 0, next = -1; q < n; q++) {
      if (next < q) next = row ? rm_next_special_of(a, q, n, p->fmt) : n;
      q = column ? rm_next_special_of(b, q, next, p->fmt) : next;
      if (q == n) break;
      if (!found) rm_operand_addresses(&p->a, i, k, n, x), rm_operand_addresses(&p->b, j, k, n, y), found = 1;
      if (!x[q] || !y[q]) continue; /* padding adds no product */
      rm_superacc_add_products(&acc, p->fmt, 1, x[q], 0, y[q], 0);
      if ((acc.classes & last) || (made && (acc.classes & RM_ACC_PINF) && (acc.classes & RM_ACC_NINF))) goto known;
    }
  }
known:
  if (p->bias.base) {
    const char *bias = p->bias.base + i * p->bias.row + j * p->bias.col;
    const rm_run one = {bias, 0};
    if (rm_next_special_of(one, 0, 1, p->fmt) == 0) rm_superacc_add_array(&acc, p->fmt, 1, bias, 0);
  }
  if (!acc.classes) return 0;
  *bits = rm_superacc_round_classes(acc.classes, p->out_fmt, flags);
  return 1;
}

/* Digits of 32 bits in units of 2^-UNIT. A total is a multiple of 2^-RM_ACC_ONE, alpha one of 2^-1074, beta d of 2^-2148; and
 * |alpha S| < 2^(32 RM_ACC_INTEGER + 1024). */
enum { UNIT = RM_ACC_ONE + 34 * RM_ACC_DIGIT_BITS, DIGITS = (UNIT + 1024) / RM_ACC_DIGIT_BITS + RM_ACC_INTEGER + 3 };

/* digit += (-1)^negative m 2^shift, shift >= 0; carries wait. */
RM_STATIC void rm_digits_add_at(int64_t *digit, uint64_t m, int shift, int negative) {
  const int s = shift % RM_ACC_DIGIT_BITS;
  int64_t *d = digit + shift / RM_ACC_DIGIT_BITS;
  const rm_u128 shifted = (rm_u128)m << s;
  for (int i = 0; i < 3; i++) {
    const int64_t part = (int64_t)(uint32_t)(shifted >> (RM_ACC_DIGIT_BITS * i));
    d[i] += negative ? -part : part;
  }
}

RM_STATIC void rm_digits_carry(int64_t *digit) {
  for (int i = 0; i + 1 < DIGITS; i++) {
    const int64_t c = digit[i] >> RM_ACC_DIGIT_BITS; /* rounds down */
    digit[i] -= c * (INT64_C(1) << RM_ACC_DIGIT_BITS);
    digit[i + 1] += c;
  }
}

/* alpha S + beta d of finite numbers. */
RM_STATIC uint64_t rm_exact_scale(const rm_superaccumulator *sum, double alpha, double beta, double d, int fmt,
                                  uint32_t *flags) {
  RM_BIG(int64_t, digit, DIGITS);
  int e;
  for (int i = 0; i < DIGITS; i++) digit[i] = 0;
  if (alpha != 0.0) {
    rm_superacc_walk size = rm_superacc_begin(sum);
    const int negative = (size.sign != 0) != (alpha < 0.0);
    const uint64_t m = rm_decompose(alpha, &e);
    /* A normal significand of 53 bits may end below 2^-1074: with zeros. */
    const int low = e < -1074 ? -1074 - e : 0, shift = e + low + UNIT - RM_ACC_ONE;
    while (size.at < size.end) {
      const int i = size.at;
      const uint64_t x = rm_superacc_next(&size);
      if (!x) continue;
      rm_digits_add_at(digit, x * ((m >> low) & 0xffffffffu), shift + RM_ACC_DIGIT_BITS * i, negative);
      rm_digits_add_at(digit, x * (m >> low >> 32), shift + RM_ACC_DIGIT_BITS * (i + 1), negative);
    }
  }
  if (beta != 0.0 && d != 0.0) {
    int eb, ed;
    const uint64_t mb = rm_decompose(beta, &eb), md = rm_decompose(d, &ed);
    const rm_u128 product = (rm_u128)mb * md;
    const int shift = eb + ed + UNIT, negative = (beta < 0.0) != (d < 0.0); /* shift > 0: eb and ed are -1126 or more */
    rm_digits_add_at(digit, (uint64_t)product, shift, negative);
    rm_digits_add_at(digit, (uint64_t)(product >> 64), shift + 64, negative);
  }
  rm_digits_carry(digit);
  const int negative = digit[DIGITS - 1] < 0;
  if (negative) {
    for (int i = 0; i < DIGITS; i++) digit[i] = -digit[i];
    rm_digits_carry(digit);
  }
  const rm_superacc_top t = rm_digits_top(digit, DIGITS);
  return t.m ? rm_round_exact(negative, t.m | (rm_u128)t.inexact, t.e - UNIT, fmt, RM_NEAREST, flags) : 0;
}

/* A number of which only the sign and what is not finite count. */
RM_STATIC double rm_special_representative(double x) { return !rm_is_finite(x) ? x : (double)((x > 0.0) - (x < 0.0)); }

RM_HOST_EXTERN int rm_special_alpha_beta(const rm_matmul_problem *p, double sum, uint32_t classes, uint64_t old,
                                         uint64_t *bits, uint32_t *flags) {
  const double alpha = p->alpha_beta->alpha, beta = p->alpha_beta->beta,
               d = beta == 0.0 ? 0.0 : rm_to_double(old, p->out_fmt);
  const double scaled = alpha == 0.0 ? 0.0 : rm_special_representative(alpha) * rm_special_representative(sum);
  const double v = scaled + (beta == 0.0 ? 0.0 : rm_special_representative(beta) * rm_special_representative(d));
  if (rm_is_finite(v)) return 0;
  const int signals = (classes & RM_ACC_SNAN) || (beta != 0.0 && rm_is_signalling(old, p->out_fmt));
  const int quiet = (classes & RM_ACC_QNAN) || rm_is_nan(alpha) || rm_is_nan(beta) || rm_is_nan(d);
  *bits = rm_nan_bits(p->out_fmt);
  if (!rm_is_nan(v)) *bits = rm_infinity_bits(p->out_fmt) | (v < 0.0 ? rm_sign_bit(p->out_fmt) : 0);
  else if (signals || !quiet) *flags |= RM_FLAG_INVALID;
  return 1;
}

/* The bits of RN(alpha S + beta d) from the exact sum of the products. */
RM_STATIC uint64_t rm_exact_round_alpha_beta(const rm_matmul_problem *p, const rm_superaccumulator *acc, uint64_t old,
                                             uint32_t *flags) {
  const double alpha = p->alpha_beta->alpha, beta = p->alpha_beta->beta,
               d = beta == 0.0 ? 0.0 : rm_to_double(old, p->out_fmt);
  if (!acc->classes && rm_is_finite(alpha) && rm_is_finite(beta) && rm_is_finite(d))
    return rm_exact_scale(acc, alpha, beta, d, p->out_fmt, flags);
  uint32_t unused = 0;
  const rm_superacc_top top = rm_superacc_get_top(acc);
  const double sum = acc->classes ? rm_from_bits64(rm_superacc_round_classes(acc->classes, RM_F64, &unused))
                                  : (double)(top.m != 0) * (top.negative ? -1.0 : 1.0);
  uint64_t bits = rm_infinity_bits(p->out_fmt);
  rm_special_alpha_beta(p, sum, acc->classes, old, &bits, flags);
  return bits;
}
RM_HOST_EXTERN uint64_t rm_exact_alpha_beta(const rm_matmul_problem *p, int64_t i, int64_t j, uint64_t old, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_exact_sum_products(&acc, p, i, j);
  return rm_exact_round_alpha_beta(p, &acc, old, flags);
}
