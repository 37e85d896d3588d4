target_sources(repmath_objects PRIVATE
  src/reduce/accumulator.c
  src/reduce/exact.c
  src/reduce/overlap.c
  src/reduce/scatter.c
  src/reduce/statistics.c
  src/reduce/stats.c
  src/reduce/sum.c
  src/reduce/superaccumulator.c
  src/blas/check.c
  src/blas/exact_gemm.c
  src/blas/lines.c
  src/blas/matmul.c)
rm_isa_sources(
  src/reduce/kernels.c
  src/blas/kernels.c)
