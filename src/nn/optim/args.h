/* The problem of a step of an optimiser: its arguments, and what depends on them alone.
 *
 * With the gradient d = +-g (+ decay p, when coupled), the states and the parameter become (spec.md, section 5)
 *
 *   SGD     b' = RN(beta1 b + keep d)              with momentum, from the second step on; at the first b' = RN(d)
 *           p' = RN(p - lr x)                      x = d without momentum, b' with it, d + beta1 b' with Nesterov's
 *   Adam    m' = RN(beta1 m + (1 - beta1) d)
 *           v' = RN(beta2 v + (1 - beta2) d^2),    w' = max(w, v') with amsgrad
 *           p' = RN(a p - lr (m'/D1) / (sqrt(s/D2) + eps)),  Dk = 1 - betak^t, s = v' or w', a = 1 - lr decay (AdamW) or 1 */
#pragma once

#include <stdint.h>

#include "../../../crlibm/fp/bits.h"
#include "../../../include/repmath/optim.h"
#include "../../common/rounding_words.h"

enum { RM_SGD, RM_ADAM };
enum { FIRST_MOMENT, SECOND_MOMENT, PARAMETER, QUANTITIES }; /* the quantities of optim/formula.inc */

/* Coefficients of the vector loops in two parts, each within 2^-100 of the number of the formula (rate and eps: within
 * 2^-85); fast = 0 when one of them is not 0 and outside 2^-200 ... 2^200, or not known so well. lr, decay, beta1 and beta2
 * are exact. */
typedef struct {
  int fast;
  double keep1[2], keep2[2]; /* 1 - dampening or 1 - beta1; 1 - beta2 */
  double rate[2],
      eps[2]; /* Adam: lr sqrt(D2)/D1 and eps sqrt(D2), for the quotient's numerator and denominator times sqrt(D2) */
  double a[2];
} rm_optimizer_constants;

typedef struct {
  int kind, format;
  int64_t n;
  char *p, *m, *v, *w; /* m: momentum buffer or first moment; NULL where there is none */
  const char *g;
  double lr, beta1, beta2, eps, decay, dampening; /* beta1: momentum of SGD; decay: coupled, or decoupled */
  int64_t t;
  int negate, first, nesterov, decoupled;
  rm_optimizer_constants constants;
  rm_random_rounding random; /* mode 0: to nearest; else streams `stream` + rm_step_stream(quantity) */
  double numbers[10][3]; /* the same in double-double, with bounds: crlibm/enclosure/dd_ball.h */
} rm_optimizer;

/* The status of the arguments: the public function has put kind, format, n and the arrays into *o, the rest is set here. */
rm_status rm_sgd_check(rm_optimizer *o, const rm_sgd_options *options);
rm_status rm_adam_check(rm_optimizer *o, const rm_adam_options *options);

/* One element: the numbers that a step reads and replaces, as bits of the format, and the words of its quantities. */
typedef struct {
  uint64_t p, g, m, v, w;
  uint32_t word[QUANTITIES];
} rm_optimizer_element;

/* The place of a quantity's stream behind that of the parameter. */
RM_FN uint64_t rm_step_stream(int quantity) { return quantity == PARAMETER ? 0 : (uint64_t)quantity + 1; }

/* Among the flags: no precision decided a parameter, which is NaN then. */
#define RM_STEP_UNDECIDED (UINT32_C(1) << 31)

/* Elements [begin, end). Returns RM_FLAG_* bits and RM_STEP_UNDECIDED. */
typedef uint32_t rm_optimizer_fn(const rm_optimizer *o, int64_t begin, int64_t end);

/* The accurate phase of one element, whatever it holds. */
RM_HOST_EXTERN uint32_t rm_optimizer_accurate(const rm_optimizer *o, rm_optimizer_element *e);
/* The same for the elements [begin, end). */
RM_HOST_EXTERN uint32_t rm_optimizer_accurate_range(const rm_optimizer *o, int64_t begin, int64_t end);
