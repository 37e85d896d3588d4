# Special functions by recurrences and series. Few calls ask for them: small code.
target_sources(repmath_objects PRIVATE src/special/api.c src/special/balls.c)
rm_isa_sources(src/special/kernels.c)
set_source_files_properties(src/special/api.c src/special/kernels.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
rm_seldom(src/special/balls.c)
