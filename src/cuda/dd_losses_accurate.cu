/* Binary cross entropy and Kullback-Leibler divergence: the accurate phase of elements and sums that double-double leaves
 * undecided. */
#include "losses.h"

#include "elements_rest.h"

#include "../nn/rows/decide.inl"

#include "../nn/loss/bce_element.h"
#include "../nn/loss/kl_div_element.h"

#include "dd_sums.h"

enum { RM_DD_LOSS_STACK = 176 << 10 };

rm_status rm_bce_rest(const rm_dd_loss &f, const rm_open_set &undecided, cudaStream_t stream) {
  return rest_of_elements<rm_dd_loss, rm_bce_loss_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}
rm_status rm_bce_gradient_rest(const rm_dd_loss &f, const rm_open_set &undecided, cudaStream_t stream) {
  return rest_of_elements<rm_dd_loss, rm_bce_gradient_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}
rm_status rm_kl_rest(const rm_dd_loss &f, const rm_open_set &undecided, cudaStream_t stream) {
  return rest_of_elements<rm_dd_loss, rm_kl_loss_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}
rm_status rm_kl_gradient_rest(const rm_dd_loss &f, const rm_open_set &undecided, cudaStream_t stream) {
  return rest_of_elements<rm_dd_loss, rm_kl_gradient_result>(f, RM_DD_LOSS_STACK, undecided, stream);
}

rm_status rm_bce_reduce(const rm_dd_loss &f, const rm_mp_part *parts, int blocks, cudaStream_t stream) {
  return wide_total<rm_bce_total>(f, parts, blocks, RM_DD_LOSS_STACK, stream);
}
rm_status rm_kl_reduce(const rm_dd_loss &f, const rm_mp_part *parts, int blocks, cudaStream_t stream) {
  return wide_total<rm_kl_total>(f, parts, blocks, RM_DD_LOSS_STACK, stream);
}
