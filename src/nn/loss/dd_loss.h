/* Losses element by element that start in double-double: bce_element.h, kl_div_element.h. A call made ready on the host. */
#ifndef RM_NN_LOSS_DD_LOSS_H
#define RM_NN_LOSS_DD_LOSS_H

#include "../../../include/repmath/losses.h"
#include "../rows/parallel.h"

enum { RM_DD_LOSS_INPUTS = 5 };
enum { RM_BCE_X, RM_BCE_Y, RM_BCE_W, RM_BCE_P, RM_BCE_G };
enum { RM_KL_X, RM_KL_T, RM_KL_G };

typedef struct {
  int format, reduction, option; /* option: log_target of kl_div */
  int64_t n, count;              /* count: what a mean divides by, else 1 */
  rm_row_array in[RM_DD_LOSS_INPUTS], out; /* an input that is missing counts as 1 */
  double top; /* m of a sum in kl_div_element.h */
  int rational; /* the logarithms of a sum of kl_div cancel, and count as 0 */
  const char *cancels; /* or NULL. On the host, of each element of a sum: its transcendental part cancels with others', and counts as 0 */
} rm_dd_loss;

/* The arguments of the public functions (include/repmath/losses.h), and their status. */
rm_status rm_bce_job(rm_dd_loss *f, int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                     ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                     ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out);
rm_status rm_bce_gradient_job(rm_dd_loss *f, int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                              ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight,
                              const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx, ptrdiff_t stride_dx);
rm_status rm_kl_job(rm_dd_loss *f, int format, int reduction, int log_target, int64_t count, int64_t n, const void *x,
                    ptrdiff_t stride_x, const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out);
rm_status rm_kl_gradient_job(rm_dd_loss *f, int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                             ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx);

/* On the host. The result of element i, and of all; that is the sum, or the sum over count: NaN for 0/0. */
typedef uint64_t rm_dd_loss_fn(const rm_dd_loss *f, int64_t i, rm_row_state *state);
typedef uint64_t rm_mp_total_fn(const rm_dd_loss *f, rm_row_state *state);
rm_status rm_dd_loss_each(const rm_dd_loss *f, rm_dd_loss_fn *one);
rm_status rm_dd_loss_total(const rm_dd_loss *f, rm_mp_total_fn *total);

#endif
