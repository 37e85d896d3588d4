/* A device on the host, for tests where there is no GPU: the launchers of src/cuda compile as C++, and their threads run one
 * after the other, each as a fiber that stops at __syncthreads(). Slow, and enough to compare bits. */
#ifndef RM_TESTS_EMULATE_H
#define RM_TESTS_EMULATE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define RM_CFG_EMULATE_DEVICE 1
#define RM_CFG_ROW_THREADS 32 /* a barrier takes long here */
#define RM_CFG_SORT_THREADS 32
#define RM_CFG_WORD_BLOCKS 2 /* so that a thread has several rounds */
#define RM_CFG_SHARES_ROOM 40 /* shares of more sets than are added plainly */
#define RM_CFG_BIG_CHECK(ok) ((ok) ? (void)0 : abort())

#define __global__ static
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__

struct emulated_index {
  unsigned x;
};
inline emulated_index threadIdx, blockIdx, blockDim, gridDim; /* those of inline functions too, which files share */

typedef int cudaError_t;
typedef void *cudaStream_t;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
static inline int cudaGetLastError() { return cudaSuccess; }
static inline int cudaGetDeviceCount(int *n) {
  *n = 1;
  return cudaSuccess;
}
/* What a test may ask: how many blocks of memory are not given back, the stream of the last one that was, which stream was
 * last told to wait for which, and how often the host waited. */
struct emulated_record {
  int64_t blocks;
  void *released_on, *waiting, *awaited;
  int64_t host_waits;
};
inline emulated_record emulated_calls;
extern "C" __attribute__((visibility("default"), used)) inline emulated_record *emulated_device() { return &emulated_calls; }

static inline int cudaMallocAsync(void **p, size_t bytes, cudaStream_t) {
  *p = malloc(bytes);
  emulated_calls.blocks += *p != nullptr;
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
/* A pool is no more than a name here. */
typedef struct emulated_pool *cudaMemPool_t;
struct cudaMemPoolProps {
  int allocType;
  struct {
    int type, id;
  } location;
};
enum { cudaMemAllocationTypePinned, cudaMemLocationTypeDevice, cudaMemPoolAttrReleaseThreshold };
static inline int cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *) {
  *pool = reinterpret_cast<cudaMemPool_t>(malloc(1));
  return *pool ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline int cudaMemPoolSetAttribute(cudaMemPool_t, int, void *) { return cudaSuccess; }
static inline int cudaMemPoolDestroy(cudaMemPool_t pool) {
  free(pool);
  return cudaSuccess;
}
static inline int cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return cudaMallocAsync(p, bytes, stream);
}
static inline int cudaFreeAsync(void *p, cudaStream_t stream) {
  emulated_calls.blocks -= p != nullptr;
  emulated_calls.released_on = stream;
  free(p);
  return cudaSuccess;
}
static inline int cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t) {
  memset(p, value, bytes);
  return cudaSuccess;
}
/* One device, whose work is done when it is asked for. */
enum cudaMemcpyKind { cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice };
static inline int cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
static inline int cudaSetDevice(int device) { return device == 0 ? cudaSuccess : 101; }
static inline int cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  if (bytes) memcpy(to, from, bytes);
  return cudaSuccess;
}
typedef void **cudaEvent_t;
enum { cudaEventDisableTiming = 2 };
static inline int cudaStreamSynchronize(cudaStream_t) {
  emulated_calls.host_waits++;
  return cudaSuccess;
}
static inline int cudaEventCreateWithFlags(cudaEvent_t *event, int) {
  *event = static_cast<void **>(malloc(sizeof(void *)));
  return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline int cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  *event = stream;
  return cudaSuccess;
}
static inline int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, int) {
  emulated_calls.waiting = stream, emulated_calls.awaited = *event;
  return cudaSuccess;
}
static inline int cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}
static inline unsigned atomicOr(uint32_t *p, uint32_t bits) {
  uint32_t old = *p;
  *p |= bits;
  return old;
}
static inline unsigned atomicAdd(unsigned *p, unsigned x) {
  unsigned old = *p;
  *p += x;
  return old;
}
static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long x) {
  unsigned long long old = *p;
  *p += x;
  return old;
}

/* Fibers of one block. A device's thread cannot reach another's variables, only shared and global memory; so that the first
 * thread's, which leads blocks, cannot be read here either, its stack is protected while another runs. */
enum { EMULATED_STACK = 96 << 10, EMULATED_THREADS = 256 };
struct emulated_block {
  ucontext_t scheduler, fiber[EMULATED_THREADS];
  bool done[EMULATED_THREADS];
  char *stacks;
  unsigned running;
  void (*call)(void *);
  void *context;
};
static emulated_block emulated;

static void emulated_start() {
  emulated.call(emulated.context);
  emulated.done[emulated.running] = true;
  swapcontext(&emulated.fiber[emulated.running], &emulated.scheduler);
}
static inline void __syncthreads() { swapcontext(&emulated.fiber[emulated.running], &emulated.scheduler); }

/* The products of mma.m8n8k4 (src/cuda/tiles.h): every thread gives its factors, and takes its two sums when all have. */
static inline void multiply_mma(double (&c)[2], double a, double b) {
  static double factors[2][2][EMULATED_THREADS]; /* of this call and the one before, which others may not have finished */
  static unsigned calls[EMULATED_THREADS];
  const unsigned t = threadIdx.x, warp = t / 32 * 32, row = t % 32 / 4, col = t % 4 * 2;
  double (&now)[2][EMULATED_THREADS] = factors[calls[t]++ % 2];
  now[0][t] = a, now[1][t] = b;
  __syncthreads();
  for (unsigned h = 0; h < 2; h++)
    for (unsigned k = 0; k < 4; k++) c[h] += now[0][warp + row * 4 + k] * now[1][warp + (col + h) * 4 + k];
}

static void emulated_protect(bool now) {
  static bool is_protected;
  if (now != is_protected && mprotect(emulated.stacks, EMULATED_STACK, now ? PROT_NONE : PROT_READ | PROT_WRITE)) abort();
  is_protected = now;
}

template <class F> void emulate_launch(unsigned grid, unsigned block, F body) {
  if (block > EMULATED_THREADS) abort();
  if (!emulated.stacks) emulated.stacks = static_cast<char *>(aligned_alloc(4096, size_t(EMULATED_STACK) * EMULATED_THREADS));
  emulated.call = [](void *f) { (*static_cast<F *>(f))(); };
  emulated.context = &body;
  blockDim.x = block, gridDim.x = grid;
  for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
    for (unsigned t = 0; t < block; t++) {
      getcontext(&emulated.fiber[t]);
      emulated.fiber[t].uc_stack.ss_sp = emulated.stacks + size_t(t) * EMULATED_STACK;
      emulated.fiber[t].uc_stack.ss_size = EMULATED_STACK;
      emulated.fiber[t].uc_link = nullptr;
      makecontext(&emulated.fiber[t], emulated_start, 0);
      emulated.done[t] = false;
    }
    for (unsigned left = block, round = 0; left > 0;
         round++) { /* every thread up to its next barrier, in turn from either end */
      left = 0;
      for (unsigned u = 0; u < block; u++) {
        const unsigned t = round % 2 ? block - 1 - u : u;
        if (emulated.done[t]) continue;
        threadIdx.x = emulated.running = t;
        emulated_protect(t != 0);
        swapcontext(&emulated.scheduler, &emulated.fiber[t]);
        left += !emulated.done[t];
      }
    }
    emulated_protect(false);
  }
}

#define RM_LAUNCH(kernel, grid, block, stream, ...) \
  ((void)(stream), emulate_launch((unsigned)(grid), (unsigned)(block), [&] { (kernel)(__VA_ARGS__); }))

#endif
