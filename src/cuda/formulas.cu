/* Formulas: one thread for each element runs the CPU's fast phase (nn/formula/step.h), or double-double if that is undecided
 * or its bounds do not hold. An element that needs more is not written, since out may be an argument. */
#include "formulas.h"

#include "elements_fast.h"

#include "../../include/repmath/cuda_formulas.h"

#include "../nn/formula/accurate.inl"
#include "../nn/formula/step.h"

namespace {

/* All threads have the same formula: branching on it costs less than a kernel for each. */
template <class T, int fmt>
__global__ void __launch_bounds__(RM_BLOCK) formula_kernel(rm_formula_problem f, rm_undecided_set undecided, bool by_words) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const char *const arrays[] = {f.x, rm_formula_has_y(f.formula) ? f.y : nullptr,
                                rm_formula_has_z(f.formula) ? f.z : nullptr};
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < f.n; i += step) {
    const int64_t at = i * static_cast<int64_t>(sizeof(T));
    T in[3] = {}, out;
    vf64 r;
    for (int k = 0; k < 3; k++)
      if (arrays[k]) in[k] = element<T>::load(arrays[k] + at, by_words);
    if (f.by_vectors &&
        vm64_none(rm_formula_values(&f, reinterpret_cast<const char *>(in), reinterpret_cast<const char *>(in + 1),
                                    reinterpret_cast<const char *>(in + 2), fmt, f.formula, &r))) {
      rm_store_elements(reinterpret_cast<char *>(&out), r, fmt);
      element<T>::store(f.out + at, out, by_words);
      continue;
    }
    rm_row_state state = {};
    rm_formula_result(&f, i, &state);
    if (state.deferred) undecided.add(i);
  }
}

template <class T, int fmt> rm_status launch(const rm_formula_problem &f, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const workspace bits(rm_undecided_set::bytes(f.n), s);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, bits, f.n, false);
  if (status) return status;
  const bool by_words = aligned<T>(f.x, 0) && aligned<T>(f.y, 0) && aligned<T>(f.z, 0) && aligned<T>(f.out, 0);
  RM_LAUNCH((formula_kernel<T, fmt>), blocks_for(f.n), RM_BLOCK, s, f, undecided, by_words);
  return RM_FORMULA_IS_CHOICE(f.formula) ? launched()
                                         : rm_formula_elements_accurate(f, undecided, s); /* a selection is always decided */
}

} // namespace

extern "C" rm_status rm_cuda_formula(int formula, int format, int64_t n, double a, const void *x, const void *y,
                                     const void *z, void *out, rm_cuda_stream stream) {
  rm_formula_problem f = {formula,
                          format,
                          n,
                          a,
                          {},
                          0,
                          static_cast<const char *>(x),
                          static_cast<const char *>(y),
                          static_cast<const char *>(z),
                          static_cast<char *>(out)};
  if (RM_FORMULA_IS_ODD(formula)) return RM_STATUS(RM_ERR_ENUM, 1); /* of the CPU alone */
  const rm_status status = rm_formula_check(&f);
  if (status || n == 0) return status;
  switch (format) {
    case RM_F16: return launch<uint16_t, RM_F16>(f, stream);
    case RM_BF16: return launch<uint16_t, RM_BF16>(f, stream);
    case RM_F32: return launch<float, RM_F32>(f, stream);
    default: return launch<double, RM_F64>(f, stream);
  }
}
