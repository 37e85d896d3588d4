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
/* cpuid is asked here, since the runtime of some compilers answers no to every __builtin_cpu_supports. The operating system
 * says by xgetbv which registers it saves: those of 256 bits, and those of 512 with the masks. */
static int saves(unsigned states) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & states) == states;
}
static int runs_avx2(void) {
  const unsigned fma = 1u << 12, xgetbv = 1u << 27, avx = 1u << 28, f16c = 1u << 29, avx2 = 1u << 5;
  const unsigned wanted = fma | xgetbv | avx | f16c;
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & wanted) == wanted && saves(0x6) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         (b & avx2);
}
static int runs_avx512(void) {
  const unsigned f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31, wanted = f | dq | bw | vl;
  unsigned a, b, c, d;
  return runs_avx2() && saves(0xe6) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & wanted) == wanted;
}
int rm_gathers_are_slow(void) {
  unsigned a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == 0x68747541u && d == 0x69746e65u && c == 0x444d4163u; /* AuthenticAMD */
}
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
