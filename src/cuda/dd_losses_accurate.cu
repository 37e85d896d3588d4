/* Binary cross entropy and Kullback-Leibler divergence: the accurate phase of elements and sums that double-double leaves
 * undecided. */
#include "losses.h"

#include "elements_accurate.h"

#include "../nn/rows/decide.inl"

#include "../nn/loss/bce_element.h"
#include "../nn/loss/kl_div_element.h"

#include "dd_sums.h"

enum { RM_DD_LOSS_STACK = 176 << 10 };

rm_status rm_bce_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_dd_loss, rm_bce_loss_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}
rm_status rm_bce_gradient_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_dd_loss, rm_bce_gradient_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}
rm_status rm_kl_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_dd_loss, rm_kl_loss_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}
rm_status rm_kl_gradient_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_dd_loss, rm_kl_gradient_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}

rm_status rm_bce_reduce(const rm_dd_loss &f, const rm_dd_ball_part *parts, int blocks, cudaStream_t stream) {
  return dd_ball_total<rm_bce_total>(f, parts, blocks, RM_DD_LOSS_STACK, stream);
}
rm_status rm_kl_reduce(const rm_dd_loss &f, const rm_dd_ball_part *parts, int blocks, cudaStream_t stream) {
  return dd_ball_total<rm_kl_total>(f, parts, blocks, RM_DD_LOSS_STACK, stream);
}
