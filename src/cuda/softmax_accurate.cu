/* softmax and its relatives: the accurate phase of undecided rows. */
#include "softmax.h"

#define RM_SHARED_EXPONENTIALS 1
#include "../nn/softmax/share.h"
#define RM_SHARE rm_softmax_share
#define RM_SHARE_DECIDE rm_softmax_decide
#include "rows_accurate.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/exp_row.inl"
#include "../nn/rows/totals.inl"

#include "../nn/softmax/row.h"
#include "softmax_decide.h"

enum { RM_SOFTMAX_STACK = 144 << 10 };

rm_status rm_softmax_accurate(const rm_softmax_problem &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_softmax_problem, rm_softmax_row>(f, f.rows, f.n, 2, RM_SOFTMAX_STACK, undecided, stream);
}
rm_status rm_softmax_gradient_accurate(const rm_softmax_gradient_problem &f, const rm_undecided_set &undecided,
                                       cudaStream_t stream) {
  return accurate_rows<rm_softmax_gradient_problem, rm_softmax_gradient_row>(f, f.rows, f.n, 3, RM_SOFTMAX_STACK, undecided,
                                                                             stream);
}
