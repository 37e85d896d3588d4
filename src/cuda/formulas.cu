/* Formulas: one thread for each element runs the CPU's fast phase (nn/formula/step.h), or double-double if that is undecided
 * or its bounds do not hold. An element that needs more is not written, since out may be an argument. */
#include "formulas.h"

#include "elements_fast.h"

#include "../../include/repmath/cuda_formulas.h"

#include "../nn/formula/accurate.inl"
#include "../nn/formula/step.h"

namespace {

/* The vector step of one element, with in = x, y, z; false where it does not decide. All threads have the same formula:
 * branching on it costs less than a kernel for each. */
template <class T, int fmt> __device__ bool by_step(const rm_formula_problem &f, const T (&in)[3], T *out) {
  vf64 r;
  if (!f.by_vectors ||
      !vm64_none(rm_formula_values(&f, reinterpret_cast<const char *>(in), reinterpret_cast<const char *>(in + 1),
                                   reinterpret_cast<const char *>(in + 2), fmt, f.formula, &r)))
    return false;
  rm_store_elements(reinterpret_cast<char *>(out), r, fmt);
  return true;
}

/* An element that the step does not decide. */
RM_COLD __device__ void by_result(const rm_formula_problem &f, int64_t i, const rm_undecided_set &undecided) {
  rm_row_state state = {};
  rm_formula_result(&f, i, &state);
  if (state.deferred) undecided.add(i);
}

enum formula_access { RM_BY_BYTES, RM_BY_ELEMENTS, RM_BY_WORDS };
template <class T> struct alignas(16) formula_word {
  T v[16 / sizeof(T)];
};

/* A thread takes words of 16 bytes of arrays that are aligned, else elements. */
template <class T, int fmt>
__global__ void __launch_bounds__(RM_BLOCK)
    formula_kernel(const __grid_constant__ rm_formula_problem f, rm_undecided_set undecided, formula_access access) {
  const int in_word = 16 / sizeof(T);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const char *const arrays[] = {f.x, rm_formula_has_y(f.formula) ? f.y : nullptr,
                                rm_formula_has_z(f.formula) ? f.z : nullptr};
  const int64_t words = access == RM_BY_WORDS ? f.n / in_word : 0;
  for (int64_t w = thread; w < words; w += step) {
    formula_word<T> x[3] = {}, y;
    bool whole = true;
    RM_UNROLL for (int k = 0; k < 3; k++) if (arrays[k]) x[k] = reinterpret_cast<const formula_word<T> *>(arrays[k])[w];
    RM_UNROLL for (int e = 0; e < in_word; e++) {
      const T in[] = {x[0].v[e], x[1].v[e], x[2].v[e]};
      whole = by_step<T, fmt>(f, in, &y.v[e]) && whole;
    }
    if (whole) {
      reinterpret_cast<formula_word<T> *>(f.out)[w] = y;
      continue;
    }
    for (int e = 0; e < in_word; e++) { /* again, one by one */
      const int64_t i = w * in_word + e, at = i * static_cast<int64_t>(sizeof(T));
      T in[3] = {}, out;
      for (int k = 0; k < 3; k++)
        if (arrays[k]) in[k] = element<T>::load(arrays[k] + at, true);
      if (by_step<T, fmt>(f, in, &out)) element<T>::store(f.out + at, out, true);
      else by_result(f, i, undecided);
    }
  }
  for (int64_t i = words * in_word + thread; i < f.n; i += step) {
    const int64_t at = i * static_cast<int64_t>(sizeof(T));
    T in[3] = {}, out;
    for (int k = 0; k < 3; k++)
      if (arrays[k]) in[k] = element<T>::load(arrays[k] + at, access != RM_BY_BYTES);
    if (by_step<T, fmt>(f, in, &out)) element<T>::store(f.out + at, out, access != RM_BY_BYTES);
    else by_result(f, i, undecided);
  }
}

template <class T, int fmt> rm_status launch(const rm_formula_problem &f, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const workspace bits(rm_undecided_set::bytes(f.n), s);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, bits, f.n, false);
  if (status) return status;
  const uintptr_t places = reinterpret_cast<uintptr_t>(f.x) | reinterpret_cast<uintptr_t>(f.y) |
                           reinterpret_cast<uintptr_t>(f.z) | reinterpret_cast<uintptr_t>(f.out);
  const formula_access access = places % 16 == 0 ? RM_BY_WORDS : places % sizeof(T) == 0 ? RM_BY_ELEMENTS : RM_BY_BYTES;
  const int64_t each = access == RM_BY_WORDS ? 16 / sizeof(T) : 1;
  RM_LAUNCH((formula_kernel<T, fmt>), blocks_for((f.n + each - 1) / each), RM_BLOCK, s, f, undecided, access);
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
