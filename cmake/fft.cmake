target_sources(repmath_objects PRIVATE
  src/fft/api.c
  src/fft/balls.c
  src/fft/decide.c
  src/fft/infinities.c
  src/fft/plan.c
  src/fft/problem.c
  src/fft/rational.c
  src/fft/residues.c)
rm_isa_sources(src/fft/kernels.c)
# These serve the few parts of results that are undecided otherwise; more optimisation would make their code several times as large.
set_source_files_properties(src/fft/balls.c src/fft/decide.c src/fft/infinities.c src/fft/plan.c src/fft/problem.c src/fft/residues.c
  PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
# Half of the code that -O3 makes, as fast.
set_source_files_properties(src/fft/api.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
