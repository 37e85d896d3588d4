/* Device memory, workspaces, strided copies and streams. Memory comes from a pool for each device, which keeps RM_POOL_KEPT
 * bytes of what is free when the host waits for the device: the default pool keeps none, and mapping memory again takes
 * longer than most calls. A launch copies up to RM_COPIED_AXES axes; an array with more takes a launch for each index of its
 * first ones.
 *
 * Workspaces of a call are returned in the opposite order, so that those in a caller's memory are a stack: what a call
 * returns, its next kernel or the next call takes again, which is right as all are work of one stream. */
#include "launch.h"

#include "../../include/repmath/cuda.h"

#include <atomic>
#include <cstdio>
#include <cstring>

namespace {

enum { RM_POOLS = 64 }; /* devices that have a pool of their own; others use the default pool */
const uint64_t RM_POOL_KEPT = UINT64_C(1) << 30;

/* The pool of a device, made at the first call; NULL where the driver has none. */
cudaMemPool_t pool_of(int device) {
  static std::atomic<cudaMemPool_t> pools[RM_POOLS];
  if (device >= RM_POOLS) return nullptr;
  cudaMemPool_t pool = pools[device].load(), before = nullptr;
  if (pool) return pool;
  cudaMemPoolProps kind = {};
  kind.allocType = cudaMemAllocationTypePinned;
  kind.location.type = cudaMemLocationTypeDevice;
  kind.location.id = device;
  uint64_t kept = RM_POOL_KEPT;
  if (cudaMemPoolCreate(&pool, &kind) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
  if (pools[device].compare_exchange_strong(before, pool)) return pool;
  (void)cudaMemPoolDestroy(pool); /* another thread was first */
  return before;
}

enum { RM_COPIED_AXES = 8 };

struct copied {
  int axes;
  int64_t n, shape[RM_COPIED_AXES];
  ptrdiff_t x[RM_COPIED_AXES], out[RM_COPIED_AXES];
};

struct pair_of_words {
  uint64_t low, high;
};

template <class T> __global__ void copy_kernel(const __grid_constant__ copied c, const char *x, char *out, bool by_words) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < c.n; i += step) {
    int64_t rest = i;
    ptrdiff_t from = 0, to = 0;
    for (int k = c.axes - 1; k >= 0; k--) {
      const int64_t place = rest % c.shape[k];
      rest /= c.shape[k];
      from += static_cast<ptrdiff_t>(place) * c.x[k];
      to += static_cast<ptrdiff_t>(place) * c.out[k];
    }
    element<T>::store(out + to, element<T>::load(x + from, by_words), by_words);
  }
}

template <class T> rm_status copy(const copied &c, const char *x, char *out, cudaStream_t stream) {
  bool by_words = aligned<T>(x, 0) && aligned<T>(out, 0);
  for (int k = 0; k < c.axes; k++) by_words = by_words && aligned<T>(nullptr, c.x[k]) && aligned<T>(nullptr, c.out[k]);
  RM_LAUNCH(copy_kernel<T>, blocks_for(c.n), RM_BLOCK, stream, c, x, out, by_words);
  return launched();
}

rm_status copy_all(int size, const copied &c, const char *x, char *out, cudaStream_t stream) {
  switch (size) {
    case 1: return copy<uint8_t>(c, x, out, stream);
    case 2: return copy<uint16_t>(c, x, out, stream);
    case 4: return copy<uint32_t>(c, x, out, stream);
    case 8: return copy<uint64_t>(c, x, out, stream);
    default: return copy<pair_of_words>(c, x, out, stream);
  }
}

thread_local char message[256]; /* of the thread's last error */

/* Where the thread's calls take their workspaces. */
enum lender { OF_POOL, MEASURED, OF_CALLER };
const size_t RM_WORKSPACE_UNIT = 256; /* what cudaMalloc's addresses are a multiple of */
thread_local struct {
  lender from;
  char *base;
  size_t size, used, most;
} lent;
size_t in_units(size_t bytes) {
  return ((bytes ? bytes : 1) + RM_WORKSPACE_UNIT - 1) / RM_WORKSPACE_UNIT * RM_WORKSPACE_UNIT;
}
void begin(lender from, char *base, size_t size) {
  lent.from = from, lent.base = base, lent.size = size;
  lent.used = lent.most = 0;
}

/* A few bytes of the host, as an argument of a kernel. */
enum { RM_SENT_FEW = 32, RM_SENT_MOST = 2048 };
template <int size> struct sent_bytes {
  unsigned char b[size];
};
template <int size>
__global__ void send_kernel(const __grid_constant__ sent_bytes<size> from, unsigned n, unsigned char *to) {
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) to[i] = from.b[i];
}
template <int size> rm_status send(size_t bytes, const void *host, void *memory, cudaStream_t stream) {
  sent_bytes<size> from;
  memcpy(from.b, host, bytes);
  RM_LAUNCH(send_kernel<size>, 1, size < RM_BLOCK ? size : RM_BLOCK, stream, from, static_cast<unsigned>(bytes),
            static_cast<unsigned char *>(memory));
  return launched();
}

std::atomic<uint32_t *> index_flags[RM_POOLS]; /* of each device */

thread_local unsigned long long *undecided_counter; /* in device memory */
__global__ void count_listed_kernel(const unsigned long long *count, unsigned long long n, unsigned long long *counter) {
  *counter += count ? *count : n;
}

rm_status moved(size_t bytes, const void *from, void *to, cudaMemcpyKind kind, rm_cuda_stream stream) {
  if (bytes && !from) return RM_STATUS(RM_ERR_NULL, 2);
  if (bytes && !to) return RM_STATUS(RM_ERR_NULL, 3);
  if (rm_cuda_measures()) return RM_OK;
  const rm_status status = rm_cuda_status(cudaMemcpyAsync(to, from, bytes, kind, static_cast<cudaStream_t>(stream)));
  return status ? status : rm_cuda_wait(stream);
}

} // namespace

rm_status rm_cuda_status(cudaError_t error) {
  if (error == cudaSuccess) return RM_OK;
  snprintf(message, sizeof message, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
  (void)cudaGetLastError(); /* the status reports it */
  return RM_ERR_DEVICE;
}

uint32_t *rm_cuda_index_flag(cudaStream_t stream) {
  int device = 0;
  if (rm_cuda_status(cudaGetDevice(&device)) || device >= RM_POOLS) return nullptr;
  uint32_t *flag = index_flags[device].load(), *before = nullptr;
  if (flag || rm_cuda_measures()) return flag;
  cudaStreamCaptureStatus capture;
  if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone) return nullptr;
  void *memory = nullptr;
  if (cudaMalloc(&memory, sizeof *flag) != cudaSuccess || cudaMemset(memory, 0, sizeof *flag) != cudaSuccess) {
    (void)cudaGetLastError(); /* the call goes on, and its results are NaN all the same */
    (void)cudaFree(memory);
    return nullptr;
  }
  flag = static_cast<uint32_t *>(memory);
  if (index_flags[device].compare_exchange_strong(before, flag)) return flag;
  (void)cudaFree(flag); /* another thread was first */
  return before;
}

void rm_cuda_count_listed(const unsigned long long *count, int64_t n, cudaStream_t stream) {
  unsigned long long *const counter = undecided_counter;
  if (counter) RM_LAUNCH(count_listed_kernel, 1, 1, stream, count, static_cast<unsigned long long>(n), counter);
}

bool rm_cuda_measures() { return lent.from == MEASURED; }

namespace {

rm_status from_pool(void **memory, size_t bytes, cudaStream_t stream) {
  int device = 0;
  const rm_status status = rm_cuda_status(cudaGetDevice(&device));
  if (status) return status;
  const cudaMemPool_t pool = pool_of(device);
  return rm_cuda_status(pool ? cudaMallocFromPoolAsync(memory, bytes, pool, stream) : cudaMallocAsync(memory, bytes, stream));
}

} // namespace

void *rm_cuda_take(size_t bytes, cudaStream_t stream) {
  if (lent.from == OF_POOL) {
    void *memory = nullptr;
    return from_pool(&memory, bytes, stream) == RM_OK ? memory : nullptr;
  }
  const size_t room = in_units(bytes);
  if (lent.from == OF_CALLER && room > lent.size - lent.used) {
    snprintf(message, sizeof message, "a call needs more than the %zu bytes of workspace that it was given", lent.size);
    return nullptr;
  }
  char *const memory = lent.base + lent.used;
  lent.used += room;
  if (lent.used > lent.most) lent.most = lent.used;
  return memory;
}

void rm_cuda_return(void *memory, size_t bytes, cudaStream_t stream) {
  if (lent.from == OF_POOL) (void)cudaFreeAsync(memory, stream);
  else lent.used -= in_units(bytes);
}

extern "C" {

int rm_cuda_devices(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

rm_status rm_cuda_get_device(int *device) {
  if (!device) return RM_STATUS(RM_ERR_NULL, 1);
  return rm_cuda_status(cudaGetDevice(device));
}

rm_status rm_cuda_set_device(int device) { return rm_cuda_status(cudaSetDevice(device)); }

rm_status rm_cuda_allocate(size_t bytes, void **out, rm_cuda_stream stream) {
  if (!out) return RM_STATUS(RM_ERR_NULL, 2);
  void *memory = nullptr;
  const rm_status status = from_pool(&memory, bytes ? bytes : 1, static_cast<cudaStream_t>(stream));
  if (status == RM_OK) *out = memory;
  return status;
}

rm_status rm_cuda_release(void *memory, rm_cuda_stream stream) {
  return memory ? rm_cuda_status(cudaFreeAsync(memory, static_cast<cudaStream_t>(stream))) : RM_OK;
}

rm_status rm_cuda_measure_workspace(void) {
  begin(MEASURED, reinterpret_cast<char *>(RM_WORKSPACE_UNIT), 0); /* an address that nothing is written to */
  return RM_OK;
}

rm_status rm_cuda_use_workspace(size_t bytes, void *memory) {
  if (bytes && !memory) return RM_STATUS(RM_ERR_NULL, 2);
  if (reinterpret_cast<uintptr_t>(memory) % RM_WORKSPACE_UNIT) return RM_STATUS(RM_ERR_RANGE, 2);
  begin(OF_CALLER, static_cast<char *>(memory), bytes);
  return RM_OK;
}

rm_status rm_cuda_end_workspace(size_t *most) {
  if (most) *most = lent.most;
  begin(OF_POOL, nullptr, 0);
  return RM_OK;
}

rm_status rm_cuda_copy(int size, int axes, const int64_t *shape, const void *x, const ptrdiff_t *strides_x, void *out,
                       const ptrdiff_t *strides_out, rm_cuda_stream stream) {
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) return RM_STATUS(RM_ERR_ENUM, 1);
  if (axes < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (axes && !shape) return RM_STATUS(RM_ERR_NULL, 3);
  for (int k = 0; k < axes; k++)
    if (shape[k] < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  for (int k = 0; k < axes; k++)
    if (shape[k] == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 4);
  if (axes && !strides_x) return RM_STATUS(RM_ERR_NULL, 5);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  if (axes && !strides_out) return RM_STATUS(RM_ERR_NULL, 7);
  if (axes > RM_COPIED_AXES) {
    for (int64_t i = 0; i < shape[0]; i++) {
      const rm_status status =
          rm_cuda_copy(size, axes - 1, shape + 1, static_cast<const char *>(x) + i * strides_x[0], strides_x + 1,
                       static_cast<char *>(out) + i * strides_out[0], strides_out + 1, stream);
      if (status) return status;
    }
    return RM_OK;
  }
  copied c = {axes, 1, {}, {}, {}};
  for (int k = 0; k < axes; k++) c.n *= shape[k], c.shape[k] = shape[k], c.x[k] = strides_x[k], c.out[k] = strides_out[k];
  return copy_all(size, c, static_cast<const char *>(x), static_cast<char *>(out), static_cast<cudaStream_t>(stream));
}

rm_status rm_cuda_read(size_t bytes, const void *memory, void *host, rm_cuda_stream stream) {
  return moved(bytes, memory, host, cudaMemcpyDeviceToHost, stream);
}

rm_status rm_cuda_write(size_t bytes, const void *host, void *memory, rm_cuda_stream stream) {
  if (bytes && bytes <= RM_SENT_MOST && host && memory) {
    const cudaStream_t s = static_cast<cudaStream_t>(stream);
    return bytes <= RM_SENT_FEW ? send<RM_SENT_FEW>(bytes, host, memory, s) : send<RM_SENT_MOST>(bytes, host, memory, s);
  }
  return moved(bytes, host, memory, cudaMemcpyHostToDevice, stream);
}

const char *rm_cuda_message(void) { return message; }

rm_status rm_cuda_index_errors(int *seen, rm_cuda_stream stream) {
  if (!seen) return RM_STATUS(RM_ERR_NULL, 1);
  int device = 0;
  rm_status status = rm_cuda_status(cudaGetDevice(&device));
  if (status) return status;
  uint32_t *const flag = device < RM_POOLS ? index_flags[device].load() : nullptr;
  uint32_t found = 0;
  if (flag) status = moved(sizeof found, flag, &found, cudaMemcpyDeviceToHost, stream);
  if (status == RM_OK && found)
    status = rm_cuda_status(cudaMemsetAsync(flag, 0, sizeof found, static_cast<cudaStream_t>(stream)));
  if (status == RM_OK) *seen = found != 0;
  return status;
}

rm_status rm_cuda_count_undecided(uint64_t *counter) {
  if (reinterpret_cast<uintptr_t>(counter) % sizeof *counter) return RM_STATUS(RM_ERR_RANGE, 1);
  undecided_counter = reinterpret_cast<unsigned long long *>(counter);
  return RM_OK;
}

rm_status rm_cuda_wait(rm_cuda_stream stream) {
  return rm_cuda_status(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
}

rm_status rm_cuda_wait_for(rm_cuda_stream next, rm_cuda_stream stream) {
  if (next == stream) return RM_OK;
  cudaEvent_t event;
  rm_status status = rm_cuda_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  if (status) return status;
  status = rm_cuda_status(cudaEventRecord(event, static_cast<cudaStream_t>(stream)));
  if (status == RM_OK) status = rm_cuda_status(cudaStreamWaitEvent(static_cast<cudaStream_t>(next), event, 0));
  (void)cudaEventDestroy(event); /* a stream that waits for it goes on waiting */
  return status;
}

} // extern "C"
