target_sources(repmath_objects PRIVATE
  src/api/random.c
  src/random/job.c
  src/random/normal_exact.c
  src/random/permutation.c
  src/random/truncated_exact.c)
rm_isa_sources(src/random/kernels.c)
# Called for the few draws that nothing else decides: -O3 makes five times the code of it, and a wheel is to be small.
set_source_files_properties(src/random/normal_exact.c src/random/truncated_exact.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
