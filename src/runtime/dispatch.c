/* Chooses the build of the kernels: the only user of cpuid. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../../include/repmath/core.h"
#include "isa.h"

#if defined(__x86_64__)
/* Not every compiler's __builtin_cpu_supports knows this name. */
static int has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
static int runs_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }
static int runs_avx512(void) {
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
int rm_gathers_are_slow(void) { return __builtin_cpu_is("amd") != 0; }
#else
#if defined(__aarch64__)
static int runs_neon(void) { return 1; }
#endif
int rm_gathers_are_slow(void) { return 1; }
#endif
static int runs_base(void) { return 1; }

static const struct {
  const char *name;
  int (*runs_here)(void);
} builds[RM_ISA_COUNT] = {
#define BUILD(isa, ...) {#isa, runs_##isa},
    RM_FOR_EACH_ISA(BUILD, )
#undef BUILD
};

static int choose(void) {
  const char *wanted = getenv("REPMATH_ISA");
  int i = 0;
  while (i < RM_ISA_COUNT && ((wanted && *wanted && strcmp(wanted, builds[i].name) != 0) || !builds[i].runs_here())) i++;
  return i;
}

int rm_isa_index(void) {
  static atomic_int chosen = -1;
  int i = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (__builtin_expect(i < 0, 0)) {
    i = choose();
    atomic_store_explicit(&chosen, i, memory_order_relaxed);
  }
  return i;
}

const char *rm_isa(void) {
  const int i = rm_isa_index();
  return i < RM_ISA_COUNT ? builds[i].name : NULL;
}
rm_status rm_isa_status(void) { return rm_isa_index() < RM_ISA_COUNT ? RM_OK : RM_ERR_ISA; }
int rm_isa_available(const char *name) {
  for (int i = 0; name && i < RM_ISA_COUNT; i++)
    if (strcmp(name, builds[i].name) == 0) return builds[i].runs_here();
  return 0;
}
