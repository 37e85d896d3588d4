/* The loops over the terms of losses over pairs (x, y), compiled once per ISA: terms in binary64, or in two parts, with
 * bounds of their errors. Ziv's rounding tests for them are in loss/step.h and rows/step.h. */
#pragma once

#include <stdint.h>

/* With d = x - y and a threshold b, possibly infinite (b > 0). The losses are these by their divisors (loss/args.c). */
typedef enum {
  RM_TERM_SQUARE, /* d^2 where |d| < b, else b (2 |d| - b) */
  RM_TERM_ABSOLUTE, /* |d| */
  RM_TERM_CLAMPED, /* g d, with d brought between -b and b */
  RM_TERM_SIGN /* g sign(d) */
} rm_term_kind;

/* Buffers with room for whole groups of RM_ROW_PAD numbers, readable so far. */
typedef struct {
  int64_t n;
  rm_term_kind kind;
  const double *x, *y, *g; /* g NULL: 1 */
  double b, scale, scale_low; /* the term is multiplied by scale + scale_low, 2^-200 to 2^200, within 2^-102 of it */
  int exact; /* scale is a power of two, scale_low is 0, b at least 2^-200: products by them lose nothing within binary64's
                range */
  double *t, *low, *err;
} rm_term_block;

/* The losses that go on in double-double, and their gradients: terms of rm_dd_loss (loss/entropy_step.h). */
typedef enum {
  RM_ENTROPY_BCE,
  RM_ENTROPY_BCE_GRADIENT,
  RM_ENTROPY_KL,
  RM_ENTROPY_KL_LOG,
  RM_ENTROPY_KL_GRADIENT,
  RM_ENTROPY_KL_LOG_GRADIENT
} rm_entropy_kind;
enum { RM_ENTROPY_INPUTS = 5 };
typedef struct {
  int64_t n;
  rm_entropy_kind kind;
  const double *in[RM_ENTROPY_INPUTS]; /* by their places in rm_dd_loss; NULL: 1 */
  double count; /* what a gradient is divided by */
  int exact; /* count is a power of two */
  double *t, *err;
} rm_entropy_block;

/* Elements next to each other, of a format below binary64 (loss/pairs.h). */
enum { RM_PAIR_BLOCK = 1024 };
#define RM_PAIR_SUM_ERR RM_BOUND(0x1p-42)
typedef struct {
  int64_t n; /* RM_PAIR_BLOCK at most, of a sum */
  int format;
  rm_term_kind kind;
  const char *x, *y;
  double b;
  double c;  /* of a gradient: what its terms are multiplied by, of 2^-400 to 2^400 */
  int exact; /* c is a power of two, and has no error */
} rm_pair_run;

struct rm_loss_kernels {
  /* t and err: the term of x, y, g of a format below binary64, within err, which includes 2^-52 of it, or 0. */
  void (*terms)(const rm_term_block *p);
  /* t + low, the term of numbers of any format, within err. */
  void (*terms_dd)(const rm_term_block *p);
  /* Binary64 results next to each other, of t + low within err; the indices of undecided ones go to index, and their number
   * is returned. */
  int64_t (*round_dd)(int64_t n, const double *t, const double *low, const double *err, double *out, int64_t *index);
  /* t and err: the term of inputs of a format below binary64, within err, which includes 2^-52 of it, or 0. */
  void (*entropies)(const rm_entropy_block *p);
  /* The sum of terms of SQUARE or ABSOLUTE, within RM_PAIR_SUM_ERR of it, or what is not finite. */
  double (*pair_sum)(const rm_pair_run *p);
  /* RM_ACC_... of what is not finite in the terms. */
  uint32_t (*pair_classes)(const rm_pair_run *p);
  /* Results of CLAMPED in binary32; as round_dd. */
  int64_t (*pair_gradient)(const rm_pair_run *p, char *out, int64_t *index);
};
