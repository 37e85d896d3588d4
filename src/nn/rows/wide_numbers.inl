/* Numbers of rows of binary64 (wide_numbers.h). */
#include "wide_numbers.h"

#include "../../../crlibm/exp/exp_wide.h"
#include "../../../crlibm/fp/exact.h"
#include "../../common/elements.h"

RM_HOST_EXTERN void rm_wide_sum(rm_dd_ball *sum, int64_t n, double *x, double m, int64_t skip, double *e, double *low) {
  rm_wide_total total;
  const double kept = skip >= 0 ? x[skip] : 0.0;
  if (skip >= 0) x[skip] = -rm_dd_ball_infinity();
  rm_nn_kernels()->wide->exponentials(n, x, m, e, low, &total);
  if (skip >= 0) x[skip] = kept;
  rm_dd_ball_finish(sum, total.hi, total.lo, 1, total.err);
}

RM_HOST_EXTERN int rm_wide_log1p(rm_dd_ball *l, const rm_dd_ball *s) {
  rm_dd_ball one, e, d;
  double h, low, ph, pl;
  vi64 k;
  if (!(s->hi >= 0x1p-900 && s->hi <= 0x1p900 && s->err <= 0x1p-57 * s->hi)) return 0;
  rm_dd_ball_log1p(l, s);
  l->err = 0.0;
  rm_dd_ball_set(&one, 1.0, 0);
  rm_expm1_wide(l->hi, l->lo, &k, &ph, &pl);
  if ((int16_t)k == 0) {
    rm_dd_ball_finish(&e, ph, pl, 1, RM_EXPM1_WIDE_ERR * ph);
  } else {
    rm_exp_wide_times(rm_exp_scale(k), vf64_lookup16(rm_exp_t_lo, k), ph, pl, &h, &low);
    rm_dd_ball_finish(&e, h, low, 1, RM_EXP_WIDE_ERR * h);
    rm_dd_ball_sub(&e, &e, &one);
  }
  rm_dd_ball_sub(&d, s, &e);
  rm_dd_ball_add(&e, &e, &one);
  rm_dd_ball_div(&d, &d, &e);
  const double size = rm_dd_ball_max(&d);
  if (!(size < 0x1p-20)) return 0;
  rm_dd_ball_add(l, l, &d);
  rm_dd_ball_finish(l, l->hi, l->lo, 1, l->err + size * size);
  return 1;
}

RM_HOST_EXTERN int rm_wide_term(rm_dd_ball *t, double x, double m) {
  double low, h, l;
  const double d = rm_two_sum(x, -m, &low);
  if (!(d >= RM_WIDE_EXP_MIN)) return 0;
  rm_exp_wide(d, low, &h, &l);
  rm_dd_ball_finish(t, h, l, d != 0.0 || low != 0.0, RM_EXP_WIDE_ERR * h);
  return 1;
}

/* Whether e^(x - m) a, which was too small for vectors, is decided, with the exponent apart. rel: as for rm_wide_kernels's
 * scaled. */
static int rm_wide_tiny(double x, double m, const rm_dd_ball *a, double rel, uint64_t *bits) {
  double low, ph, pl, h, l;
  const double d = rm_two_sum(x, -m, &low);
  vi64 k;
  int undecided;
  uint32_t flags = 0;
  if (!(d >= -750.0)) return 0;
  rm_expm1_wide(d, low, &k, &ph, &pl);
  rm_exp_wide_times(vf64_lookup16(rm_exp_t_hi, k), vf64_lookup16(rm_exp_t_lo, k), ph, pl, &h, &l);
  const double p = rm_exp_wide_product(h, l, a->hi, a->lo, &low);
  *bits = rm_round_dd(p, low, RM_BOUND(rel * __builtin_fabs(p)), (int16_t)k >> 4, RM_F64, RM_NEAREST, &flags, &undecided);
  return !undecided && !flags;
}

RM_HOST_EXTERN int64_t rm_wide_scale(int64_t n, const double *x, double m, int64_t skip, const double *e, const double *low,
                                     const rm_dd_ball *a, char *out, const rm_row_state *state) {
  const double size = __builtin_fabs(a->hi), rel = 1.01 * RM_EXP_WIDE_ERR + 0x1p-100 + rm_wide_relative(a);
  int64_t kept = 0, count = 0, *const undecided = state->undecided;
  uint64_t bits;
  const rm_wide_row s = {.n = n, .x = e, .w = low, .a = rm_wide_pair_of(a), .rel = rel, .out = out, .undecided = undecided};
  const int known = size >= 0x1p-500 && size <= 0x1p500 && rel <= 0x1p-57;
  if (known) count = state->k->wide->scaled(&s);
  for (int64_t j = 0; j < count; j++) {
    const int64_t i = undecided[j];
    if (rm_wide_tiny(x[i], m, a, rel, &bits)) rm_write_bits(out + i * 8, bits, RM_F64);
    else undecided[kept++] = i;
  }
  for (int64_t i = 0; i < n && !(known && a->hi > 0.0 && size <= 1.0); i++) {
    if (i == skip || (known && (e[i] != 0.0 || !rm_is_finite(x[i])))) continue;
    if (known && size <= 1.0) rm_write_bits(out + i * 8, rm_signed_zero(1, RM_F64), RM_F64);
    else undecided[kept++] = i;
  }
  return kept;
}

RM_HOST_EXTERN int rm_wide_write(const rm_dd_ball *v, int64_t i, char *out, uint32_t *flags) {
  uint64_t bits;
  if (v->hi == 0.0 || !rm_dd_ball_round(v, RM_F64, RM_NEAREST, flags, &bits)) return 0;
  rm_write_bits(out + i * 8, bits, RM_F64);
  return 1;
}
