/* repmath: optimiser steps. Each new state is one real function of the old states, the gradient and the hyperparameters,
 * rounded once; the new parameter is such a function of the new states. Hyperparameters are exact binary64 numbers (spec.md,
 * section 5). */
#ifndef REPMATH_OPTIM_H
#define REPMATH_OPTIM_H

#include "reductions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Let d be g, or -g if maximize is not 0, plus weight_decay p. With momentum the buffer b becomes RN(d) if `first` is not 0,
 * in which case b is not read, else RN(momentum b + (1 - dampening) d). The parameter becomes RN(p - lr x), where x is d
 * without momentum, the new b with it, and d + momentum b with nesterov. */
typedef struct {
  double lr, momentum, dampening, weight_decay;
  int nesterov, maximize, first;
} rm_sgd_options;

/* Let d be as above, but without weight_decay p if `decoupled` is not 0 (AdamW). m becomes RN(beta1 m + (1 - beta1) d), v
 * becomes RN(beta2 v + (1 - beta2) d^2), and with amsgrad w becomes max(w, v). Then, for step t = 1, 2 ..., p becomes
 * RN(a p - lr (m/(1 - beta1^t)) / (sqrt(s/(1 - beta2^t)) + eps)), where s is w with amsgrad, else v, and a is 1 - lr
 * weight_decay if decoupled, else 1. */
typedef struct {
  double lr, beta1, beta2, eps, weight_decay;
  int64_t step;
  int decoupled, maximize;
} rm_adam_options;

/* Each function makes one step of n elements. All arrays are contiguous and in `format` (RM_FORMAT_...), with any alignment.
 * b is NULL exactly if momentum is 0; w is NULL without amsgrad. An exact zero becomes +0. If a number is not finite, each
 * operation of the formula follows IEEE 754's rules for infinities (a weight decay of 0 adds no term); a NaN result is the
 * canonical one.
 *
 * No two arrays may share bytes (RM_ERR_OVERLAP). RM_ERR_RANGE: a hyperparameter is not finite, lr, weight_decay, momentum
 * or eps is negative, a beta is outside [0, 1), step < 1, or nesterov without momentum or with dampening. */
RM_API rm_status rm_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options);
RM_API rm_status rm_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                              const rm_adam_options *options);

/* rm_clip_to_norm clips gradients: g becomes RN(c g), c = min(1, max_norm / root of S), where S is the exact total of an
 * accumulator that holds the squares of all gradients (rm_accumulator_add_products_<format>). If c = 1, nothing is written; a
 * zero of c or g gives +0. If S is infinite, c is 0, and 0 times an infinity or a NaN is NaN. If S is NaN, every element
 * becomes NaN. RM_ERR_RANGE, argument 5: max_norm is negative or not finite; argument 4: S is negative. rm_root_of_total is
 * RN(root of S). */
RM_API rm_status rm_clip_to_norm(int format, int64_t n, void *g, const rm_accumulator *squares, double max_norm);
RM_API rm_status rm_root_of_total(const rm_accumulator *squares, double *out);

#ifdef __cplusplus
}
#endif
#endif
