# The ISA builds. Contraction is off everywhere: a fused operation is written as one.
set(RM_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes)
add_compile_options(-ffp-contract=off -fno-math-errno $<$<CONFIG:Release>:-O3> ${RM_WARNINGS})
# Padding before what is only jumped to is a hundredth of a wheel.
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>,$<CONFIG:Release>>:-falign-jumps=1;-falign-labels=1>")
# No exception passes through C, and tables for unwinding are a fortieth of a wheel; builds for debuggers keep theirs.
add_compile_options($<$<AND:$<COMPILE_LANGUAGE:C>,$<CONFIG:Release>>:-fno-asynchronous-unwind-tables>)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64") # as Linux, Windows and the BSDs say
  set(RM_ISAS base avx2 avx512)
  set(RM_ISA_FLAGS_avx2 -DRM_CFG_SIMD=RM_SIMD_AVX2 -mavx2 -mfma -mf16c)
  set(RM_ISA_FLAGS_avx512 -DRM_CFG_SIMD=RM_SIMD_AVX512 -mavx2 -mfma -mf16c -mavx512f -mavx512dq -mavx512vl -mavx512bw
      -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64") # as Linux, macOS and Windows say
  set(RM_ISAS base neon)
  set(RM_ISA_FLAGS_neon -DRM_CFG_SIMD=RM_SIMD_NEON)
else()
  set(RM_ISAS base)
endif()

# gcc aligns vectors on the stack to 32 and 64 bytes, and Windows calls functions with a stack aligned to 16: there the assembler
# writes moves that need no alignment.
if(WIN32 AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  foreach(isa avx2 avx512)
    if(isa IN_LIST RM_ISAS)
      list(APPEND RM_ISA_FLAGS_${isa} -Wa,-muse-unaligned-vector-move)
    endif()
  endforeach()
endif()

# The build for CPUs without vectors of 256 bits is the largest, since it has no masks: small code for its rows, sums, draws and transforms.
# Sums, losses and depthwise convolutions take as long by -O2 as by -O3, which is a sixth to a half more code, and so do transforms and sums over
# axes with 512 bits. With 256 bits short transforms in f32 would take 5 to 12 % longer, and sums over axes up to 5 %, one of f32 15.
set(RM_IS_BASE $<STREQUAL:$<TARGET_PROPERTY:NAME>,repmath_base>)
set(RM_IS_WIDEST $<STREQUAL:$<TARGET_PROPERTY:NAME>,repmath_avx512>)
set_source_files_properties(src/random/kernels.c src/nn/rows/kernels.c src/nn/pool/kernels.c PROPERTIES COMPILE_OPTIONS
  "$<$<AND:$<CONFIG:Release>,${RM_IS_BASE}>:-Os>")
set_source_files_properties(src/reduce/kernels.c src/reduce/products_kernels.c src/nn/loss/kernels.c src/blas/conv/kernels.c
  PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:$<IF:${RM_IS_BASE},-Os,-O2>>")
set_source_files_properties(src/reduce/axes_kernels.c src/fft/kernels.c PROPERTIES COMPILE_OPTIONS
  "$<$<CONFIG:Release>:$<IF:${RM_IS_BASE},-Os,$<IF:${RM_IS_WIDEST},-O2,-O3>>>")

# What few elements come to: small code, in which the compiler decides what it inlines (RM_CFG_CALLS in crlibm/config.h). It is about half
# the size of what -Os alone makes. Losses and steps take as long as before, special functions up to a third longer.
function(rm_seldom)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS RM_CFG_CALLS COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
endfunction()

# Compile each file once per ISA. The global property RM_OBJECTS collects what the libraries link.
function(rm_isa_sources)
  foreach(isa IN LISTS RM_ISAS)
    set(target repmath_${isa})
    if(NOT TARGET ${target})
      add_library(${target} OBJECT)
      set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
      target_compile_options(${target} PRIVATE ${RM_ISA_FLAGS_${isa}})
      if(isa STREQUAL base AND RM_ISA_FLAGS_avx2) # few CPUs have no AVX2, and wheels must stay small
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
      endif()
      target_compile_definitions(${target} PRIVATE RM_CFG_BUILDING)
      set_property(GLOBAL APPEND PROPERTY RM_OBJECTS $<TARGET_OBJECTS:${target}>)
    endif()
    target_sources(${target} PRIVATE ${ARGN})
  endforeach()
endfunction()
