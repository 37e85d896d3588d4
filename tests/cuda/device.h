/* What the programs of this folder need of a device: memory that both sides read and write, and waiting. Compiled by nvcc
 * they run on a GPU; with -DRM_TEST_EMULATE (emulate.h first) on the host. */
#ifndef RM_TESTS_DEVICE_H
#define RM_TESTS_DEVICE_H

#include <repmath/cuda_memory.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(RM_TEST_EMULATE)
#define BOTH_SIDES static
static inline bool device_idle() { return true; }
static inline void *both_sides(size_t bytes) { return aligned_alloc(256, (bytes + 255) / 256 * 256); }
static inline void release(void *memory) { free(memory); }
#else
#include <cuda_runtime.h>
#define BOTH_SIDES static __managed__
static inline bool device_idle() { return cudaDeviceSynchronize() == cudaSuccess; }
static inline void *both_sides(size_t bytes) {
  void *memory = NULL;
  return cudaMallocManaged(&memory, bytes) == cudaSuccess ? memory : NULL;
}
static inline void release(void *memory) { (void)cudaFree(memory); }
#endif

static int passed, failed;
static inline void check(bool ok, const char *what) {
  ok ? passed++ : failed++;
  if (!ok) printf("FAILED %s\n", what);
}
static inline int checked() {
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

/* A call whose workspace is measured first, and given: as many bytes, which end in a page's NaNs that nothing may change. */
template <class G> rm_status with_workspace(G on_gpu) {
  enum { BEYOND = 4096 };
  size_t bytes = 0, again = 0;
  rm_cuda_measure_workspace();
  const rm_status status = on_gpu();
  rm_cuda_end_workspace(&bytes);
  if (status) return status;
  unsigned char *const memory = static_cast<unsigned char *>(both_sides(bytes + BEYOND));
  if (!memory) return RM_ERR_MEMORY;
  memset(memory, 0xff, bytes + BEYOND);
  rm_status done = rm_cuda_use_workspace(bytes, memory);
  if (done == RM_OK) done = on_gpu();
  rm_cuda_end_workspace(&again);
  bool kept = device_idle() && again == bytes;
  for (size_t k = 0; k < BEYOND; k++) kept = kept && memory[bytes + k] == 0xff;
  if (!kept) printf("a workspace of %zu bytes was measured, %zu were taken\n", bytes, again);
  release(memory);
  return kept ? done : RM_ERR_DEVICE;
}

/* A call on each side, every other time with a workspace of its own; afterwards the memories `cpu` and `gpu` are compared,
 * byte by byte. */
template <size_t size, class F, class G>
void compare_memory(const char *what, char (&cpu)[size], char (&gpu)[size], F on_cpu, G on_gpu) {
  const rm_status expected = on_cpu(), status = passed % 2 ? with_workspace(on_gpu) : on_gpu();
  check(device_idle() && expected == RM_OK && status == RM_OK && memcmp(cpu, gpu, size) == 0, what);
}

#endif
