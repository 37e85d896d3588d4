/* The caller's floating-point control bits, set in ways that break careless code. */
#ifndef RM_TESTS_FPENV_H
#define RM_TESTS_FPENV_H

#include <fenv.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* MXCSR without its sticky flags: rounding, masks, FTZ (bit 15), DAZ (bit 6). */
static inline uint32_t control_get(void) { return _mm_getcsr() & 0xffc0u; }
static inline void control_set(uint32_t c) { _mm_setcsr((_mm_getcsr() & 0x3fu) | c); }
static const struct {
  const char *name;
  uint32_t control;
} modes[] = {
    {"default", 0x1f80}, {"ftz", 0x9f80},         {"daz", 0x1fc0},        {"ftz+daz", 0x9fc0}, {"down", 0x3f80},
    {"up", 0x5f80},      {"toward zero", 0x7f80}, {"up+ftz+daz", 0xdfc0}, {"traps", 0x0000},   {"down+traps", 0x2000},
};
#elif defined(__aarch64__)
static inline uint32_t control_get(void) {
  uint64_t c;
  __asm__ volatile("mrs %0, fpcr" : "=r"(c));
  return (uint32_t)c;
}
static inline void control_set(uint32_t c) { __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)c) : "memory"); }
/* FZ is bit 24, DN bit 25, FZ16 bit 19, the rounding mode bits 22-23 (1 up, 2 down, 3 toward zero). */
static const struct {
  const char *name;
  uint32_t control;
} modes[] = {
    {"default", 0},   {"fz", 1u << 24},   {"fz+fz16", 1u << 24 | 1u << 19}, {"dn", 1u << 25},
    {"up", 1u << 22}, {"down", 2u << 22}, {"toward zero", 3u << 22},        {"up+fz+dn", 1u << 22 | 3u << 24},
};
#else
#error "the tests do not know this architecture's floating-point environment"
#endif
enum { MODES = sizeof modes / sizeof *modes };

/* The flags that the specification decides. */
enum { DECIDED = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

#endif
