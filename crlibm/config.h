/* The only file that distinguishes compilers, instruction sets and CUDA.
 *
 * RM_FN      a function of the math core: static inline on the host, __device__ in CUDA
 * RM_MEMBER  the same for a member of the classes that a device needs
 * RM_COLD    a function that is kept out of hot code
 * RM_NOINLINE  a hot function that is long and called from many places, of which one copy is enough
 * RM_LONG    RM_FN on the host; in CUDA a function of its own: inlining it everywhere would take minutes to compile
 * RM_TABLE   a constant table visible to RM_FN functions
 * RM_HOST_EXTERN  a function of src with external linkage on the host, whose file CUDA includes and compiles as device code;
 *            RM_STATIC is a static function of such a file
 * RM_DEVICE  1 in CUDA, and in the host build that emulates a device
 * RM_SIMD    which backend of simd/ this translation unit is compiled for (set by the build, RM_CFG_SIMD)
 * RM_HAS_FMA 1 when rm_fma is one machine instruction; 0 when no fused operation is used at all
 *
 * Every proof in crlibm holds for both values of RM_HAS_FMA. */
#pragma once

#include <stdint.h>

#define RM_SIMD_SCALAR 0
#define RM_SIMD_AVX2 1
#define RM_SIMD_AVX512 2
#define RM_SIMD_NEON 3

#ifndef RM_CFG_SIMD
#define RM_CFG_SIMD RM_SIMD_SCALAR
#endif
#define RM_SIMD RM_CFG_SIMD

#if defined(__FAST_MATH__)
#error "crlibm needs IEEE 754 semantics: compile it without -ffast-math"
#endif

#if defined(__CUDACC__)
#define RM_FN static __device__ __forceinline__
#define RM_HOT static __device__ __forceinline__
#define RM_MEMBER __device__ __forceinline__
#define RM_COLD static __device__ __noinline__
#define RM_NOINLINE static __device__ __noinline__
#define RM_LONG static __device__ __noinline__
#define RM_TABLE static __device__ const
#define RM_HOST_EXTERN static __device__ __noinline__
#define RM_STATIC static __device__
#define RM_DEVICE 1
#define RM_HAS_FMA 1
#else
#define RM_FN static inline __attribute__((always_inline, unused))
#define RM_HOT static __attribute__((always_inline, unused)) inline /* in each element's loop, also where code is small */
#define RM_MEMBER inline
#define RM_COLD static __attribute__((cold, noinline, unused))
#define RM_NOINLINE static __attribute__((noinline, unused))
#define RM_LONG RM_FN
#define RM_TABLE static const __attribute__((aligned(64), unused))
#define RM_STATIC static __attribute__((unused))
#if defined(RM_CFG_EMULATE_DEVICE)
#define RM_HOST_EXTERN static __attribute__((unused))
#define RM_DEVICE 1
#else
#define RM_HOST_EXTERN
#define RM_DEVICE 0
#endif
#if defined(__FMA__) || defined(__aarch64__)
#define RM_HAS_FMA 1
#else
#define RM_HAS_FMA 0
#endif
#endif
#define RM_RESTRICT __restrict__
/* A number of 16 bits that may lie at any address. */
typedef uint16_t rm_loose16 __attribute__((aligned(1), may_alias));

#define RM_LIKELY(c) __builtin_expect(!!(c), 1)
#define RM_UNLIKELY(c) __builtin_expect(!!(c), 0)
/* The compiler moves no load and no store across it. */
#define RM_KEEP_ORDER __asm__ volatile("" ::: "memory")

/* Token pasting, and the per-build name of a symbol: name -> name__avx2. */
#define RM_CAT_(a, b) a##b
#define RM_CAT(a, b) RM_CAT_(a, b)
#if RM_SIMD == RM_SIMD_AVX512
#define RM_ISA_NAME "avx512"
#define RM_ISA_SYMBOL(name) name##__avx512
#elif RM_SIMD == RM_SIMD_AVX2
#define RM_ISA_NAME "avx2"
#define RM_ISA_SYMBOL(name) name##__avx2
#elif RM_SIMD == RM_SIMD_NEON
#define RM_ISA_NAME "neon"
#define RM_ISA_SYMBOL(name) name##__neon
#else
#define RM_ISA_NAME "base"
#define RM_ISA_SYMBOL(name) name##__base
#endif

#if RM_HAS_FMA
/* a b + c with one rounding, which is a machine instruction wherever RM_HAS_FMA is 1. */
RM_FN double rm_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif

/* For loops over arrays of vectors, which must end in registers. */
#if defined(__clang__) || defined(__CUDACC__)
#define RM_UNROLL _Pragma("unroll")
#else
#define RM_UNROLL _Pragma("GCC unroll 32")
#endif

/* For files and builds whose time matters little, as accurate phases, sanitizers, other compilers and controls: the compiler
 * decides what it inlines, so that they compile in a fraction of the time, and are smaller. No bit depends on it. */
#if defined(RM_CFG_CALLS) && !defined(__CUDACC__)
#undef RM_FN
#define RM_FN static inline __attribute__((unused))
#undef RM_UNROLL
#define RM_UNROLL
#endif

/* RM_SHARED is a large RM_COLD function that many files call. Where RM_CFG_SHARED is defined, as in the library, one file
 * defines it (src/common/enclosures.c, with the value 1), and the others see its declaration; elsewhere each has its own. */
#if defined(RM_CFG_SHARED)
#define RM_SHARED
#define RM_DEFINES_SHARED RM_CFG_SHARED
#else
#define RM_SHARED RM_COLD
#define RM_DEFINES_SHARED 1
#endif

/* Every error bound in Ziv's rounding test passes through RM_BOUND. A test library compiled with
 * -DRM_CFG_BOUND_SHRINK=0x1p-20 or the like must return wrong bits: that shows the bounds are needed and the tests see it. */
#ifdef RM_CFG_BOUND_SHRINK
#define RM_BOUND(x) ((x) * (RM_CFG_BOUND_SHRINK))
#else
#define RM_BOUND(x) (x)
#endif

/* v = *p and *p = v for words. RM_LOAD_WORD and RM_STORE_WORD take any address on the host; on a device it is a multiple of
 * `bytes`: of what may lie anywhere, callers have copies. There the pointer has to be followed, since the compiler takes what
 * is copied byte by byte. RM_READ_WORD and RM_WRITE_WORD, whose bits has 64, take any address on a device too, which would
 * fault on a word that is not aligned. */
#if RM_DEVICE
#ifndef RM_CFG_WORD_CHECK /* the emulation's */
#define RM_CFG_WORD_CHECK(ok) (void)0
#endif
#define RM_IS_WORD(p, bytes) ((uintptr_t)(p) % (bytes) == 0)
#define RM_LOAD_WORD(v, p, bytes) (RM_CFG_WORD_CHECK(RM_IS_WORD(p, bytes)), (void)((v) = *(p)))
#define RM_STORE_WORD(p, v, bytes) (RM_CFG_WORD_CHECK(RM_IS_WORD(p, bytes)), (void)(*(p) = (v)))
#define RM_READ_WORD(v, p, bytes) \
  (RM_IS_WORD(p, bytes) ? (void)((v) = *(const __typeof__(v) *)(const void *)(p)) : (void)__builtin_memcpy(&(v), p, bytes))
#define RM_WRITE_WORD(p, bits, bytes)                                          \
  (!RM_IS_WORD(p, bytes) ? (void)__builtin_memcpy(p, &(bits), bytes)           \
   : (bytes) == 8        ? (void)(*(uint64_t *)(void *)(p) = (bits))           \
   : (bytes) == 4        ? (void)(*(uint32_t *)(void *)(p) = (uint32_t)(bits)) \
                         : (void)(*(uint16_t *)(void *)(p) = (uint16_t)(bits)))
#else
#define RM_LOAD_WORD(v, p, bytes) __builtin_memcpy(&v, p, bytes)
#define RM_STORE_WORD(p, v, bytes) __builtin_memcpy(p, &v, bytes)
#define RM_READ_WORD(v, p, bytes) __builtin_memcpy(&v, p, bytes)
#define RM_WRITE_WORD(p, bits, bytes) __builtin_memcpy(p, &bits, bytes)
#endif
