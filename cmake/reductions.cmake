target_sources(repmath_objects PRIVATE
  src/reduce/accumulator.c
  src/reduce/cumsum.c
  src/reduce/exact.c
  src/reduce/overlap.c
  src/reduce/scatter.c
  src/reduce/scatter_exact.c
  src/reduce/scatter_job.c
  src/reduce/statistics.c
  src/reduce/statistics_exact.c
  src/reduce/statistics_job.c
  src/reduce/stats.c
  src/reduce/sum.c
  src/reduce/sum_exact.c
  src/reduce/superaccumulator.c
  src/reduce/variance.c
  src/blas/check.c
  src/blas/convolution.c
  src/blas/convolution_job.c
  src/blas/exact_gemm.c
  src/blas/lines.c
  src/blas/matmul.c
  src/blas/patches.c)
rm_isa_sources(
  src/reduce/kernels.c
  src/blas/kernels.c)
# The loops of the microkernels are a few lines of a cache long: begun in the middle of one they take 1 % longer.
set_source_files_properties(src/blas/kernels.c PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-falign-loops=64>)
