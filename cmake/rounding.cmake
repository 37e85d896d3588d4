target_sources(repmath_objects PRIVATE src/rounding/balls.c src/rounding/elementwise.c src/rounding/sums.c)
# They serve studies, and wheels must stay small.
set_source_files_properties(src/rounding/elementwise.c src/rounding/sums.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
rm_isa_sources(src/rounding/kernels.c)
set_source_files_properties(src/rounding/kernels.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
