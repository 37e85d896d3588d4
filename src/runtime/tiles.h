/* Whether the CPU's tiles (crlibm/simd/amx.h) are used beside the build for avx512: `amx` of REPMATH_ISA. */
#pragma once

#if defined(RM_CFG_TILES) && defined(__x86_64__) && !defined(RM_CFG_ONE_ISA)
#define RM_HAS_TILES 1
int rm_isa_tiles(void);
#else
#define RM_HAS_TILES 0
#endif
