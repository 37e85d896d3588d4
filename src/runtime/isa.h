/* Which build of the kernels serves this process. A module keeps one table of kernels per ISA and takes its own by this
 * index. */
#pragma once

/* The builds of this architecture, best first, as X(isa, ...). A library of one build names it by RM_CFG_ONE_ISA. */
#if defined(RM_CFG_ONE_ISA)
#define RM_FOR_EACH_ISA(X, ...) X(RM_CFG_ONE_ISA, __VA_ARGS__)
#elif defined(__x86_64__)
#define RM_FOR_EACH_ISA(X, ...) X(avx512, __VA_ARGS__) X(avx2, __VA_ARGS__) X(base, __VA_ARGS__)
#elif defined(__aarch64__)
#define RM_FOR_EACH_ISA(X, ...) X(neon, __VA_ARGS__) X(base, __VA_ARGS__)
#else
#define RM_FOR_EACH_ISA(X, ...) X(base, __VA_ARGS__)
#endif
#define RM_ISA_CAT(name, isa) name##__##isa
#define RM_ISA_ONE(isa, ...) +1
enum { RM_ISA_COUNT = 0 RM_FOR_EACH_ISA(RM_ISA_ONE, ) };

/* The position in this list of the build in use, which the first call chooses from the CPU and REPMATH_ISA; RM_ISA_COUNT when
 * REPMATH_ISA names an unknown or unavailable build (rm_isa_status then says so). */
int rm_isa_index(void);

/* Declares the tables `name` of each build (RM_ISA_SYMBOL(name)) and defines get(), the one in use: NULL when no build is. */
#define RM_ISA_EXTERN(isa, type, name) extern const type RM_ISA_CAT(name, isa);
#define RM_ISA_ADDRESS(isa, name) &RM_ISA_CAT(name, isa),
#define RM_ISA_TABLES(type, name, get)                                                             \
  RM_FOR_EACH_ISA(RM_ISA_EXTERN, type, name)                                                       \
  static inline const type *get(void) {                                                            \
    static const type *const builds[RM_ISA_COUNT + 1] = {RM_FOR_EACH_ISA(RM_ISA_ADDRESS, name) 0}; \
    return builds[rm_isa_index()];                                                                 \
  }

/* A gather takes longer than a load for each of its elements: on AMD (Zen 5, bench/run.py, asinh f16
 * and the like: 0.38 against 0.27 ns an element). */
int rm_gathers_are_slow(void);
