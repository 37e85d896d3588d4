/* Whether the CPU's products of pairs of bf16 numbers (crlibm/simd/bf16.h) are used beside the build for avx512:
 * `avx512bf16` of REPMATH_ISA. */
#pragma once

#if defined(RM_CFG_BF16) && defined(__x86_64__) && !defined(RM_CFG_ONE_ISA)
#define RM_HAS_BF16 1
int rm_isa_bf16(void);
#else
#define RM_HAS_BF16 0
#endif
