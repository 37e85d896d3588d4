target_sources(repmath_objects PRIVATE
  src/reduce/accumulator.c
  src/reduce/axes.c
  src/reduce/cumsum.c
  src/reduce/exact.c
  src/common/overlap.c
  src/reduce/scatter.c
  src/reduce/scatter_exact.c
  src/reduce/scatter_args.c
  src/reduce/statistics.c
  src/reduce/statistics_exact.c
  src/reduce/statistics_args.c
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
  src/blas/conv/im2col_view.c)
rm_isa_sources(
  src/reduce/kernels.c
  src/blas/conv/kernels.c
  src/reduce/axes_kernels.c
  src/blas/gemm/kernels.c)
# The loops of the microkernels are a few lines of a cache long: begun in the middle of one they take 1 % longer.
set_source_files_properties(src/blas/gemm/kernels.c PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-falign-loops=64>)
