/* The floating-point environment. Every entry point and every worker thread sets it and restores the caller's at the end.
 *
 * Between rm_env_enter and rm_env_leave operations round to nearest and honour subnormals, and there are no traps.
 * rm_env_leave restores the caller's control bits and sticky flags and adds exactly the RM_FLAG_* bits that IEEE 754 asks
 * for: kernels compute those in software and never read the hardware's. */
#pragma once

#include <stdint.h>

#include "../../crlibm/fp/bits.h"

typedef struct {
  uint64_t saved;
} rm_env;

#if defined(__x86_64__)
#include <xmmintrin.h>

/* MXCSR: all exceptions masked, nearest, neither FTZ nor DAZ. Sticky flags: bit 0 invalid, 2 divide by zero, 3 overflow. */
static inline rm_env rm_env_enter(void) {
  rm_env env = {_mm_getcsr()};
  if (__builtin_expect((env.saved & 0xffc0u) != 0x1f80u, 0)) _mm_setcsr(0x1f80u);
  RM_KEEP_ORDER;
  return env;
}
static inline void rm_env_leave(rm_env env, uint32_t flags) {
  RM_KEEP_ORDER;
  _mm_setcsr((uint32_t)env.saved | (flags & RM_FLAG_INVALID) | ((flags & RM_FLAG_DIVBYZERO) << 1) |
             ((flags & RM_FLAG_OVERFLOW) << 1));
}

#elif defined(__aarch64__)

/* FPCR: nearest, no FZ, FZ16, DN or AHP, no traps. FPSR: bit 0 invalid, 1 divide by zero, 2 overflow. */
static inline rm_env rm_env_enter(void) {
  uint64_t cr, sr;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(cr), "=r"(sr)::"memory");
  if (__builtin_expect(cr != 0, 0)) __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0) : "memory");
  rm_env env = {(cr << 32) | (sr & 0xffffffffu)};
  return env;
}
static inline void rm_env_leave(rm_env env, uint32_t flags) {
  uint64_t cr = env.saved >> 32, sr = (env.saved & 0xffffffffu) | flags;
  __asm__ volatile("msr fpsr, %0" ::"r"(sr) : "memory");
  if (__builtin_expect(cr != 0, 0)) __asm__ volatile("msr fpcr, %0" ::"r"(cr) : "memory");
}

#else
#error "src/runtime/env.h does not know this architecture's floating-point environment"
#endif
