target_sources(repmath_objects PRIVATE
  src/api/random.c
  src/random/job.c
  src/random/normal_exact.c
  src/random/permutation.c
  src/random/truncated_exact.c)
rm_isa_sources(src/random/kernels.c)
