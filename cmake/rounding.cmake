target_sources(repmath_objects PRIVATE src/rounding/elementwise.c src/rounding/sums.c)
