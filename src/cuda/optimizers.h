/* Launches optimiser steps of lists of tensors: a kernel takes up to RM_STEP_TENSORS of them, whose arrays are among its
 * arguments. Their elements are numbered by chunks of RM_STEP_CHUNK bytes, each of one tensor: a block takes whole chunks,
 * and each of its threads a word of 16 bytes of every array, for whose elements it runs the CPU's fast phase (optim/step.h).
 * Elements that it leaves undecided are not changed; a second kernel computes them in the accurate phase. Counts of steps, a
 * scale of the gradients, and whether the step is left out, may be numbers in device memory: coefficients that depend on a
 * count are made there. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/optim/args.h" /* compiled for the host, as C */
}

#include "../../include/repmath/cuda_optim.h"

#include "../nn/optim/step.h"

#include <algorithm>
#include <new>

enum { RM_STEP_TENSORS = 64, RM_STEP_CHUNK = 16 * 256 };
enum rm_step_access { RM_BY_BYTES, RM_BY_ELEMENTS, RM_BY_WORDS };

/* A problem whose arrays say which ones there are, and the tensors of a launch. first: the number of a tensor's first chunk,
 * and of the chunks in all. */
struct rm_step_tensor {
  int64_t n;
  void *p;
  const void *g;
  void *m, *v, *w;
};
struct rm_step_list {
  rm_optimizer o;
  const rm_optimizer *prepared; /* of each tensor, on the device, or NULL: o is that of all */
  rm_cuda_step_scale scale;
  int count;
  int32_t first[RM_STEP_TENSORS + 1];
  rm_step_tensor tensor[RM_STEP_TENSORS];
  unsigned char access[RM_STEP_TENSORS];

  __device__ const rm_optimizer &step_of(int which) const { return prepared ? prepared[which] : o; }
  __device__ bool is_left_out() const { return scale.found_inf && *scale.found_inf == 1.0f; }

  __device__ int tensor_of(int64_t chunk) const {
    int low = 0, high = count;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (first[middle] <= chunk) low = middle;
      else high = middle;
    }
    return low;
  }
};
static_assert(sizeof(rm_step_list) + sizeof(rm_undecided_set) + 16 <= 4096, "the arguments of a kernel");

/* Counts of steps in device memory. */
struct rm_step_counts {
  const float *at[RM_STEP_TENSORS];
};

/* optimizers_accurate.cu: the steps of `count` tensors, each with its own count; elements, by threads with a stack of
 * RM_STEP_STACK bytes. */
void rm_steps_prepare(const rm_optimizer &o, const rm_step_counts &counts, int count, rm_optimizer *prepared,
                      cudaStream_t stream);
enum { RM_STEP_STACK = 192 << 10 };
rm_status rm_steps_accurate(const rm_step_list &list, const rm_undecided_set &undecided, cudaStream_t stream);

namespace {

/* One element: in has p, m, v and w, those that there are, and is replaced unless the result, whether the element is
 * undecided, is true. */
template <class T, int fmt, bool adam> __device__ bool step_of(const rm_optimizer &o, T (&in)[4], T g) {
  const int coupled = o.decay != 0.0 && !o.decoupled;
  const int mode = adam ? o.w != nullptr : !o.m ? RM_PLAIN : o.nesterov ? RM_NESTEROV : RM_MOMENTUM;
  const rm_step_arrays a = {reinterpret_cast<char *>(in), reinterpret_cast<char *>(in + 1), reinterpret_cast<char *>(in + 2),
                            reinterpret_cast<char *>(in + 3), reinterpret_cast<const char *>(&g)};
  rm_step_vectors y;
  const vm64 lanes =
      adam ? rm_adam_values(&o, &a, fmt, coupled, mode, 0, &y) : rm_sgd_values(&o, &a, fmt, coupled, mode, 0, &y);
  if (!vm64_none(lanes)) return true;
  const vf64 values[] = {y.p, y.m, y.v, y.w};
  for (int k = 0; k < 4; k++) rm_store_elements(reinterpret_cast<char *>(in + k), values[k], fmt);
  return false;
}

template <class T> struct alignas(16) step_word {
  T v[16 / sizeof(T)];
};

template <class T, int fmt, bool adam>
__global__ void __launch_bounds__(RM_BLOCK)
    step_kernel(const __grid_constant__ rm_step_list list, rm_undecided_set undecided) {
  const int in_word = 16 / sizeof(T);
  const int64_t chunk_size = RM_STEP_CHUNK / sizeof(T);
  if (list.is_left_out()) return;
  for (int64_t chunk = blockIdx.x; chunk < list.first[list.count]; chunk += gridDim.x) {
    const int which = list.tensor_of(chunk);
    const rm_step_tensor &t = list.tensor[which];
    const rm_optimizer &o = list.step_of(which);
    if (!o.constants.fast) { /* as its count says */
      for (int64_t i = threadIdx.x; i < chunk_size; i += RM_BLOCK) undecided.add(chunk * chunk_size + i);
      continue;
    }
    char *const arrays[] = {static_cast<char *>(t.p), o.m ? static_cast<char *>(t.m) : nullptr,
                            adam ? static_cast<char *>(t.v) : nullptr, adam && o.w ? static_cast<char *>(t.w) : nullptr};
    const char *const gradient = static_cast<const char *>(t.g);
    const int access = list.access[which];
    const int64_t begin = (chunk - list.first[which]) * chunk_size;
    int64_t i = begin + in_word * static_cast<int64_t>(threadIdx.x);
    if (access == RM_BY_WORDS && i + in_word <= t.n) {
      step_word<T> x[4] = {}, g = *reinterpret_cast<const step_word<T> *>(gradient + i * static_cast<int64_t>(sizeof(T)));
      RM_UNROLL for (int k = 0; k < 4; k++) if (arrays[k]) x[k] =
          *reinterpret_cast<const step_word<T> *>(arrays[k] + i * static_cast<int64_t>(sizeof(T)));
      RM_UNROLL for (int e = 0; e < in_word; e++) {
        T in[] = {x[0].v[e], x[1].v[e], x[2].v[e], x[3].v[e]};
        if (step_of<T, fmt, adam>(o, in, g.v[e])) undecided.add(chunk * chunk_size + i - begin + e);
        else
          for (int k = 0; k < 4; k++) x[k].v[e] = in[k];
      }
      RM_UNROLL for (int k = 0; k < 4; k++) if (arrays[k]) *
          reinterpret_cast<step_word<T> *>(arrays[k] + i * static_cast<int64_t>(sizeof(T))) = x[k];
      continue;
    }
    /* The last elements of a tensor, or neighbours by neighbouring threads. */
    const int64_t jump = access == RM_BY_WORDS ? 1 : RM_BLOCK;
    if (access != RM_BY_WORDS) i = begin + threadIdx.x;
    for (int e = 0; e < in_word && i < t.n; e++, i += jump) {
      const int64_t at = i * static_cast<int64_t>(sizeof(T));
      T in[4] = {};
      for (int k = 0; k < 4; k++)
        if (arrays[k]) in[k] = element<T>::load(arrays[k] + at, access != RM_BY_BYTES);
      if (step_of<T, fmt, adam>(o, in, element<T>::load(gradient + at, access != RM_BY_BYTES))) {
        undecided.add(chunk * chunk_size + i - begin);
        continue;
      }
      for (int k = 0; k < 4; k++)
        if (arrays[k]) element<T>::store(arrays[k] + at, in[k], access != RM_BY_BYTES);
    }
  }
}

/* Divides all gradients by the scale. */
template <class T, int fmt>
__global__ void __launch_bounds__(RM_BLOCK) unscale_kernel(const __grid_constant__ rm_step_list list) {
  if (list.is_left_out()) return;
  const double scale = static_cast<double>(*list.scale.grad_scale);
  const int64_t chunk_size = RM_STEP_CHUNK / sizeof(T);
  const auto divided = [=](T g) {
    const double q = rm_read_element(reinterpret_cast<const char *>(&g), fmt) / scale;
    if (q == q) rm_store_elements(reinterpret_cast<char *>(&g), q, fmt);
    else rm_write_bits(reinterpret_cast<char *>(&g), rm_nan_bits(fmt), fmt);
    return g;
  };
  for (int64_t chunk = blockIdx.x; chunk < list.first[list.count]; chunk += gridDim.x) {
    const int which = list.tensor_of(chunk), access = list.access[which];
    const rm_step_tensor &t = list.tensor[which];
    char *const g = const_cast<char *>(static_cast<const char *>(t.g));
    const int64_t begin = (chunk - list.first[which]) * chunk_size;
    const int64_t end = begin + chunk_size < t.n ? begin + chunk_size : t.n, in_word = 16 / sizeof(T);
    int64_t whole = access == RM_BY_WORDS ? end - end % in_word : begin;
    for (int64_t i = begin + in_word * threadIdx.x; i < whole; i += in_word * RM_BLOCK) {
      step_word<T> *const at = reinterpret_cast<step_word<T> *>(g + i * static_cast<int64_t>(sizeof(T)));
      step_word<T> v = *at;
      RM_UNROLL for (int e = 0; e < 16 / static_cast<int>(sizeof(T)); e++) v.v[e] = divided(v.v[e]);
      *at = v;
    }
    for (int64_t i = whole + threadIdx.x; i < end; i += RM_BLOCK) {
      char *const at = g + i * static_cast<int64_t>(sizeof(T));
      element<T>::store(at, divided(element<T>::load(at, access != RM_BY_BYTES)), access != RM_BY_BYTES);
    }
  }
}

template <class T, int fmt, bool adam>
rm_status launch_step(rm_step_list &list, const rm_step_counts *counts, cudaStream_t stream) {
  for (int k = 0; k < list.count; k++) {
    const rm_step_tensor &t = list.tensor[k];
    const uintptr_t places = reinterpret_cast<uintptr_t>(t.p) | reinterpret_cast<uintptr_t>(t.g) |
                             (list.o.m ? reinterpret_cast<uintptr_t>(t.m) : 0) |
                             (list.o.v ? reinterpret_cast<uintptr_t>(t.v) : 0) |
                             (list.o.w ? reinterpret_cast<uintptr_t>(t.w) : 0);
    const int64_t chunk = RM_STEP_CHUNK / sizeof(T);
    list.access[k] = places % 16 == 0 ? RM_BY_WORDS : places % sizeof(T) == 0 ? RM_BY_ELEMENTS : RM_BY_BYTES;
    list.first[k + 1] = static_cast<int32_t>(list.first[k] + (t.n + chunk - 1) / chunk);
  }
  const int64_t chunks = list.first[list.count], n = chunks * (RM_STEP_CHUNK / static_cast<int64_t>(sizeof(T)));
  const workspace work(rm_undecided_set::bytes(n), stream),
      steps(counts ? static_cast<size_t>(list.count) * sizeof(rm_optimizer) : 1, stream);
  rm_undecided_set undecided;
  const bool all = !counts && !list.o.constants.fast;
  const rm_status status = undecided_begin(&undecided, work, n, all);
  if (status || !steps.data) return RM_ERR_DEVICE;
  rm_optimizer *const prepared = counts ? static_cast<rm_optimizer *>(steps.data) : nullptr;
  list.prepared = prepared;
  if (counts) rm_steps_prepare(list.o, *counts, list.count, prepared, stream);
  const int64_t blocks = chunks < 65536 ? chunks : 65536;
  if (list.scale.grad_scale) RM_LAUNCH((unscale_kernel<T, fmt>), blocks, RM_BLOCK, stream, list);
  if (!all) RM_LAUNCH((step_kernel<T, fmt, adam>), blocks, RM_BLOCK, stream, list, undecided);
  return rm_steps_accurate(list, undecided, stream);
}

/* A launch for each RM_STEP_TENSORS tensors that have elements. o is checked, and has the arrays of one of them. */
template <bool adam>
rm_status launch_steps(const rm_optimizer &o, int64_t count, const rm_cuda_step_arrays *tensors,
                       const rm_cuda_step_scale *scale, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  rm_step_list list = {};
  rm_step_counts counts = {};
  const rm_step_counts *given = nullptr;
  list.o = o;
  if (scale) list.scale = *scale;
  for (int64_t i = 0; i < count; i++) {
    const rm_cuda_step_arrays &t = tensors[i];
    if (t.n && adam && t.count) counts.at[list.count] = t.count, given = &counts;
    if (t.n) list.tensor[list.count++] = rm_step_tensor{t.n, t.p, t.g, t.m, t.v, t.w};
    if (list.count == 0 || (list.count < RM_STEP_TENSORS && i + 1 < count)) continue;
    const rm_status status = o.format == RM_F16    ? launch_step<uint16_t, RM_F16, adam>(list, given, s)
                             : o.format == RM_BF16 ? launch_step<uint16_t, RM_BF16, adam>(list, given, s)
                             : o.format == RM_F32  ? launch_step<float, RM_F32, adam>(list, given, s)
                                                   : launch_step<double, RM_F64, adam>(list, given, s);
    if (status) return status;
    list.count = 0;
  }
  return RM_OK;
}

inline rm_optimizer optimizer_of(int kind, int format, const rm_cuda_step_arrays &t) {
  rm_optimizer o = {};
  o.kind = kind, o.format = format, o.n = t.n, o.p = static_cast<char *>(t.p), o.g = static_cast<const char *>(t.g);
  o.m = static_cast<char *>(t.m), o.v = static_cast<char *>(t.v), o.w = static_cast<char *>(t.w);
  return o;
}

/* Positions of the arguments of a list's step. */
enum { RM_STEPS_FORMAT = 1, RM_STEPS_COUNT, RM_STEPS_LIST, RM_STEPS_OPTIONS };

/* Which arrays a step has beside the parameter and the gradient. */
struct states {
  bool m, v, w, count, scaled; /* scaled: gradients are written too */
};

struct span {
  uintptr_t begin, end;
  bool written;
};

/* The status of a list whose format is known: sizes, arrays that lack, and written arrays that share bytes with others. */
inline rm_status check_list(int format, int64_t count, const rm_cuda_step_arrays *tensors, states s) {
  for (int64_t i = 0; i < count; i++) {
    const rm_cuda_step_arrays &t = tensors[i];
    if (t.n < 0) return RM_STATUS(RM_ERR_SIZE, RM_STEPS_LIST);
    if (t.n &&
        (!t.p || !t.g || (s.m && !t.m) || (s.v && (!t.v || s.w != (t.w != nullptr) || s.count != (t.count != nullptr)))))
      return RM_STATUS(RM_ERR_NULL, RM_STEPS_LIST);
  }
  span *const spans = new (std::nothrow) span[static_cast<size_t>(count) * 5];
  if (!spans) return RM_ERR_MEMORY;
  int64_t n = 0;
  for (int64_t i = 0; i < count; i++) {
    const rm_cuda_step_arrays &t = tensors[i];
    const uintptr_t bytes = static_cast<uintptr_t>(t.n) * static_cast<uintptr_t>(rm_size_of(format));
    const void *const arrays[] = {t.g, t.p, s.m ? t.m : nullptr, s.v ? t.v : nullptr, s.w ? t.w : nullptr};
    for (int k = 0; k < 5; k++) {
      const uintptr_t at = reinterpret_cast<uintptr_t>(arrays[k]);
      if (at && bytes) spans[n++] = span{at, at + bytes, k > 0 || s.scaled};
    }
  }
  std::sort(spans, spans + n, [](const span &a, const span &b) { return a.begin < b.begin; });
  uintptr_t written = 0, any = 0; /* the ends of those before */
  bool meets = false;
  for (int64_t i = 0; i < n; i++) {
    meets = meets || spans[i].begin < (spans[i].written ? any : written);
    any = std::max(any, spans[i].end);
    if (spans[i].written) written = std::max(written, spans[i].end);
  }
  delete[] spans;
  return meets ? RM_STATUS(RM_ERR_OVERLAP, RM_STEPS_LIST) : RM_OK;
}

/* A step of a list. check: rm_sgd_check or rm_adam_check, which find the format and the options wrong without arrays, too,
 * and whether SGD has a momentum buffer. */
template <bool adam, class Options>
rm_status steps_of_list(int kind, int format, int64_t count, const rm_cuda_step_arrays *tensors, const Options *options,
                        const rm_cuda_step_scale *scale, rm_status (*check)(rm_optimizer *, const Options *),
                        rm_cuda_stream stream) {
  char any = 0;
  rm_optimizer o = optimizer_of(kind, format, {0, &any, &any, &any, nullptr, nullptr, nullptr});
  rm_status status = check(&o, options);
  if (status) return RM_STATUS(status & 0xff, status >> 8 == 1 ? RM_STEPS_FORMAT : RM_STEPS_OPTIONS);
  if (count < 0) return RM_STATUS(RM_ERR_SIZE, RM_STEPS_COUNT);
  if (count && !tensors) return RM_STATUS(RM_ERR_NULL, RM_STEPS_LIST);
  int64_t first = 0;
  while (first < count && tensors[first].n == 0) first++;
  if (first == count) return RM_OK;
  status =
      check_list(format, count, tensors,
                 {o.m != nullptr, adam, adam && tensors[first].w, adam && tensors[first].count, scale && scale->grad_scale});
  if (status) return status;
  o = optimizer_of(kind, format, tensors[first]);
  status = check(&o, options);
  return status ? status : launch_steps<adam>(o, count, tensors, scale, stream);
}

} // namespace
