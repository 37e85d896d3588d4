target_sources(repmath_objects PRIVATE
  src/random/api.c
  src/random/args.c
  src/random/normal_exact.c
  src/random/permutation.c
  src/random/truncated_exact.c)
rm_isa_sources(src/random/kernels.c)
# These serve the few draws that are undecided otherwise; -O3 would make their code several times as large, and wheels must stay small.
set_source_files_properties(src/random/normal_exact.c src/random/truncated_exact.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
