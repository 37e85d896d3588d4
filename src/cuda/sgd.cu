/* SGD: a step of all parameters (optimizers.h). */
#include "optimizers.h"

extern "C" rm_status rm_cuda_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options,
                                      rm_cuda_stream stream) {
  rm_optimizer o;
  const rm_status status = rm_sgd_job(&o, format, n, p, g, b, options);
  return status || n == 0 ? status : launch_steps<false>(o, stream);
}
