/* Normalization of sets of elements, each by its own mean and variance: layer, group, instance and batch norm are one operator over
 * different sets. A set is outer blocks of inner elements; sets are counted by two indices. */
#ifndef RM_NN_NORM_NORMALIZE_H
#define RM_NN_NORM_NORMALIZE_H

#include "../rows/decide.h"
#include "args.h"

/* Approximate statistics of a set: the mean c within c_err, a = 1/sqrt(variance + eps) within rel of it, v = variance + eps. */
typedef struct {
  double c, c_err, a, rel, v;
  double spread; /* at least the root of the sum of (x - c)^2 */
} rm_norm_statistics;

/* A set for the slow tiers: x, its elements; h, the gradients times the weights, with the format of their factors; what was found. */
typedef struct {
  const rm_norm_job *norm;
  int64_t n, set0, set1;
  const double *x, *g, *w, *b, *h;
  int limbs_dd_ball, limbs_ball, checked;
  struct {
    rm_dd_ball sum, square, root, first, second;
  } dd_ball;
  struct {
    rm_ball sum, square, root, first, second;
  } ball;
} rm_norm_row;

RM_FN int64_t rm_norm_length(const rm_norm_job *f) { return f->outer * f->inner; }
RM_HOST_EXTERN double rm_norm_given(const rm_norm_job *f, const rm_set_places *p, int64_t set0, int64_t set1);
/* The elements of a set, blocks one after the other, then `pad`. */
RM_HOST_EXTERN void rm_norm_load(const rm_norm_job *f, const rm_set_places *p, int64_t set0, int64_t set1, double pad, const rm_row_state *state, double *to);
/* 0 when nothing is known within the bounds. x is padded by 0, which stays so. */
RM_HOST_EXTERN int rm_norm_approximate(const rm_norm_job *f, int64_t set0, int64_t set1, double *x, const rm_row_state *state, rm_norm_statistics *s);

/* What is known of a set without arithmetic: its deviations are 0, and so is no variance with eps; or it has no definite mean or root. */
enum { RM_SET_ORDINARY, RM_SET_CONSTANT, RM_SET_INVALID };
RM_HOST_EXTERN int rm_norm_classify(const rm_norm_job *f, int64_t set0, int64_t set1, int64_t n, const double *x);
/* An infinite or NaN result d w + b, of which d is a deviation. */
RM_HOST_EXTERN uint64_t rm_norm_special(double d, double w, double b, int format, uint32_t *flags);
RM_HOST_EXTERN void rm_norm_row_begin(const rm_norm_job *f, int64_t set0, int64_t set1, rm_norm_row *r);

/* The result of a set, and the gradient by x. */
RM_HOST_EXTERN void rm_norm_forward_set(const void *operation, int64_t set, rm_row_state *state);
RM_HOST_EXTERN void rm_norm_backward_set(const void *operation, int64_t set, rm_row_state *state);

/* What all gradients by w need. */
typedef struct {
  int format;
  rm_norm_job f;
  rm_norm_statistics *statistics; /* of each set; rel < 0: not known */
  signed char *kind;              /* RM_SET_ of each set */
} rm_norm_weights;

/* The gradient by w: of each w that f->w has places for; f->y says where it goes. RM_ERR_MEMORY, or done. */
rm_status rm_norm_backward_weights(const rm_norm_job *f);

#endif
