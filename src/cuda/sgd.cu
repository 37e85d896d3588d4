/* SGD: a step of all parameters (optimizers.h). */
#include "optimizers.h"

extern "C" rm_status rm_cuda_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options,
                                      rm_cuda_stream stream) {
  rm_optimizer o = optimizer_of(RM_SGD, format, n, p, g);
  o.m = static_cast<char *>(b);
  const rm_status status = rm_sgd_check(&o, options);
  return status || n == 0 ? status : launch_steps<false>(o, stream);
}
