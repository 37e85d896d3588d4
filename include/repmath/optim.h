/* repmath: optimiser steps. Each state is one real function of the old states, the gradient and the hyperparameters, which
 * are exact binary64 numbers, rounded once; the new parameter is one of the new states (spec.md, section 5). */
#ifndef REPMATH_OPTIM_H
#define REPMATH_OPTIM_H

#include "reductions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* d = g, or -g where maximize is not 0, plus weight_decay p. With momentum the buffer b becomes RN(d) when first is not 0 (b
 * is then not read), else RN(momentum b + (1 - dampening) d). The parameter becomes RN(p - lr x), where x = d without
 * momentum, the new b with it, and d + momentum b with nesterov. */
typedef struct {
  double lr, momentum, dampening, weight_decay;
  int nesterov, maximize, first;
} rm_sgd_options;

/* With d as above, but only g where decoupled is not 0 (AdamW): m becomes RN(beta1 m + (1 - beta1) d), v RN(beta2 v + (1 -
 * beta2) d^2), with amsgrad w max(w, v); then, for step t = 1, 2 ..., p becomes RN(a p - lr (m/(1 - beta1^t)) / (sqrt(s/(1 -
 * beta2^t)) + eps)), s = w with amsgrad, else v; a = 1 - lr weight_decay where decoupled, else 1. */
typedef struct {
  double lr, beta1, beta2, eps, weight_decay;
  int64_t step;
  int decoupled, maximize;
} rm_adam_options;

/* One step of n elements, all arrays contiguous and in `format` (RM_FORMAT_...), any alignment. b is NULL exactly when
 * momentum is 0; w is NULL without amsgrad. An exact zero becomes +0. Where a number is not finite, results are those of
 * IEEE 754's rules for infinities applied to each operation of the formula (a weight decay of 0 adds no term); a NaN is the
 * canonical one.
 *
 * No two arrays may share bytes (RM_ERR_OVERLAP). RM_ERR_RANGE: a hyperparameter is not finite, lr, weight_decay, momentum
 * or eps is negative, a beta is outside [0, 1), step < 1, or nesterov without momentum or with dampening. */
RM_API rm_status rm_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options);
RM_API rm_status rm_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                              const rm_adam_options *options);

/* Gradient clipping: g becomes RN(c g), c = min(1, max_norm / root of S), where S is the exact total of an accumulator that
 * holds the squares of all gradients (rm_accumulator_add_products_<format>). Where c = 1 nothing is written; a zero of c or g
 * gives +0. Where S is infinite c is 0, and 0 times an infinity or a NaN is NaN; where S is NaN every element becomes NaN.
 * RM_ERR_RANGE, argument 5: max_norm is negative or not finite; argument 4: S is negative. rm_root_of_total is RN(root of S).
 * */
RM_API rm_status rm_clip_to_norm(int format, int64_t n, void *g, const rm_accumulator *squares, double max_norm);
RM_API rm_status rm_root_of_total(const rm_accumulator *squares, double *out);

#ifdef __cplusplus
}
#endif
#endif
