/* The table of the functions that src/nn compiles once per ISA.
 *
 * Composite operators work on rows of binary64: they load a row from its format and strides, exactly, evaluate it, and round
 * the results with Ziv's rounding test. Buffers of rows have room for whole groups of RM_ROW_PAD numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../../include/repmath/rounding.h"
#include "../../runtime/isa.h"
#include "../optim/clip.h"
#include "../formula/args.h"
#include "../optim/args.h"

enum { RM_ROW_PAD = 32 }; /* four vectors of the widest build */

/* Relative errors (derived in rows/step.h): of an exponential, of their sum, of moments. */
#define RM_ROW_EXP_ERR 0x1p-44
#define RM_ROW_SUM_ERR 0x1.2p-44
#define RM_ROW_MOMENT_ERR 0x1.4p-48
#define RM_ROW_EXP_MIN (-170.0) /* e^x counts as 0 below; 2^-245.26 */
#define RM_ROW_EXP_MAX 170.0

/* The values to be rounded, in terms of row elements u, v, w, b and numbers a, c, d of the row. */
typedef enum {
  RM_ROW_SCALED,        /* u a */
  RM_ROW_SHIFTED,       /* (u - c) - a */
  RM_ROW_WEIGHTED,      /* v (u - a) */
  RM_ROW_LESS_EXP,      /* u - e^v a */
  RM_ROW_DIFFERENCE,    /* (u a - v) d */
  RM_ROW_AFFINE,        /* ((u - c) a) w + b */
  RM_ROW_AFFINE_SAME,   /* ((u - c) a) w0 + b0 */
  RM_ROW_CENTERED,      /* a ((u - c) - (v - d) b0) */
  RM_ROW_GIVEN,         /* u, within v, which includes 2^-52 of it */
  RM_ROW_SCALED_RAW,    /* as SCALED and AFFINE_SAME, on the host, where u has not been loaded: its elements are at `raw` */
  RM_ROW_AFFINE_RAW
} rm_row_operation;

/* Where results are given as balls, in place of rounding them to nearest: the result that belongs at origin + i size is
 * within radius[i] of middle[i]; a radius that is not finite says nothing. Statistics of set i have the others. */
typedef struct {
  double *middle, *radius, *mean, *mean_radius, *root, *root_radius;
  const char *origin;
  /* Not NULL: results are rounded under it and stored. Those that are left are balls as above, *count of them in `left`. */
  const rm_random_rounding *rounding;
  int64_t *left, *count;
} rm_row_balls;

#if !RM_DEVICE
/* Result `at` is left, as the ball that is there. */
RM_FN void rm_row_leave(const rm_row_balls *b, int64_t at) {
  b->left[__atomic_fetch_add(b->count, 1, __ATOMIC_RELAXED)] = at;
}
#endif

/* Results are stored next to each other in format fmt (below binary64). The indices of those that the bounds do not decide,
 * or that are not finite, go to undecided. */
typedef struct {
  int64_t n;
  const double *u, *v, *w, *b;
  const char *raw; /* elements of format fmt beside each other; may be what `out` is */
  double a, c, d, w0, b0;
  double rel, err, slope; /* bounds, whose meaning rows/step.h gives for each operation */
  int fmt;
  void *out;
  int64_t *undecided;
  const rm_row_balls *balls; /* NULL: none; else results go there. Undecided are only finite ones, where balls are rounded. */
} rm_row_store;

/* A row of weights given by direction and length, or, with r, of their gradient (norm/direction.h). */
typedef struct {
  int64_t n;
  const float *v, *r;
  float *out;
  double g, length, by, scale; /* by: what v is multiplied by before it is taken from r; scale: g/length */
  double rel, err;
  int exact; /* every step is rounded to binary64; else `scale` serves, within the bounds */
} rm_direction_row;

/* RM_COLUMNS columns of n elements next to each other (softmax/columns.h). kind: 0 softmax, 1 log_softmax, 2 the gradient of
 * softmax, where x is the result and g the gradient with respect to it. Strides are those from row to row, in bytes. */
enum { RM_COLUMNS = 16 };
typedef struct {
  int kind;
  int64_t n;
  const char *x, *g;
  char *out;
  ptrdiff_t stride_x, stride_g, stride_out;
} rm_softmax_columns;

struct rm_loss_kernels;
struct rm_pool_kernels;
struct rm_sample_kernels;
struct rm_wide_kernels;
struct rm_nn_kernels {
  /* to[i] = element i, exactly; then `pad` up to a multiple of RM_ROW_PAD, at least one of them. */
  void (*load)(int64_t n, const char *x, ptrdiff_t stride, int fmt, double pad, double *to);
  /* The maximum; NaN where an element is NaN. */
  double (*max)(int64_t n, const double *x);
  /* e[i] = exp(x[i] - shift) within RM_ROW_EXP_ERR, 0 where x[i] - shift < RM_ROW_EXP_MIN; x[i] - shift < 170. Returns
   * their sum, within RM_ROW_SUM_ERR of the sum of the exact exponentials that are not 0 here. x is padded by -infinity. */
  double (*exponentials)(int64_t n, const double *x, double shift, double *e);
  /* s: the sum of x - shift, q: that of its squares; x is padded by shift. Each within RM_ROW_MOMENT_ERR of the sum of its
   * terms' magnitudes. */
  void (*moments)(int64_t n, const double *x, double shift, double *s, double *q);
  /* h = g w for g, w of a format below binary64, exactly; sums of h, h^2 and h (x - shift), as above. w may be padded by
   * anything finite, g and x by numbers that make terms of 0. */
  void (*weighted)(int64_t n, const double *g, const double *w, const double *x, double shift, double *h, double *sums);
  /* Sums of g, g^2 and g (x - shift), as above. */
  void (*gradients)(int64_t n, const double *g, const double *x, double shift, double *sums);
  /* Adds t = g (x - c) a to sum, and |t| rel + |g| err to bound, element by element. */
  void (*columns)(int64_t n, const double *g, const double *x, double c, double a, double rel, double err, double *sum,
                  double *bound);
  /* Returns how many indices are in undecided. */
  int64_t (*store)(rm_row_operation op, const rm_row_store *s);

  /* Sums of v^2, r v and r^2 (those of r where it is not NULL); and the results of a row: returns whether one is open. */
  void (*direction_sums)(int64_t n, const float *v, const float *r, double *sums);
  int (*direction_store)(const rm_direction_row *d);

  /* The columns of which a result is open. e: room for RM_COLUMNS n numbers. NULL where too few lanes make it pay. */
  uint32_t (*side_by_side)(const rm_softmax_columns *p, double *e, uint32_t *flags);

  rm_optimizer_fn *sgd[4], *adam[4]; /* by format */
  rm_clip_fn *clip[4];
  rm_formula_fn *formula[4];
  rm_formula_fn *odd; /* of the formulas below binary64 */
  rm_convert_fn *convert;
  rm_gate_fn *gate;

  const struct rm_loss_kernels *losses; /* loss/kernels.h */
  const struct rm_pool_kernels *pooling; /* pool/kernels.h */
  const struct rm_sample_kernels *sampling; /* sample/kernels.h */
  const struct rm_wide_kernels *wide; /* rows/wide_kernels.h */
};
RM_ISA_TABLES(struct rm_nn_kernels, rm_nn_table, rm_nn_kernels)
