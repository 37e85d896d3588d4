/* softmax, log_softmax, logsumexp and gradients.
 *
 * With m the greatest element of a row and S' the sum of e^(x_k - m) over the others, the sum of all exponentials is e^m (1 + S'):
 *   softmax      e^(x_i - m) / (1 + S')       one rounding less than RM_ROW_EXP_ERR and RM_ROW_SUM_ERR: 2.125 2^-44 + 3 2^-53 and the
 *                                             test's 2^-52 are below 2.25 2^-44. What exponentials() takes for 0 rounds to +0, and is
 *                                             below n 2^-245 of the sum.
 *   log_softmax  (x_i - m) - log(1 + S')      two numbers <= 0: no cancellation, also where S' is tiny
 *   logsumexp    m + log(1 + S')
 * log1p(S') is off by its own 2^-41 (crlibm/log1p), by RM_ROW_SUM_ERR of S' (log1p does not enlarge a relative error), and by n 2^-245
 * for the terms taken for 0: below 1.25 2^-41 of it and n 2^-244.
 *
 * Values are irrational (Lindemann, Weierstrass) but where all x_k are equal up to terms that are 0, when softmax is 1/n, not a midpoint;
 * where there is one finite element; and in softmax_backward, which is rational: balls hold it exactly up to 2^32768. */
#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../../crlibm/log1p/log1p_f32.h"
#include "../../include/repmath/nn.h"
#include "../reduce/elements.h"
#include "../reduce/exact.h"
#include "../reduce/sum.h"
#include "exp_row.h"
#include "totals.h"

/* g and y of a row; the sum of g_k y_k, or of g_k (no y in `total`). */
typedef struct {
  const double *g, *y;
  rm_sum_problem total;
  int limbs_near, limbs_ball;
  rm_near sum_near;
  rm_ball sum_ball;
} rm_gradient_row;

#define RM_NUM near
#include "exp_row_exact.h"
#include "gradient_sum.h"
#include "softmax_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "exp_row_exact.h"
#include "gradient_sum.h"
#include "softmax_exact.h"
#undef RM_NUM

typedef enum { SOFTMAX, LOG_SOFTMAX, LOGSUMEXP } kind;

typedef struct {
  kind what;
  int format;
  int64_t n;
  rm_row_array x, y;
} forward;

static uint64_t slow(const forward *f, rm_exp_row *r, int64_t i, rm_row_state *state) {
  if (f->what == LOGSUMEXP) return rm_decide(logsumexp_near, logsumexp_ball, r, 0, f->format, state);
  const double d = r->x[i] - r->m;
  if (f->what == LOG_SOFTMAX) {
    if (d - d != 0.0) return rm_signed_infinity(1, f->format); /* log 0, as the element says */
    return rm_decide(log_softmax_near, log_softmax_ball, r, i, f->format, state);
  }
  if (d < -1200.0) { /* e^d < 2^-1731 */
    state->tiers.fast++;
    return 0;
  }
  return rm_decide(softmax_near, softmax_ball, r, i, f->format, state);
}

/* What a row with a NaN, or with an infinite greatest element m, gives. */
static uint64_t special(const forward *f, const char *x, double m, uint32_t *flags) {
  int quiet = 0, signalling = 0;
  for (int64_t k = 0; k < f->n; k++) {
    const uint64_t bits = rm_read_bits(x + k * f->x.stride, f->format);
    signalling |= rm_is_signalling(bits, f->format);
    quiet |= (bits & (rm_sign_bit(f->format) - 1)) > rm_infinity_bits(f->format);
  }
  if (signalling) *flags |= RM_FLAG_INVALID;
  if (quiet) return rm_nan_bits(f->format);
  if (f->what == LOGSUMEXP) return rm_signed_infinity(m < 0.0, f->format);
  return rm_invalid(f->format, flags);
}

static void forward_row(const void *operation, int64_t row, rm_row_state *state) {
  const forward *f = operation;
  const struct rm_nn_kernels *k = state->k;
  const int size = rm_size_of(f->format);
  const int64_t n = f->n, results = f->what == LOGSUMEXP ? 1 : n;
  double *x = rm_row_buffer(state, 0), *e = rm_row_buffer(state, 1);
  const char *from = rm_row_at(&f->x, row);
  char *out = f->what == LOGSUMEXP ? rm_row_at(&f->y, row) : rm_row_out(state, &f->y, row, size);
  k->load(n, from, f->x.stride, f->format, -rm_near_infinity(), x);
  const double m = k->greatest(n, x);

  if (m - m != 0.0) {
    const uint64_t bits = special(f, from, m, &state->flags);
    for (int64_t i = 0; i < results; i++) rm_write_bits(out + i * size, bits, f->format);
    state->tiers.fast += results;
  } else {
    rm_row_store s = {.n = results, .u = x, .c = m, .fmt = f->format, .out = out, .open = state->open};
    int64_t open = results;
    if (f->format == RM_F64) {
      for (int64_t i = 0; i < results; i++) s.open[i] = i;
    } else if (f->what == SOFTMAX) {
      s.a = 1.0 / k->exponentials(n, x, m, e);
      s.u = e;
      s.rel = 2.25 * RM_ROW_EXP_ERR;
      open = k->store(RM_ROW_SCALED, &s);
    } else {
      const int64_t at = rm_row_first(n, x, m);
      x[at] = -rm_near_infinity();
      s.a = rm_log1p_of(k->exponentials(n, x, m, e));
      x[at] = m;
      s.err = 0x1.4p-41 * s.a + (double)n * 0x1p-244;
      if (f->what == LOGSUMEXP) s.u = e, e[0] = 0.0, s.c = -m, s.a = -s.a; /* (0 + m) + log */
      open = k->store(RM_ROW_SHIFTED, &s);
    }
    state->tiers.fast += results - open;
    if (open) {
      rm_exp_row r;
      rm_exp_row_begin(&r, n, x, m);
      for (int64_t j = 0; j < open; j++) rm_write_bits(out + s.open[j] * size, slow(f, &r, s.open[j], state), f->format);
    }
  }
  if (f->what != LOGSUMEXP) rm_row_spread(state, &f->y, row, n, f->format);
}

/* Positions: format 1, rows 2, n 3. */
static rm_status check_sizes(int format, int64_t rows, int64_t n) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  return rm_kernels_get() ? RM_OK : RM_ERR_ISA;
}

static rm_status run_forward(kind what, int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                             void *y, ptrdiff_t row_y, ptrdiff_t stride_y) {
  const rm_status status = check_sizes(format, rows, n);
  const int64_t results = what == LOGSUMEXP ? 1 : n;
  if (status) return status;
  if (rows == 0 || results == 0) return RM_OK;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 4);
  if (!y) return RM_STATUS(RM_ERR_NULL, 7);
  const forward f = {what, format, n, {(char *)(uintptr_t)x, row_x, stride_x}, {y, row_y, stride_y}};
  if (!rm_rows_are_apart(f.y, rows, results, rm_size_of(format), f.x, n)) return RM_STATUS(RM_ERR_OVERLAP, 7);
  return rm_each_row(rows, n, 2, forward_row, &f);
}

rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                     ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run_forward(SOFTMAX, format, rows, n, x, row_x, stride_x, y, row_y, stride_y);
}
rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                         ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run_forward(LOG_SOFTMAX, format, rows, n, x, row_x, stride_x, y, row_y, stride_y);
}
rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                       ptrdiff_t stride_y) {
  return run_forward(LOGSUMEXP, format, rows, n, x, row_x, stride_x, y, stride_y, rm_size_of(format));
}

/* ------------------------------------------------------------------------------------------------ gradients */

typedef struct {
  int by_exp; /* of log_softmax */
  int format;
  int64_t n;
  rm_row_array g, y, dx;
} backward;

/* y_i (g_i - s) or g_i - e^(y_i) s where the sum s, or an operand, is not finite. */
static uint64_t special_gradient(const backward *f, double g, double y, double s, uint32_t *flags) {
  const double e = y < RM_EXP_TAIL ? 0.0 : y > -RM_EXP_TAIL ? rm_near_infinity() : y == y ? 1.0 : y;
  const double value = f->by_exp ? g - e * s : y * (g - s);
  if (value == value) return rm_signed_infinity(value < 0.0, f->format);
  if (g == g && y == y && s == s) *flags |= RM_FLAG_INVALID;
  return rm_nan_bits(f->format);
}

static uint64_t slow_gradient(const backward *f, rm_gradient_row *r, int64_t i, double sum, rm_row_state *state) {
  const double g = r->g[i], y = r->y[i];
  uint32_t *flags = &state->flags;
  if (sum - sum != 0.0 || (f->by_exp && (g - g != 0.0 || y != y))) return special_gradient(f, g, y, sum, flags);
  if (!f->by_exp) return rm_decide(softmax_backward_near, softmax_backward_ball, r, i, f->format, state);
  if (y >= RM_EXP_TAIL && y <= -RM_EXP_TAIL) return rm_decide(log_softmax_backward_near, log_softmax_backward_ball, r, i, f->format, state);
  state->tiers.fast++;
  const int sign = rm_problem_sign(&r->total);
  if (y > 0.0 && sign) return y - y == 0.0 ? rm_overflow(sign > 0, f->format, RM_NEAREST, flags) : rm_signed_infinity(sign > 0, f->format);
  if (y > 0.0 && y - y != 0.0) return rm_invalid(f->format, flags); /* infinity times 0 */
  /* g, or less than half a unit of the least number of any format beside it: a number of the format is no boundary. */
  if (g == 0.0) return y < 0.0 && y - y == 0.0 ? rm_signed_zero(sign > 0, f->format) : 0;
  int e;
  const uint64_t m = rm_split_double(g, &e);
  return rm_round_exact(g < 0.0, m, e, f->format, RM_NEAREST, flags);
}

static void backward_row(const void *operation, int64_t row, rm_row_state *state) {
  const backward *f = operation;
  const struct rm_nn_kernels *k = state->k;
  const int size = rm_size_of(f->format);
  const int64_t n = f->n;
  double *g = rm_row_buffer(state, 0), *y = rm_row_buffer(state, 1), sum, low, err;
  rm_gradient_row r;
  r.g = g, r.y = y;
  r.limbs_near = r.limbs_ball = -1;
  r.total = (rm_sum_problem){n, {rm_row_at(&f->g, row), f->g.stride}, {NULL, 0}, f->format, NULL};
  if (!f->by_exp) r.total.y = (rm_terms){rm_row_at(&f->y, row), f->y.stride};
  k->load(n, rm_row_at(&f->g, row), f->g.stride, f->format, 0.0, g);
  k->load(n, rm_row_at(&f->y, row), f->y.stride, f->format, 0.0, y);
  char *out = rm_row_out(state, &f->dx, row, size);
  const int in_place = out == r.total.x.base || out == r.total.y.base;
  if (in_place) out = (char *)rm_row_buffer(state, 2); /* the slow tiers read g and y again */

  rm_row_store s = {.n = n, .u = g, .v = y, .fmt = f->format, .out = out, .open = state->open};
  const int known = f->format != RM_F64 && rm_sum_approximately(&r.total, 0, &sum, &low, &err);
  int64_t open = n;
  if (known) {
    s.a = sum;
    err += __builtin_fabs(low);
    s.err = err;
    if (f->by_exp) {
      /* e^y and its product: 2^-43; the error of the sum, relative. Where it is not small, nothing is decided. */
      s.rel = RM_ROW_EXP_ERR + 0x1p-50 + (sum != 0.0 ? 1.01 * err / __builtin_fabs(sum) : err > 0.0 ? rm_near_infinity() : 0.0);
      s.err = (__builtin_fabs(sum) + err) * 0x1p-245;
      open = k->store(RM_ROW_LESS_EXP, &s);
    } else {
      open = k->store(RM_ROW_WEIGHTED, &s);
    }
  } else {
    for (int64_t i = 0; i < n; i++) s.open[i] = i;
  }
  state->tiers.fast += n - open;
  if (open) {
    rm_superaccumulator acc;
    double total = sum;
    uint32_t flags = 0;
    if (!known) {
      rm_sum_exactly(&r.total, &acc);
      total = acc.classes ? rm_to_double(rm_superacc_round_classes(acc.classes, RM_F64, &flags), RM_F64) : 0.0;
      state->flags |= flags;
    }
    for (int64_t j = 0; j < open; j++) {
      const int64_t i = s.open[j];
      rm_write_bits(out + i * size, slow_gradient(f, &r, i, total, state), f->format);
    }
  }
  if (in_place) memcpy(rm_row_at(&f->dx, row), out, (size_t)n * (size_t)size);
  rm_row_spread(state, &f->dx, row, n, f->format);
}

static rm_status run_backward(int by_exp, int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                              const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  const rm_status status = check_sizes(format, rows, n);
  if (status || rows == 0 || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 4);
  if (!y) return RM_STATUS(RM_ERR_NULL, 7);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 10);
  const backward f = {by_exp, format, n, {(char *)(uintptr_t)g, row_g, stride_g}, {(char *)(uintptr_t)y, row_y, stride_y}, {dx, row_dx, stride_dx}};
  const int size = rm_size_of(format);
  if (!rm_rows_are_apart(f.dx, rows, n, size, f.g, n) || !rm_rows_are_apart(f.dx, rows, n, size, f.y, n))
    return RM_STATUS(RM_ERR_OVERLAP, 10);
  return rm_each_row(rows, n, 3, backward_row, &f);
}

rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                              const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                              ptrdiff_t stride_dx) {
  return run_backward(0, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx);
}
rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                  ptrdiff_t stride_dx) {
  return run_backward(1, format, rows, n, g, row_g, stride_g, y, row_y, stride_y, dx, row_dx, stride_dx);
}
