/* Adam and AdamW: a step of all parameters (optimizers.h). */
#include "optimizers.h"

extern "C" rm_status rm_cuda_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                                       const rm_adam_options *options, rm_cuda_stream stream) {
  rm_optimizer o;
  const rm_status status = rm_adam_job(&o, format, n, p, g, m, v, w, options);
  return status || n == 0 ? status : launch_steps<true>(o, stream);
}
