/* Checks the arguments of losses.
 *
 * Every regression loss is a term of loss/kernels.h divided by a number, and so are the gradients.
 *
 *   loss               term        b     factor  divisor  gradient   factor  divisor
 *   MSE                SQUARE      inf   1       1        CLAMPED    2       1
 *   L1                 ABSOLUTE    -     1       1        SIGN       1       1
 *   SMOOTH_L1, p > 0   SQUARE      p     1/2     p        CLAMPED    1       p
 *   HUBER              SQUARE      p     1/2     1        CLAMPED    1       1 */
#include "args.h"

#include "../../../crlibm/fp/bits.h"

/* RM_ERR_OVERLAP at the position of the results where these may not be stored. */
static rm_status check_overlap(const rm_row_array *out, const rm_row_array *in, int64_t n_in, int64_t n, int format,
                               int position) {
  return rm_rows_are_apart(*out, 1, n, rm_size_of(format), *in, in->base ? n_in : 0) ? RM_OK
                                                                                     : RM_STATUS(RM_ERR_OVERLAP, position);
}

static int no_format(int format) { return format < 0 || format >= RM_FORMATS; }
static int no_reduction(int reduction) { return reduction < RM_REDUCTION_NONE || reduction > RM_REDUCTION_SUM; }

/* Positions of the arguments that a regression loss and its gradient have. */
enum { PAIR_LOSS = 1, PAIR_P, PAIR_FORMAT, PAIR_REDUCTION, PAIR_N };

/* Sets the row of the table above. */
static rm_status begin_pair(rm_pair_loss *f, int gradient) {
  const double p = f->p;
  int loss = f->loss;
  if (loss < RM_LOSS_MSE || loss > RM_LOSS_HUBER) return RM_STATUS(RM_ERR_ENUM, PAIR_LOSS);
  if (loss >= RM_LOSS_SMOOTH_L1 && !(p >= 0.0 && rm_is_finite(p) && (p > 0.0 || loss == RM_LOSS_SMOOTH_L1)))
    return RM_STATUS(RM_ERR_RANGE, PAIR_P);
  if (no_format(f->format)) return RM_STATUS(RM_ERR_ENUM, PAIR_FORMAT);
  if (no_reduction(f->reduction)) return RM_STATUS(RM_ERR_ENUM, PAIR_REDUCTION);
  if (f->n < 0) return RM_STATUS(RM_ERR_SIZE, PAIR_N);
  if (loss == RM_LOSS_SMOOTH_L1 && p == 0.0) loss = RM_LOSS_L1;
  f->kind = loss == RM_LOSS_L1 ? (gradient ? RM_TERM_SIGN : RM_TERM_ABSOLUTE) : gradient ? RM_TERM_CLAMPED : RM_TERM_SQUARE;
  f->b = loss >= RM_LOSS_SMOOTH_L1 ? p : rm_from_bits64(rm_infinity_bits(RM_F64));
  f->factor = gradient && loss == RM_LOSS_MSE ? 2.0 : 1.0;
  if (loss >= RM_LOSS_SMOOTH_L1 && !gradient) f->factor = 0.5;
  f->divisor = loss == RM_LOSS_SMOOTH_L1 ? p : 1.0;
  f->count = f->reduction == RM_REDUCTION_MEAN ? f->n : 1;
  return RM_OK;
}

rm_status rm_pair_loss_check(rm_pair_loss *f) {
  enum { X = PAIR_N + 1, STRIDE_X, Y, STRIDE_Y, OUT };
  rm_status status = begin_pair(f, 0);
  const int none = f->reduction == RM_REDUCTION_NONE;
  if (status || (f->n == 0 && none)) return status;
  if (f->n && !f->x.base) return RM_STATUS(RM_ERR_NULL, X);
  if (f->n && !f->y.base) return RM_STATUS(RM_ERR_NULL, Y);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, OUT);
  if (none) status = check_overlap(&f->out, &f->x, f->n, f->n, f->format, OUT);
  return none && !status ? check_overlap(&f->out, &f->y, f->n, f->n, f->format, OUT) : status;
}

rm_status rm_pair_gradient_check(rm_pair_loss *f) {
  enum { G = PAIR_N + 1, STRIDE_G, X, STRIDE_X, Y, STRIDE_Y, DX };
  rm_status status = begin_pair(f, 1);
  const int one = f->reduction != RM_REDUCTION_NONE;
  if (status || f->n == 0) return status;
  if (!f->g.base) return RM_STATUS(RM_ERR_NULL, G);
  if (!f->x.base) return RM_STATUS(RM_ERR_NULL, X);
  if (!f->y.base) return RM_STATUS(RM_ERR_NULL, Y);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, DX);
  if (one) f->g.stride = 0;
  status = check_overlap(&f->out, &f->g, one ? 1 : f->n, f->n, f->format, DX);
  if (!status) status = check_overlap(&f->out, &f->x, f->n, f->n, f->format, DX);
  return status ? status : check_overlap(&f->out, &f->y, f->n, f->n, f->format, DX);
}

/* Positions of the arguments that losses in double-double have. */
enum { DD_FORMAT = 1, DD_REDUCTION, BCE_N = 3, KL_LOG_TARGET = 3, KL_COUNT, KL_N };

static rm_status begin_dd(const rm_dd_loss *f, int position_n) {
  if (no_format(f->format)) return RM_STATUS(RM_ERR_ENUM, DD_FORMAT);
  if (no_reduction(f->reduction)) return RM_STATUS(RM_ERR_ENUM, DD_REDUCTION);
  return f->n < 0 ? RM_STATUS(RM_ERR_SIZE, position_n) : RM_OK;
}

static rm_status check_inputs(const rm_dd_loss *f, int position) {
  rm_status status = RM_OK;
  for (int k = 0; k < RM_DD_LOSS_INPUTS && !status; k++)
    status = check_overlap(&f->out, &f->in[k], f->n, f->n, f->format, position);
  return status;
}

rm_status rm_bce_check(rm_dd_loss *f) {
  enum { X = BCE_N + 1, STRIDE_X, Y, STRIDE_Y, W, STRIDE_W, P, STRIDE_P, OUT };
  const rm_status status = begin_dd(f, BCE_N);
  const int none = f->reduction == RM_REDUCTION_NONE;
  f->count = f->reduction == RM_REDUCTION_MEAN ? f->n : 1;
  if (status || (none && f->n == 0)) return status;
  if (f->n && !f->in[RM_BCE_X].base) return RM_STATUS(RM_ERR_NULL, X);
  if (f->n && !f->in[RM_BCE_Y].base) return RM_STATUS(RM_ERR_NULL, Y);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, OUT);
  return none ? check_inputs(f, OUT) : RM_OK;
}

rm_status rm_bce_gradient_check(rm_dd_loss *f) {
  enum { G = BCE_N + 1, STRIDE_G, X, STRIDE_X, Y, STRIDE_Y, W, STRIDE_W, P, STRIDE_P, DX };
  const rm_status status = begin_dd(f, BCE_N);
  f->count = f->reduction == RM_REDUCTION_MEAN ? f->n : 1;
  if (status || f->n == 0) return status;
  if (!f->in[RM_BCE_G].base) return RM_STATUS(RM_ERR_NULL, G);
  if (!f->in[RM_BCE_X].base) return RM_STATUS(RM_ERR_NULL, X);
  if (!f->in[RM_BCE_Y].base) return RM_STATUS(RM_ERR_NULL, Y);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, DX);
  if (f->reduction != RM_REDUCTION_NONE) f->in[RM_BCE_G].stride = 0;
  return check_inputs(f, DX);
}

static rm_status begin_kl(rm_dd_loss *f) {
  const rm_status status = begin_dd(f, KL_N);
  if (status) return status;
  if (f->option != 0 && f->option != 1) return RM_STATUS(RM_ERR_RANGE, KL_LOG_TARGET);
  if (f->reduction != RM_REDUCTION_MEAN) f->count = 1;
  return f->count < 0 || (f->count == 0 && f->n > 0) ? RM_STATUS(RM_ERR_RANGE, KL_COUNT) : RM_OK;
}

rm_status rm_kl_check(rm_dd_loss *f) {
  enum { X = KL_N + 1, STRIDE_X, T, STRIDE_T, OUT };
  const rm_status status = begin_kl(f);
  const int none = f->reduction == RM_REDUCTION_NONE;
  if (status || (none && f->n == 0)) return status;
  if (f->n && !f->in[RM_KL_X].base) return RM_STATUS(RM_ERR_NULL, X);
  if (f->n && !f->in[RM_KL_T].base) return RM_STATUS(RM_ERR_NULL, T);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, OUT);
  return none ? check_inputs(f, OUT) : RM_OK;
}

rm_status rm_kl_gradient_check(rm_dd_loss *f) {
  enum { G = KL_N + 1, STRIDE_G, T, STRIDE_T, DX };
  const rm_status status = begin_kl(f);
  if (status || f->n == 0) return status;
  if (!f->in[RM_KL_G].base) return RM_STATUS(RM_ERR_NULL, G);
  if (!f->in[RM_KL_T].base) return RM_STATUS(RM_ERR_NULL, T);
  if (!f->out.base) return RM_STATUS(RM_ERR_NULL, DX);
  if (f->reduction != RM_REDUCTION_NONE) f->in[RM_KL_G].stride = 0;
  return check_inputs(f, DX);
}
