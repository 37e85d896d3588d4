target_sources(repmath_objects PRIVATE
  src/random/api.c
  src/random/args.c
  src/random/normal_exact.c
  src/random/permutation.c
  src/random/truncated_exact.c)
rm_isa_sources(src/random/kernels.c)
rm_seldom(src/random/normal_exact.c src/random/truncated_exact.c) # draws that are undecided otherwise
