/* A device on the host, for tests where there is no GPU: the launchers of src/cuda compile as C++, and their threads run one
 * after the other, each as a fiber that stops at __syncthreads(). Slow, and enough to compare bits. */
#ifndef RM_TESTS_EMULATE_H
#define RM_TESTS_EMULATE_H

#undef _FORTIFY_SOURCE /* its _longjmp takes the change to another stack for an error */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define RM_CFG_EMULATE_DEVICE 1
#if !defined(RM_CFG_EMULATE_STRICT) /* else blocks have the threads of a device */
#define RM_CFG_ROW_THREADS 32 /* a barrier takes long here */
#define RM_CFG_SORT_THREADS 32
#define RM_CFG_RETRY_THREADS 64
#define RM_CFG_WHOLE_THREADS 32
#else
#define RM_CFG_WHOLE_THREADS 256 /* as many as there are fibers */
#endif
#define RM_CFG_LISTED 5 /* so that others are in the map */
#define RM_CFG_WHOLE_WIDE 200 /* so that rows of binary64 of either kind are short */
#define RM_CFG_TABLE_THREADS 64
#define RM_CFG_RATIO_SIZE 40
#define RM_CFG_CONV_FROM 1
#define RM_CFG_TABLE_FROM RM_TABLE_NUMBERS
#define RM_CFG_WORD_BLOCKS 2 /* so that a thread has several rounds */
#define RM_CFG_SHARES_ROOM 40 /* shares of more sets than are added plainly */
#define RM_CFG_BIG_SHARED static /* of an inline function: it cannot be in the section of __shared__ below */
#define RM_CFG_BIG_CHECK(ok) ((ok) ? (void)0 : abort())
#define RM_CFG_WORD_CHECK(ok) ((ok) ? (void)0 : abort())

#define __global__ static
#define __device__
#define __host__
#if defined(RM_CFG_EMULATE_STRICT)
#define __shared__ static __attribute__((section("rm_shared"))) /* so that it can be filled as a whole */
#else
#define __shared__ static
#endif
#define __launch_bounds__(...)
#define __grid_constant__

struct emulated_index {
  unsigned x;
};
inline emulated_index threadIdx, blockIdx, blockDim, gridDim; /* those of inline functions too, which files share */

typedef int cudaError_t;
typedef void *cudaStream_t;
enum {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorStreamCaptureUnsupported = 900
};
inline int emulated_error = cudaSuccess; /* the last one */
static inline int cudaGetLastError() {
  const int error = emulated_error;
  emulated_error = cudaSuccess;
  return error;
}
static inline const char *cudaGetErrorName(int error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorInvalidDevice";
}
static inline const char *cudaGetErrorString(int error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid device ordinal";
}
static inline int cudaGetDeviceCount(int *n) {
  *n = 1;
  return cudaSuccess;
}
/* What a test may ask: how many blocks of memory are not given back, how many were taken, the stream of the last one that
 * was given back, which stream was last told to wait for which, and how often the host waited. And what it may set: how many
 * allocations and fillings of memory succeed before one is refused, if not -1, whether streams are being captured, the ratio
 * of the device's rates in binary32 and binary64, and of how many milliseconds each next time between events is longer than
 * the last one. And how many kernels were launched. A program and its library have one record. */
struct emulated_record {
  int64_t blocks;
  void *released_on, *waiting, *awaited;
  int64_t host_waits, before_refusal, captured, taken, single_to_double, elapsed, slower, launches;
};
__attribute__((visibility("default"))) inline emulated_record emulated_calls = {0, nullptr, nullptr, nullptr, 0, -1,
                                                                                0, 0,       0,       0,       0, 0};
extern "C" __attribute__((visibility("default"), used)) inline emulated_record *emulated_device() { return &emulated_calls; }

static inline bool emulated_refuses() {
  if (emulated_calls.before_refusal < 0 || emulated_calls.before_refusal-- > 0) return false;
  emulated_error = cudaErrorMemoryAllocation;
  return true;
}
static inline int cudaMallocAsync(void **p, size_t bytes, cudaStream_t) {
  if (emulated_refuses()) return cudaErrorMemoryAllocation;
  *p = malloc(bytes);
  emulated_calls.blocks += *p != nullptr;
  emulated_calls.taken += *p != nullptr;
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline int cudaMalloc(void **p, size_t bytes) {
  *p = malloc(bytes);
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline int cudaFree(void *p) {
  free(p);
  return cudaSuccess;
}
static inline int cudaMemset(void *p, int value, size_t bytes) {
  memset(p, value, bytes);
  return cudaSuccess;
}
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
static inline int cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
  *status = emulated_calls.captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
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
  if (emulated_refuses()) return cudaErrorMemoryAllocation;
  memset(p, value, bytes);
  return cudaSuccess;
}
/* One device, whose work is done when it is asked for. */
enum cudaMemcpyKind { cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice };
static inline int cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
static inline int cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
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
static inline int cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
static inline int cudaEventSynchronize(cudaEvent_t) {
  emulated_calls.host_waits++;
  return cudaSuccess;
}
static inline int cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) {
  *ms = static_cast<float>(emulated_calls.elapsed += emulated_calls.slower);
  return cudaSuccess;
}
enum cudaDeviceAttr { cudaDevAttrSingleToDoublePrecisionPerfRatio = 87 };
static inline int cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = static_cast<int>(emulated_calls.single_to_double);
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
static inline unsigned atomicAnd(uint32_t *p, uint32_t bits) {
  uint32_t old = *p;
  *p &= bits;
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

/* With RM_CFG_EMULATE_STRICT, blocks have as many threads as on a device, which run in an order of chance between barriers,
 * another one each time. Shared memory holds NaNs and -1 when a kernel begins. A thread that comes to another barrier than
 * the others of its block, or ends while they wait, stops the program. Elsewhere threads run in turn from either end. So much
 * memory is filled, and no more, that programs of many launches end. */
#if defined(RM_CFG_EMULATE_STRICT)
enum { EMULATED_STRICT = 1 };
#else
enum { EMULATED_STRICT = 0 };
#endif
extern "C" __attribute__((weak, visibility("hidden"))) char __start_rm_shared[], __stop_rm_shared[];
static inline void emulated_poison() {
  static int64_t room = INT64_C(1) << 32;
  const int64_t bytes = __stop_rm_shared - __start_rm_shared;
  if (!EMULATED_STRICT || bytes <= 0 || bytes > room) return;
  room -= bytes;
  memset(__start_rm_shared, 0xff, static_cast<size_t>(bytes));
}

/* Fibers of one block, which are made once: each runs its thread's code of every block. A device's thread cannot reach
 * another's variables, only shared and global memory; so that the first thread's, which leads blocks, cannot be read here
 * either, its stack is protected while another runs. Fibers change places by _longjmp, which asks the system for nothing. */
enum { EMULATED_STACK = 96 << 10, EMULATED_THREADS = 256 };
struct emulated_block {
  jmp_buf scheduler, fiber[EMULATED_THREADS];
  bool made[EMULATED_THREADS], done[EMULATED_THREADS];
  int line[EMULATED_THREADS]; /* of the barrier at which a thread waits */
  const char *file[EMULATED_THREADS];
  unsigned turn[EMULATED_THREADS]; /* the threads in the order in which they run */
  char *stacks;
  unsigned running;
  uint32_t seed;
  void (*call)(void *);
  void *context;
};
static emulated_block emulated;

__attribute__((noinline)) static void emulated_leave() {
  if (!_setjmp(emulated.fiber[emulated.running])) _longjmp(emulated.scheduler, 1);
}
static void emulated_start() {
  for (;;) {
    emulated.call(emulated.context);
    emulated.done[emulated.running] = true;
    emulated_leave();
  }
}
/* Runs the fiber up to its next barrier, or its end. */
__attribute__((noinline)) static void emulated_enter(unsigned t) {
  if (_setjmp(emulated.scheduler)) return;
  if (emulated.made[t]) _longjmp(emulated.fiber[t], 1);
  ucontext_t start;
  getcontext(&start);
  start.uc_stack.ss_sp = emulated.stacks + size_t(t) * EMULATED_STACK;
  start.uc_stack.ss_size = EMULATED_STACK;
  start.uc_link = nullptr;
  makecontext(&start, emulated_start, 0);
  emulated.made[t] = true;
  setcontext(&start);
}
static inline void __syncthreads(int line = __builtin_LINE(), const char *file = __builtin_FILE()) {
  emulated.line[emulated.running] = line, emulated.file[emulated.running] = file;
  emulated_leave();
}

/* The places of a warp's lanes in mma.m8n8k4 of binary64, from the figures of the PTX manual: the row and the index of the
 * left factor that a lane gives, the index and the column of the right one, the row and the first of the two columns of the
 * sums that it takes. With RM_CFG_EMULATE_PERMUTED the left factors lie in another order: products must be wrong. */
struct emulated_lanes {
  unsigned char left_row[32], left_index[32], right_index[32], right_col[32], row[32], col[32];
};
#define EMULATED_FOURS 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7
#define EMULATED_TURNS 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3
#define EMULATED_PAIRS 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6
static const emulated_lanes emulated_mma = {
#if defined(RM_CFG_EMULATE_PERMUTED)
    {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7},
    {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3},
#else
    {EMULATED_FOURS}, {EMULATED_TURNS},
#endif
    {EMULATED_TURNS},
    {EMULATED_FOURS},
    {EMULATED_FOURS},
    {EMULATED_PAIRS}};

/* Its products (src/cuda/tiles.h), as a chain of fused operations: every thread gives its factors, and takes its sums when
 * all have. */
static inline void multiply_mma(double (&c)[2], double a, double b) {
  enum { WARPS = EMULATED_THREADS / 32 };
  static double left[2][WARPS][8][4],
      right[2][WARPS][4][8]; /* of this call and the one before, which others may not have finished */
  static unsigned calls[EMULATED_THREADS];
  const unsigned t = threadIdx.x, warp = t / 32, lane = t % 32, now = calls[t]++ % 2;
  const emulated_lanes &at = emulated_mma;
  left[now][warp][at.left_row[lane]][at.left_index[lane]] = a;
  right[now][warp][at.right_index[lane]][at.right_col[lane]] = b;
  __syncthreads();
  for (unsigned h = 0; h < 2; h++)
    for (unsigned k = 0; k < 4; k++)
      c[h] = __builtin_fma(left[now][warp][at.row[lane]][k], right[now][warp][k][at.col[lane] + h], c[h]);
}

/* Those of integers of 8 bits, 16 x 32 times 32 x 8 (src/cuda/crt.h): four neighbours in a register, of which the left
 * factor has others for 8 more rows and for 16 more terms, the right one for 16 more terms, the sums for 8 more rows. */
static inline void multiply_s8(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  enum { WARPS = EMULATED_THREADS / 32 };
  static int8_t left[2][WARPS][16][32], right[2][WARPS][32][8];
  static unsigned calls[EMULATED_THREADS];
  const unsigned t = threadIdx.x, warp = t / 32, lane = t % 32, now = calls[t]++ % 2;
  const emulated_lanes &at = emulated_mma;
  for (unsigned r = 0; r < 4; r++)
    for (unsigned e = 0; e < 4; e++)
      left[now][warp][at.left_row[lane] + r % 2 * 8][4u * at.left_index[lane] + r / 2 * 16 + e] =
          static_cast<int8_t>(a[r] >> 8 * e);
  for (unsigned r = 0; r < 2; r++)
    for (unsigned e = 0; e < 4; e++)
      right[now][warp][4u * at.right_index[lane] + r * 16 + e][at.right_col[lane]] = static_cast<int8_t>(b[r] >> 8 * e);
  __syncthreads();
  for (unsigned r = 0; r < 4; r++)
    for (unsigned k = 0; k < 32; k++)
      c[r] += left[now][warp][at.row[lane] + r / 2 * 8][k] * right[now][warp][k][at.col[lane] + r % 2];
}

static void emulated_protect(bool now) {
  static bool is_protected;
  if (now != is_protected && mprotect(emulated.stacks, EMULATED_STACK, now ? PROT_NONE : PROT_READ | PROT_WRITE)) abort();
  is_protected = now;
}

static void emulated_same_barrier(unsigned block) {
  for (unsigned t = 1; t < block; t++) {
    const bool ended = emulated.done[t] || emulated.done[0];
    if (!ended && emulated.line[t] == emulated.line[0] && strcmp(emulated.file[t], emulated.file[0]) == 0) continue;
    fprintf(stderr, "threads 0 and %u of a block are at different barriers\n", t);
    abort();
  }
}

/* The order of the threads for the next round: of chance, or from either end. */
static void emulated_order(unsigned block, unsigned round) {
  for (unsigned t = 0; t < block; t++) emulated.turn[t] = round % 2 ? block - 1 - t : t;
  for (unsigned t = block; EMULATED_STRICT && t > 1; t--) {
    emulated.seed = emulated.seed * 1664525u + 1013904223u;
    const unsigned other = (emulated.seed >> 8) % t, last = emulated.turn[t - 1];
    emulated.turn[t - 1] = emulated.turn[other], emulated.turn[other] = last;
  }
}

template <class F> void emulate_launch(unsigned grid, unsigned block, F body) {
  if (block > EMULATED_THREADS) abort();
  emulated_calls.launches++;
  if (!emulated.stacks) emulated.stacks = static_cast<char *>(aligned_alloc(4096, size_t(EMULATED_STACK) * EMULATED_THREADS));
  emulated.call = [](void *f) { (*static_cast<F *>(f))(); };
  emulated.context = &body;
  blockDim.x = block, gridDim.x = grid;
  emulated_poison();
  for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++) {
    for (unsigned t = 0; t < block; t++) emulated.done[t] = false;
    for (unsigned left = block, round = 0; left > 0; round++) { /* every thread up to its next barrier */
      emulated_order(block, round);
      left = 0;
      for (unsigned u = 0; u < block; u++) {
        const unsigned t = emulated.turn[u];
        if (emulated.done[t]) continue;
        threadIdx.x = emulated.running = t;
        emulated_protect(t != 0);
        emulated_enter(t);
        left += !emulated.done[t];
      }
      if (EMULATED_STRICT && left) emulated_same_barrier(block);
    }
    emulated_protect(false);
  }
}

#define RM_START(kernel, grid, block, stream, ...) \
  ((void)(stream), emulate_launch((unsigned)(grid), (unsigned)(block), [&] { (kernel)(__VA_ARGS__); }))

#endif
