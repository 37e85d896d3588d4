/* What the programs of this folder need of a device: memory that both sides read and write, and waiting. Compiled by nvcc
 * they run on a GPU; with -DRM_TEST_EMULATE (emulate.h first) on the host. */
#ifndef RM_TESTS_DEVICE_H
#define RM_TESTS_DEVICE_H

#include <repmath/core.h>

#include <stdio.h>
#include <string.h>

#if defined(RM_TEST_EMULATE)
#define BOTH_SIDES static
static inline bool device_idle() { return true; }
#else
#include <cuda_runtime.h>
#define BOTH_SIDES static __managed__
static inline bool device_idle() { return cudaDeviceSynchronize() == cudaSuccess; }
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

/* A call on each side; afterwards the memories `cpu` and `gpu` are compared, byte by byte. */
template <size_t size, class F, class G>
void compare_memory(const char *what, char (&cpu)[size], char (&gpu)[size], F on_cpu, G on_gpu) {
  const rm_status expected = on_cpu(), status = on_gpu();
  check(device_idle() && expected == RM_OK && status == RM_OK && memcmp(cpu, gpu, size) == 0, what);
}

#endif
