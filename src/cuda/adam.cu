/* Adam and AdamW: a step of all parameters (optimizers.h). */
#include "optimizers.h"

extern "C" rm_status rm_cuda_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                                       const rm_adam_options *options, rm_cuda_stream stream) {
  const rm_cuda_step_arrays tensor = {n, p, g, m, v, w, nullptr};
  rm_optimizer o = optimizer_of(RM_ADAM, format, tensor);
  const rm_status status = rm_adam_check(&o, options);
  return status || n == 0 ? status : launch_steps<true>(o, 1, &tensor, nullptr, stream);
}

extern "C" rm_status rm_cuda_adam_steps(int format, int64_t count, const rm_cuda_step_arrays *tensors,
                                        const rm_adam_options *options, const rm_cuda_step_scale *scale,
                                        rm_cuda_stream stream) {
  return steps_of_list<true>(RM_ADAM, format, count, tensors, options, scale, rm_adam_check, stream);
}
