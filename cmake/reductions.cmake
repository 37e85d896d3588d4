rm_isa_sources(repmath_objects
  src/reduce/kernels.c
  src/blas/kernels.c)
