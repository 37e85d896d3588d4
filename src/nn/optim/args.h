/* A step of an optimiser made ready on the host: its arguments checked, what depends on them alone computed. The functions take
 * the arguments of the public ones (include/repmath/optim.h) and return their status; *job is for the loops only when it is
 * RM_OK and job->n is not 0. */
#ifndef RM_NN_OPTIM_ARGS_H
#define RM_NN_OPTIM_ARGS_H

#include "../../../include/repmath/optim.h"
#include "optimizers.h"

rm_status rm_sgd_job(rm_optimizer *job, int format, int64_t n, void *p, const void *g, void *b,
                     const rm_sgd_options *options);
rm_status rm_adam_job(rm_optimizer *job, int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                      const rm_adam_options *options);

#endif
