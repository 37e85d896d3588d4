/* Chooses the build of the kernels: the only user of cpuid. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../../include/repmath/core.h"
#include "bf16.h"
#include "isa.h"
#include "tiles.h"
#if RM_HAS_TILES && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

/* amx is the build for avx512 with the CPU's tiles beside it, for which Linux gives a process permission: it makes the
 * frames of signals larger, and refuses where an alternate stack has no room for them. */
#if RM_HAS_TILES
static int ask_for_tiles(void) {
#if defined(__linux__)
  enum { REQUEST = 0x1023, TILE_DATA = 18, TILES = 1 << 24, TILES_INT8 = 1 << 25 };
  unsigned a, b, c, d;
  if (!runs_avx512() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (~d & (TILES | TILES_INT8))) return 0;
  return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
  return 0;
#endif
}
static int runs_amx(void) {
  static atomic_int answer = -1;
  int i = atomic_load_explicit(&answer, memory_order_relaxed);
  if (i < 0) atomic_store_explicit(&answer, i = ask_for_tiles(), memory_order_relaxed);
  return i;
}
#endif

/* avx512bf16 is that build with products of pairs of bf16 numbers beside it. */
#if RM_HAS_BF16
static int runs_avx512bf16(void) {
  enum { PAIRS = 1 << 5 };
  unsigned a, b, c, d;
  return runs_avx512() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & PAIRS);
}
#endif

enum {
#define RM_POSITION(isa, ...) AT_##isa,
  RM_FOR_EACH_ISA(RM_POSITION, )
#undef RM_POSITION
};
static const struct {
  const char *name;
  int (*runs_here)(void);
  int build;
} choices[] = {
#if RM_HAS_TILES
    {"amx", runs_amx, AT_avx512},
#endif
#if RM_HAS_BF16
    {"avx512bf16", runs_avx512bf16, AT_avx512},
#endif
#define RM_CHOICE(isa, ...) {#isa, runs_##isa, AT_##isa},
    RM_FOR_EACH_ISA(RM_CHOICE, )
#undef RM_CHOICE
};
enum { CHOICES = sizeof choices / sizeof *choices };

static int choose(void) {
  const char *wanted = getenv("REPMATH_ISA");
  int i = 0;
  while (i < CHOICES && ((wanted && *wanted && strcmp(wanted, choices[i].name) != 0) || !choices[i].runs_here())) i++;
  return i;
}

/* The position in the list of choices; CHOICES when there is none. */
static int choice(void) {
  static atomic_int chosen = -1;
  int i = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (__builtin_expect(i < 0, 0)) {
    i = choose();
    atomic_store_explicit(&chosen, i, memory_order_relaxed);
  }
  return i;
}

int rm_isa_index(void) {
  const int i = choice();
  return i < CHOICES ? choices[i].build : RM_ISA_COUNT;
}
#if RM_HAS_TILES
int rm_isa_tiles(void) { return choice() == 0; }
#endif
#if RM_HAS_BF16
int rm_isa_bf16(void) { return choice() == RM_HAS_TILES; }
#endif

const char *rm_isa(void) {
  const int i = choice();
  return i < CHOICES ? choices[i].name : NULL;
}
rm_status rm_isa_status(void) { return rm_isa_index() < RM_ISA_COUNT ? RM_OK : RM_ERR_ISA; }
int rm_isa_available(const char *name) {
  for (int i = 0; name && i < CHOICES; i++)
    if (strcmp(name, choices[i].name) == 0) return choices[i].runs_here();
  return 0;
}
