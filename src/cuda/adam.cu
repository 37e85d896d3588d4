/* Adam and AdamW: a step of all parameters (optimizers.h). */
#include "optimizers.h"

extern "C" rm_status rm_cuda_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                                       const rm_adam_options *options, rm_cuda_stream stream) {
  rm_optimizer o = optimizer_of(RM_ADAM, format, n, p, g);
  o.m = static_cast<char *>(m), o.v = static_cast<char *>(v), o.w = static_cast<char *>(w);
  const rm_status status = rm_adam_check(&o, options);
  return status || n == 0 ? status : launch_steps<true>(o, stream);
}
