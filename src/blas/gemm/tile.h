/* Sizes of the matrix engines, per ISA build. A register tile is MR x (NV RM_LANES): MR NV accumulators, NV vectors of B and
 * one broadcast element of A must fit the vector registers (32, 16 for AVX2 and SSE2). */
#pragma once

#include "../../../crlibm/simd/simd.h"

/* KC, the length of one accumulation chain, makes a panel of B (KC x NR) fit the L1 cache beside the panels of A (KC x MR)
 * that stream by. */
#if RM_SIMD == RM_SIMD_AVX512
enum { RM_MR = 8, RM_NV = 3, RM_KC = 128 };
#elif RM_SIMD == RM_SIMD_NEON
enum { RM_MR = 8, RM_NV = 3, RM_KC = 256 };
#else
enum { RM_MR = 4, RM_NV = 3, RM_KC = 256 };
#endif
enum { RM_NR = RM_NV * RM_LANES, RM_TILE = RM_MR * RM_NR };

/* The double-double engine has two accumulators an element: MR2 x NV2 of them. Its panels of A are AW rows wide, whole
 * vectors, of which the microkernel takes MR2 at a time. */
#if RM_SIMD == RM_SIMD_AVX512 || RM_SIMD == RM_SIMD_NEON
enum { RM_MR2 = 4, RM_NV2 = 3, RM_KC2 = 128 };
#else
enum { RM_MR2 = 2, RM_NV2 = 2, RM_KC2 = 128 };
#endif
enum { RM_PACK_MAX_VECTORS = 4 }; /* in a panel; MR, NR, AW2 and NR2 are at most that wide */
enum { RM_NR2 = RM_NV2 * RM_LANES, RM_AW2 = RM_MR2 > RM_LANES ? RM_MR2 : RM_LANES, RM_TILE2 = RM_MR2 * RM_NR2 };
