target_sources(repmath_objects PRIVATE
  src/linalg/api.c
  src/linalg/approximate.c
  src/linalg/determinant.c
  src/linalg/exact.c
  src/linalg/panels.c
  src/linalg/recurrence.c
  src/linalg/residual.c
  src/linalg/system.c)
# The logarithm's accurate phase is most of the code of the first, and the second decides what is left by integers.
set_source_files_properties(src/linalg/determinant.c src/linalg/exact.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
rm_isa_sources(src/linalg/columns.c src/linalg/kernels.c)
