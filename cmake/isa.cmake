# The ISA builds. Contraction is off everywhere: a fused operation is written as one.
set(RM_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes)
add_compile_options(-ffp-contract=off -fno-math-errno $<$<CONFIG:Release>:-O3> ${RM_WARNINGS})

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(RM_ISAS base avx2 avx512)
  set(RM_ISA_FLAGS_avx2 -DRM_CFG_SIMD=RM_SIMD_AVX2 -mavx2 -mfma -mf16c)
  set(RM_ISA_FLAGS_avx512 -DRM_CFG_SIMD=RM_SIMD_AVX512 -mavx2 -mfma -mf16c -mavx512f -mavx512dq -mavx512vl -mavx512bw
      -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(RM_ISAS base neon)
  set(RM_ISA_FLAGS_neon -DRM_CFG_SIMD=RM_SIMD_NEON)
else()
  set(RM_ISAS base)
endif()

# Compile each file once per ISA into <target>.
function(rm_isa_sources target)
  foreach(isa IN LISTS RM_ISAS)
    if(NOT TARGET ${target}_${isa})
      add_library(${target}_${isa} OBJECT)
      target_include_directories(${target}_${isa} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
      target_compile_options(${target}_${isa} PRIVATE ${RM_ISA_FLAGS_${isa}})
      target_compile_definitions(${target}_${isa} PRIVATE RM_CFG_BUILDING)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
    endif()
    target_sources(${target}_${isa} PRIVATE ${ARGN})
  endforeach()
endfunction()
