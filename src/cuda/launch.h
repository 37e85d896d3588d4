/* What all launchers share: the launch of a kernel and its status, elements of strided arrays, and the workspace of a call.
 * It is plain CUDA but for RM_LAUNCH, since the host emulation of the tests lacks <<< >>>. */
#pragma once

#include "../../include/repmath/cuda.h"
#include "../../crlibm/config.h"

#if !defined(RM_CFG_EMULATE_DEVICE)
#include <cuda_runtime.h>
#define RM_START(kernel, grid, block, stream, ...) kernel<<<(unsigned)(grid), (unsigned)(block), 0, stream>>>(__VA_ARGS__)
#endif
/* Launches a kernel, unless the thread measures workspaces. */
#define RM_LAUNCH(kernel, grid, block, stream, ...)                              \
  do {                                                                           \
    if (!rm_cuda_measures()) RM_START(kernel, grid, block, stream, __VA_ARGS__); \
  } while (0)

namespace {

enum { RM_BLOCK = 256 };

/* An element at any address. It is read and written by bytes unless the array is aligned, since a device faults on a
 * misaligned word. */
template <class T> struct element {
  static __device__ T load(const char *p, bool aligned) {
    T v;
    if (aligned) return *reinterpret_cast<const T *>(p);
    unsigned char b[sizeof(T)];
    for (unsigned k = 0; k < sizeof(T); k++) b[k] = static_cast<unsigned char>(p[k]);
    __builtin_memcpy(&v, b, sizeof v);
    return v;
  }
  static __device__ void store(char *p, T v, bool aligned) {
    if (aligned) {
      *reinterpret_cast<T *>(p) = v;
      return;
    }
    unsigned char b[sizeof(T)];
    __builtin_memcpy(b, &v, sizeof v);
    for (unsigned k = 0; k < sizeof(T); k++) p[k] = static_cast<char>(b[k]);
  }
};

template <class T> bool aligned(const void *p, ptrdiff_t stride) {
  return (reinterpret_cast<uintptr_t>(p) | static_cast<uintptr_t>(stride)) % sizeof(T) == 0;
}

/* The number of blocks for n elements; grid-stride loops cover those beyond its limit. */
int64_t blocks_for(int64_t n) {
  int64_t blocks = (n + RM_BLOCK - 1) / RM_BLOCK;
  return blocks < 65536 ? blocks : 65536;
}

} // namespace

/* Memory for a call's work, in the order of the stream, and its return, last taken first: of the caller's, where that was
 * given (rm_cuda_use_workspace), else of the current device's pool (memory.cu). NULL: there is none. */
void *rm_cuda_take(size_t bytes, cudaStream_t stream);
void rm_cuda_return(void *memory, size_t bytes, cudaStream_t stream);

/* Whether the thread's calls are to add up their workspaces and to launch nothing. */
bool rm_cuda_measures();

/* The status of what CUDA returned. An error is kept for rm_cuda_message, and CUDA does not report it again at the next call,
 * unless it is one after which the device does nothing any more. */
rm_status rm_cuda_status(cudaError_t error);

/* Where kernels on the current device write 1 if an index is out of range (rm_cuda_index_errors); NULL if there is no such
 * place yet and none can be made, since the stream is being captured. */
uint32_t *rm_cuda_index_flag(cudaStream_t stream);

/* Adds *count, in device memory, to the counter of the thread's calls, if there is one (rm_cuda_count_undecided); n where
 * count is NULL. */
void rm_cuda_count_listed(const unsigned long long *count, int64_t n, cudaStream_t stream);

namespace {

/* The status of the launches so far. */
inline rm_status launched() { return rm_cuda_status(cudaGetLastError()); }

/* The workspace of a call, taken and returned in the order of its stream. */
struct workspace {
  size_t size;
  cudaStream_t stream;
  void *data;
  workspace(size_t bytes, cudaStream_t s) : size(bytes), stream(s), data(rm_cuda_take(bytes, s)) {}
  ~workspace() {
    if (data) rm_cuda_return(data, size, stream);
  }
  workspace(const workspace &) = delete;
  workspace &operator=(const workspace &) = delete;
  /* Fills its first bytes. false: there are none, or the device refused. */
  bool fill(int value, size_t bytes) const {
    return data && (rm_cuda_measures() || rm_cuda_status(cudaMemsetAsync(data, value, bytes, stream)) == RM_OK);
  }
};

} // namespace
