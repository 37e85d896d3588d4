target_sources(repmath_objects PRIVATE
  src/nn/decide.c
  src/nn/normalize.c
  src/nn/norms.c
  src/nn/row_loop.c
  src/nn/softmax.c
  src/nn/totals.c)
rm_isa_sources(src/nn/kernels.c)
