target_sources(repmath_objects PRIVATE
  src/nn/clip.c
  src/nn/optimizers.c
  src/nn/optimizers_slow.c)
rm_isa_sources(src/nn/kernels.c)
