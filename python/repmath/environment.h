/* Whether a thread has the default floating-point environment, which costs less to see than to set. No NumPy here. */
#pragma once

#include <fenv.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* Round to nearest, all exceptions masked, subnormal numbers honoured; the flags, the low six bits of MXCSR, do not
 * matter. */
static inline int rm_py_has_default_environment(void) {
  unsigned short x87;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3Fu) == 0x1F80u && x87 == 0x37F;
}
static inline unsigned rm_py_get_flags(void) { return _mm_getcsr(); }
static inline void rm_py_set_flags(unsigned flags) {
  if (_mm_getcsr() != flags) _mm_setcsr(flags);
}
#else
static inline int rm_py_has_default_environment(void) { return 0; }
static inline unsigned rm_py_get_flags(void) { return 0; }
static inline void rm_py_set_flags(unsigned flags) { (void)flags; }
#endif
