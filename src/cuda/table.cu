/* Functions of one 16-bit number, of many numbers: their results for all 65,536 are computed first, by the kernel of few
 * numbers, and then looked up. So a number costs a look-up, whatever its function.
 *
 * A look-up by the threads of a warp takes about as many cycles as their addresses have lines in common memory, and in shared
 * memory as the fullest of its 32 banks has words, 3 or 4 of random ones. The table is 128 KiB: where a device has so much
 * shared memory for a block, as those of compute capability 8.0, 9.0 and 10.0 have, one large block on each multiprocessor
 * copies it there; elsewhere look-ups go through the caches. */
#include "table.h"

#include "loads.h"

namespace {

#ifndef RM_CFG_TABLE_THREADS
#define RM_CFG_TABLE_THREADS 1024
#endif
enum { RM_TABLE_THREADS = RM_CFG_TABLE_THREADS, RM_TABLE_BYTES = 2 * RM_TABLE_NUMBERS, RM_TABLE_AHEAD = 2 };

struct alignas(16) table_memory {
  uint16_t result[RM_TABLE_NUMBERS];
};
#if defined(RM_CFG_EMULATE_DEVICE)
__device__ table_memory &table_of_block() {
  __shared__ table_memory memory;
  return memory;
}
#else
__device__ table_memory &table_of_block() {
  extern __shared__ char memory[];
  return *reinterpret_cast<table_memory *>(memory);
}
#endif

__global__ void numbers_kernel(uint16_t *x) {
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < RM_TABLE_NUMBERS; i += step)
    x[i] = static_cast<uint16_t>(i);
}

__device__ packed_elements results_of(const packed_elements &x, const uint16_t *table) {
  packed_elements y;
  RM_UNROLL for (int k = 0; k < 4; k++) y.word[k] = table[x.word[k] & 0xffff] | static_cast<uint32_t>(table[x.word[k] >> 16])
                                                                                    << 16;
  return y;
}

/* Numbers of 16 bits that lie one after the other from aligned addresses on, eight at a time; y may be x. */
__device__ void look_up(int64_t n, const uint16_t *x, const uint16_t *table, uint16_t *y) {
  const int64_t words = n / 8, jump = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const packed_elements *const from = reinterpret_cast<const packed_elements *>(x);
  packed_elements *const to = reinterpret_cast<packed_elements *>(y);
  int64_t w = thread;
  for (; w + (RM_TABLE_AHEAD - 1) * jump < words; w += RM_TABLE_AHEAD * jump) {
    packed_elements v[RM_TABLE_AHEAD]; /* all on their way before the first is needed */
    RM_UNROLL for (int a = 0; a < RM_TABLE_AHEAD; a++) v[a] = from[w + a * jump];
    RM_UNROLL for (int a = 0; a < RM_TABLE_AHEAD; a++) to[w + a * jump] = results_of(v[a], table);
  }
  for (; w < words; w += jump) to[w] = results_of(from[w], table);
  const int64_t rest = words * 8 + thread;
  if (rest < n) y[rest] = table[x[rest]];
}

__global__ void __launch_bounds__(RM_BLOCK) cached_kernel(int64_t n, const uint16_t *x, const uint16_t *table, uint16_t *y) {
  look_up(n, x, table, y);
}

__global__ void __launch_bounds__(RM_TABLE_THREADS, 1)
    shared_kernel(int64_t n, const uint16_t *x, const uint16_t *table, uint16_t *y) {
  table_memory &memory = table_of_block();
  const packed_elements *const from = reinterpret_cast<const packed_elements *>(table);
  packed_elements *const to = reinterpret_cast<packed_elements *>(memory.result);
  for (int i = static_cast<int>(threadIdx.x); i < RM_TABLE_NUMBERS / 8; i += RM_TABLE_THREADS) to[i] = from[i];
  __syncthreads();
  look_up(n, x, memory.result, y);
}

/* Launches shared_kernel; false where the device has too little shared memory. */
bool by_shared_table(int64_t n, const uint16_t *x, const uint16_t *table, uint16_t *y, cudaStream_t s) {
#if defined(RM_CFG_EMULATE_DEVICE)
  if (n % 2) return false; /* both kernels are tested */
  RM_LAUNCH(shared_kernel, 3, RM_TABLE_THREADS, s, n, x, table, y);
#else
  int device = 0, shared = 0, processors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess || shared < RM_TABLE_BYTES ||
      cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, RM_TABLE_BYTES) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  if (!rm_cuda_measures())
    shared_kernel<<<static_cast<unsigned>(processors), RM_TABLE_THREADS, RM_TABLE_BYTES, s>>>(n, x, table, y);
#endif
  return true;
}

} // namespace

void rm_cuda_all_numbers(uint16_t *x, cudaStream_t stream) {
  RM_LAUNCH(numbers_kernel, RM_TABLE_NUMBERS / RM_BLOCK, RM_BLOCK, stream, x);
}

rm_status rm_cuda_look_up(int64_t n, const uint16_t *x, const uint16_t *table, uint16_t *y, cudaStream_t stream) {
  if (!by_shared_table(n, x, table, y, stream))
    RM_LAUNCH(cached_kernel, blocks_for(n / (8 * RM_TABLE_AHEAD)), RM_BLOCK, stream, n, x, table, y);
  return launched();
}
