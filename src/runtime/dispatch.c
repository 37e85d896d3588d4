/* Chooses the kernel table: the only user of cpuid. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../../include/repmath/core.h"
#include "kernels.h"

extern const struct rm_kernels rm_kernels__base;
#if defined(__x86_64__)
extern const struct rm_kernels rm_kernels__avx2, rm_kernels__avx512;
/* Not every compiler's __builtin_cpu_supports knows this name. */
static int has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }
static int has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
int rm_gathers_are_slow(void) { return __builtin_cpu_is("amd") != 0; }
#elif defined(__aarch64__)
extern const struct rm_kernels rm_kernels__neon;
#endif
#if !defined(__x86_64__)
int rm_gathers_are_slow(void) { return 1; }
#endif
static int always(void) { return 1; }

/* Best first. */
static const struct {
  const struct rm_kernels *table;
  int (*runs_here)(void);
} builds[] = {
#if defined(__x86_64__)
    {&rm_kernels__avx512, has_avx512},
    {&rm_kernels__avx2, has_avx2},
#elif defined(__aarch64__)
    {&rm_kernels__neon, always},
#endif
    {&rm_kernels__base, always},
};
enum { BUILDS = sizeof builds / sizeof *builds };

static const struct rm_kernels *choose(void) {
  const char *wanted = getenv("REPMATH_ISA");
  for (int i = 0; i < BUILDS; i++)
    if ((!wanted || !*wanted || strcmp(wanted, builds[i].table->name) == 0) && builds[i].runs_here()) return builds[i].table;
  return NULL;
}

const struct rm_kernels *rm_kernels_get(void) {
  static _Atomic(const struct rm_kernels *) chosen;
  const struct rm_kernels *k = atomic_load_explicit(&chosen, memory_order_acquire);
  if (__builtin_expect(!k, 0)) {
    k = choose();
    atomic_store_explicit(&chosen, k, memory_order_release);
  }
  return k;
}

const char *rm_isa(void) {
  const struct rm_kernels *k = rm_kernels_get();
  return k ? k->name : NULL;
}
rm_status rm_isa_status(void) { return rm_kernels_get() ? RM_OK : RM_ERR_ISA; }
int rm_isa_available(const char *name) {
  for (int i = 0; name && i < BUILDS; i++)
    if (strcmp(name, builds[i].table->name) == 0) return builds[i].runs_here();
  return 0;
}
