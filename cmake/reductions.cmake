target_sources(repmath_objects PRIVATE
  src/reduce/accumulator.c
  src/reduce/axes.c
  src/reduce/cumsum.c
  src/reduce/exact.c
  src/reduce/products.c
  src/common/copy.c
  src/common/overlap.c
  src/reduce/scatter.c
  src/reduce/scatter_exact.c
  src/reduce/scatter_args.c
  src/reduce/statistics.c
  src/reduce/statistics_exact.c
  src/reduce/statistics_args.c
  src/common/enclosures.c
  src/common/stats.c
  src/reduce/sum.c
  src/reduce/sum_exact.c
  src/reduce/superaccumulator.c
  src/reduce/variance.c
  src/blas/gemm/args.c
  src/blas/conv/api.c
  src/blas/conv/args.c
  src/blas/conv/depthwise.c
  src/blas/gemm/exact.c
  src/blas/gemm/vector_facts.c
  src/blas/gemm/api.c
  src/blas/join.c
  src/blas/partials.c
  src/blas/conv/im2col_view.c)
rm_isa_sources(
  src/reduce/kernels.c
  src/reduce/products_kernels.c
  src/blas/conv/kernels.c
  src/reduce/axes_kernels.c
  src/blas/gemm/kernels.c)
include(CheckCSourceCompiles)
# The engine for CPUs with tiles lies beside the build for avx512. A process asks Linux for them.
if("avx512" IN_LIST RM_ISAS AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CMAKE_REQUIRED_FLAGS "-mamx-tile -mamx-int8")
  check_c_source_compiles("#include <immintrin.h>
    int main(void) { _tile_dpbssd(0, 1, 2); _tile_release(); return 0; }" RM_COMPILES_TILES)
  unset(CMAKE_REQUIRED_FLAGS)
  if(RM_COMPILES_TILES)
    add_library(repmath_tiles OBJECT src/blas/gemm/tiles.c)
    target_include_directories(repmath_tiles PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
    target_compile_options(repmath_tiles PRIVATE ${RM_ISA_FLAGS_avx512} -mamx-tile -mamx-int8 $<$<CONFIG:Release>:-O2>)
    target_compile_definitions(repmath_tiles PRIVATE RM_CFG_BUILDING RM_CFG_TILES)
    target_compile_definitions(repmath_objects PRIVATE RM_CFG_TILES)
    set_property(GLOBAL APPEND PROPERTY RM_OBJECTS $<TARGET_OBJECTS:repmath_tiles>)
  endif()
endif()
# So does the engine for CPUs that multiply pairs of bf16 numbers.
if("avx512" IN_LIST RM_ISAS)
  set(CMAKE_REQUIRED_FLAGS "-mavx512f -mavx512bf16")
  check_c_source_compiles("#include <immintrin.h>
    int main(void) { __m512 s = _mm512_setzero_ps(); s = _mm512_dpbf16_ps(s, (__m512bh)s, (__m512bh)s); return _mm512_reduce_add_ps(s) != 0; }"
    RM_COMPILES_BF16)
  unset(CMAKE_REQUIRED_FLAGS)
  if(RM_COMPILES_BF16)
    add_library(repmath_bf16 OBJECT src/blas/gemm/chains_b32.c)
    target_include_directories(repmath_bf16 PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
    target_compile_options(repmath_bf16 PRIVATE ${RM_ISA_FLAGS_avx512} -mavx512bf16)
    target_compile_definitions(repmath_bf16 PRIVATE RM_CFG_BUILDING RM_CFG_BF16)
    target_compile_definitions(repmath_objects PRIVATE RM_CFG_BF16)
    set_property(GLOBAL APPEND PROPERTY RM_OBJECTS $<TARGET_OBJECTS:repmath_bf16>)
  endif()
endif()
# What runs once in a call, or for the few elements that stay open; -O3 would make it twice as large.
set_source_files_properties(src/blas/partials.c src/blas/conv/args.c src/blas/gemm/args.c src/blas/gemm/exact.c src/common/overlap.c src/reduce/statistics_args.c
  src/nn/cross_entropy/args.c src/nn/formula/args.c src/nn/loss/args.c src/nn/norm/args.c src/nn/optim/args.c src/nn/pool/args.c
  src/nn/rows/args.c src/nn/softmax/args.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
# The loops of the microkernels are a few lines of a cache long: begun in the middle of one they take 1 % longer. -O3 would make twice the code, by
# which products of 16 bits take 4 to 36 % longer with AVX-512, and others as long.
set_source_files_properties(src/blas/gemm/kernels.c PROPERTIES COMPILE_OPTIONS
  "$<$<CONFIG:Release>:-falign-loops=64;$<IF:${RM_IS_BASE},-Os,-O2>>")
