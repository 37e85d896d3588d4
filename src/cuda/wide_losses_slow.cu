/* Binary cross entropy and Kullback-Leibler divergence, where double-double leaves them open. */
#include "losses.h"

#include "elements_rest.h"

#include "../nn/decide.c"

#include "../nn/bce_element.h"
#include "../nn/kl_div_element.h"

#include "wide_sums.h"

enum { RM_WIDE_STACK = 176 << 10 };

rm_status rm_bce_rest(const rm_wide_loss &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_elements<rm_wide_loss, rm_bce_loss_result>(f, RM_WIDE_STACK, left, stream);
}
rm_status rm_bce_gradient_rest(const rm_wide_loss &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_elements<rm_wide_loss, rm_bce_gradient_result>(f, RM_WIDE_STACK, left, stream);
}
rm_status rm_kl_rest(const rm_wide_loss &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_elements<rm_wide_loss, rm_kl_loss_result>(f, RM_WIDE_STACK, left, stream);
}
rm_status rm_kl_gradient_rest(const rm_wide_loss &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_elements<rm_wide_loss, rm_kl_gradient_result>(f, RM_WIDE_STACK, left, stream);
}

rm_status rm_bce_reduce(const rm_wide_loss &f, const rm_wide_part *parts, int blocks, cudaStream_t stream) {
  return wide_total<rm_bce_total>(f, parts, blocks, RM_WIDE_STACK, stream);
}
rm_status rm_kl_reduce(const rm_wide_loss &f, const rm_wide_part *parts, int blocks, cudaStream_t stream) {
  return wide_total<rm_kl_total>(f, parts, blocks, RM_WIDE_STACK, stream);
}
