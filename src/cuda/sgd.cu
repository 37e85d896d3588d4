/* SGD: a step of all parameters (optimizers.h). */
#include "optimizers.h"

extern "C" rm_status rm_cuda_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options,
                                      rm_cuda_stream stream) {
  const rm_cuda_step_arrays tensor = {n, p, g, b, nullptr, nullptr, nullptr};
  rm_optimizer o = optimizer_of(RM_SGD, format, tensor);
  const rm_status status = rm_sgd_check(&o, options);
  return status || n == 0 ? status : launch_steps<false>(o, 1, &tensor, nullptr, stream);
}

extern "C" rm_status rm_cuda_sgd_steps(int format, int64_t count, const rm_cuda_step_arrays *tensors,
                                       const rm_sgd_options *options, const rm_cuda_step_scale *scale,
                                       rm_cuda_stream stream) {
  return steps_of_list<false>(RM_SGD, format, count, tensors, options, scale, rm_sgd_check, stream);
}
