target_sources(repmath_objects PRIVATE
  src/reduce/accumulator.c
  src/reduce/cumsum.c
  src/reduce/exact.c
  src/reduce/statistics.c
  src/reduce/stats.c
  src/reduce/sum.c
  src/reduce/superaccumulator.c
  src/reduce/variance.c
  src/blas/check.c
  src/blas/convolution.c
  src/blas/exact_gemm.c
  src/blas/lines.c
  src/blas/matmul.c
  src/blas/patches.c)
rm_isa_sources(
  src/reduce/kernels.c
  src/blas/kernels.c)
