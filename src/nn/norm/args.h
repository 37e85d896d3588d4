/* A norm made ready on the host: its arguments checked. */
#ifndef RM_NN_NORM_ARGS_H
#define RM_NN_NORM_ARGS_H

#include "../../../include/repmath/nn.h"
#include "../rows/parallel.h"

/* Bytes between sets (by either index), blocks, elements. base NULL: not given. */
typedef struct {
  char *base;
  ptrdiff_t set[2], outer, inner;
} rm_set_places;

typedef struct {
  int format, centered; /* centered: the mean is subtracted; else root mean square */
  int64_t sets[2], outer, inner;
  rm_set_places x, w, b, y, g; /* y: the result; g: the gradient, where there is one */
  rm_set_places mean, variance; /* given ones, of one element a set; else they are the set's own */
  char *found_mean, *found_root; /* NULL, or where the statistics of the sets are stored, one after the other */
  double eps;
} rm_norm_job;

/* The arguments of the public functions (include/repmath/nn.h), and their status; f->sets[0] is 0 where nothing is to be done. */
rm_status rm_normalize_job(rm_norm_job *f, int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                           const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                           const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy);
/* Of a job that is made: where its statistics go. `position` is that of mean, which is followed by root. */
rm_status rm_normalize_statistics_job(rm_norm_job *f, const rm_norm_sets *sets, const ptrdiff_t *sx, const ptrdiff_t *sw, const ptrdiff_t *sb,
                                      const ptrdiff_t *sy, void *mean, void *root, int position);
rm_status rm_normalize_backward_job(rm_norm_job *f, int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                    const void *x, const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean,
                                    const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv, double eps, void *dx,
                                    const ptrdiff_t *sdx);
rm_status rm_normalize_backward_weight_job(rm_norm_job *f, int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                           const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                           const void *variance, const ptrdiff_t *sv, double eps, void *dw, const ptrdiff_t *sdw);

#endif
