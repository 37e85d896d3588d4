/* The problems of losses and of their gradients. */
#pragma once

#include "../../../include/repmath/losses.h"
#include "../rows/parallel.h"
#include "kernels.h"

/* A regression loss or its gradient: terms of loss/kernels.h times factor/(divisor count). The public function gives loss, p,
 * format, reduction, n and the arrays; the check sets the rest. */
typedef struct {
  int loss, format, reduction;
  double p;
  int64_t n;
  rm_row_array g, x, y, out; /* g.base NULL: 1 */
  rm_term_kind kind;
  double b, divisor, factor; /* factor: 1/2, 1 or 2 */
  int64_t count;             /* what a mean divides by, else 1 */
} rm_pair_loss;

/* A loss whose elements go on in double-double (bce_element.h, kl_div_element.h) where they do not begin there, as those of
 * binary64 do, or its gradient. An input that is missing counts as 1. */
enum { RM_DD_LOSS_INPUTS = RM_ENTROPY_INPUTS };
enum { RM_BCE_X, RM_BCE_Y, RM_BCE_W, RM_BCE_P, RM_BCE_G };
enum { RM_KL_X, RM_KL_T, RM_KL_G };
typedef struct {
  int format, reduction, option; /* option: log_target of kl_div */
  int64_t n, count;              /* count: what a mean divides by, else 1 */
  rm_row_array in[RM_DD_LOSS_INPUTS], out;
  double top; /* m of a sum in kl_div_element.h */
  int rational; /* the logarithms of a sum of kl_div cancel, and count as 0 */
  /* On the host, of each element of a sum: whether its transcendental part cancels with others', and counts as 0. Or NULL. */
  const char *cancels;
} rm_dd_loss;

/* The status of the arguments (include/repmath/losses.h) that *f holds. Those of kl_div's mean include count. */
rm_status rm_pair_loss_check(rm_pair_loss *f);
rm_status rm_pair_gradient_check(rm_pair_loss *f);
rm_status rm_bce_check(rm_dd_loss *f);
rm_status rm_bce_gradient_check(rm_dd_loss *f);
rm_status rm_kl_check(rm_dd_loss *f);
rm_status rm_kl_gradient_check(rm_dd_loss *f);

/* On the host: the result of element i, and of all elements, which is the sum, or the sum over count: NaN for 0/0. */
typedef uint64_t rm_dd_loss_fn(const rm_dd_loss *f, int64_t i, rm_row_state *state);
typedef uint64_t rm_dd_loss_total_fn(const rm_dd_loss *f, rm_row_state *state);
rm_status rm_dd_loss_each(const rm_dd_loss *f, rm_entropy_kind kind, rm_dd_loss_fn *one);
rm_status rm_dd_loss_total(const rm_dd_loss *f, rm_entropy_kind kind, rm_dd_loss_total_fn *total);
