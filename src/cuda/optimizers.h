/* Launches optimiser steps of lists of tensors: a kernel takes up to RM_STEP_TENSORS of them, whose arrays are among its
 * arguments. Their elements are numbered by chunks of RM_STEP_CHUNK bytes, each of one tensor: a block takes whole chunks,
 * and each of its threads a word of 16 bytes of every array, for whose elements it runs the CPU's fast phase (optim/step.h).
 * Elements that it leaves undecided are not changed; a second kernel computes them in the accurate phase. */
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
struct rm_step_list {
  rm_optimizer o;
  int count;
  int32_t first[RM_STEP_TENSORS + 1];
  rm_cuda_step_arrays tensor[RM_STEP_TENSORS];
  unsigned char access[RM_STEP_TENSORS];

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

/* optimizers_accurate.cu: by threads with a stack of RM_STEP_STACK bytes. */
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
  const rm_optimizer &o = list.o;
  for (int64_t chunk = blockIdx.x; chunk < list.first[list.count]; chunk += gridDim.x) {
    const int which = list.tensor_of(chunk);
    const rm_cuda_step_arrays &t = list.tensor[which];
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

template <class T, int fmt, bool adam> rm_status launch_step(rm_step_list &list, cudaStream_t stream) {
  for (int k = 0; k < list.count; k++) {
    const rm_cuda_step_arrays &t = list.tensor[k];
    const uintptr_t places = reinterpret_cast<uintptr_t>(t.p) | reinterpret_cast<uintptr_t>(t.g) |
                             (list.o.m ? reinterpret_cast<uintptr_t>(t.m) : 0) |
                             (list.o.v ? reinterpret_cast<uintptr_t>(t.v) : 0) |
                             (list.o.w ? reinterpret_cast<uintptr_t>(t.w) : 0);
    const int64_t chunk = RM_STEP_CHUNK / sizeof(T);
    list.access[k] = places % 16 == 0 ? RM_BY_WORDS : places % sizeof(T) == 0 ? RM_BY_ELEMENTS : RM_BY_BYTES;
    list.first[k + 1] = static_cast<int32_t>(list.first[k] + (t.n + chunk - 1) / chunk);
  }
  const int64_t chunks = list.first[list.count], n = chunks * (RM_STEP_CHUNK / static_cast<int64_t>(sizeof(T)));
  const workspace work(rm_undecided_set::bytes(n), stream);
  rm_undecided_set undecided;
  const rm_status status = undecided_begin(&undecided, work, n, !list.o.constants.fast);
  if (status) return status;
  if (list.o.constants.fast)
    RM_LAUNCH((step_kernel<T, fmt, adam>), chunks < 65536 ? chunks : 65536, RM_BLOCK, stream, list, undecided);
  return rm_steps_accurate(list, undecided, stream);
}

/* A launch for each RM_STEP_TENSORS tensors that have elements. o is checked, and has the arrays of one of them. */
template <bool adam>
rm_status launch_steps(const rm_optimizer &o, int64_t count, const rm_cuda_step_arrays *tensors, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  rm_step_list list = {};
  list.o = o;
  for (int64_t i = 0; i < count; i++) {
    if (tensors[i].n) list.tensor[list.count++] = tensors[i];
    if (list.count == 0 || (list.count < RM_STEP_TENSORS && i + 1 < count)) continue;
    const rm_status status = o.format == RM_F16    ? launch_step<uint16_t, RM_F16, adam>(list, s)
                             : o.format == RM_BF16 ? launch_step<uint16_t, RM_BF16, adam>(list, s)
                             : o.format == RM_F32  ? launch_step<float, RM_F32, adam>(list, s)
                                                   : launch_step<double, RM_F64, adam>(list, s);
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
  bool m, v, w;
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
    if (t.n && (!t.p || !t.g || (s.m && !t.m) || (s.v && (!t.v || s.w != (t.w != nullptr)))))
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
      if (at && bytes) spans[n++] = span{at, at + bytes, k > 0};
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
                        rm_status (*check)(rm_optimizer *, const Options *), rm_cuda_stream stream) {
  char any = 0;
  rm_optimizer o = optimizer_of(kind, format, {0, &any, &any, &any, nullptr, nullptr});
  rm_status status = check(&o, options);
  if (status) return RM_STATUS(status & 0xff, status >> 8 == 1 ? RM_STEPS_FORMAT : RM_STEPS_OPTIONS);
  if (count < 0) return RM_STATUS(RM_ERR_SIZE, RM_STEPS_COUNT);
  if (count && !tensors) return RM_STATUS(RM_ERR_NULL, RM_STEPS_LIST);
  int64_t first = 0;
  while (first < count && tensors[first].n == 0) first++;
  if (first == count) return RM_OK;
  status = check_list(format, count, tensors, {o.m != nullptr, adam, adam && tensors[first].w});
  if (status) return status;
  o = optimizer_of(kind, format, tensors[first]);
  status = check(&o, options);
  return status ? status : launch_steps<adam>(o, count, tensors, stream);
}

} // namespace
