# The manifest of elementwise functions, crlibm/functions.def: one translation unit a function for the loops of an ISA, one for
# the complete function. RM_FUNCTIONS lists "name NAME arity".
set(RM_MANIFEST ${PROJECT_SOURCE_DIR}/crlibm/functions.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${RM_MANIFEST})
file(STRINGS ${RM_MANIFEST} lines REGEX "^RM_FUNCTION\\(")
set(RM_FUNCTIONS "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^RM_FUNCTION\\(([a-z0-9_]+), ([A-Z0-9_]+), ([123])," _ "${line}")
  list(APPEND RM_FUNCTIONS "${CMAKE_MATCH_1} ${CMAKE_MATCH_2} ${CMAKE_MATCH_3}")
endforeach()

# Writes <folder>/<prefix>_<f><suffix> for every function f, from a text with @name@ and @arity@; @loops@ is the text of
# its loops, with the evaluations in binary32 that the function has (<f>_b32.h, <f>_b32_half.h). The files are in <out>. In a
# unity build, two groups of them are compiled as one file each, in two thirds of the time of each for itself: the complete functions
# always, the loops with CMAKE_UNITY_BUILD (their bodies are then no longer made for one function each).
function(rm_function_sources out prefix suffix text)
  set(files "")
  set(group 0)
  foreach(function IN LISTS RM_FUNCTIONS)
    string(REGEX MATCH "^([a-z0-9_]+) ([A-Z0-9_]+) ([123])$" _ "${function}")
    set(name ${CMAKE_MATCH_1})
    set(arity ${CMAKE_MATCH_3})
    set(loops "#include \"crlibm/${name}/${name}.h\"\n")
    foreach(suffix_macro IN ITEMS "b32 RM_B32" "b32_half RM_HALF")
      string(REPLACE " " ";" suffix_macro ${suffix_macro})
      list(GET suffix_macro 0 evaluation)
      list(GET suffix_macro 1 macro)
      if(EXISTS ${PROJECT_SOURCE_DIR}/crlibm/${name}/${name}_${evaluation}.h)
        string(APPEND loops "#include \"crlibm/${name}/${name}_${evaluation}.h\"\n")
      else()
        string(APPEND loops "#define ${macro}_${name} 0\n")
      endif()
    endforeach()
    string(APPEND loops "#include \"src/elementwise/map.h\"\n\nRM_MAP_FUNCTION(${name}, ${arity})")
    set(file ${PROJECT_BINARY_DIR}/elementwise/${prefix}_${name}${suffix})
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND files ${file})
    math(EXPR group "(${group} + 1) % 2")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${prefix}${group})
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

rm_function_sources(loops loops .c "@loops@\n")
rm_isa_sources(${loops})
# By -O2 functions take as long as by -O3, with 256 and 512 bits, and a wheel is a fortieth smaller. On CPUs without AVX2 small code: a
# wheel is a fiftieth smaller again, and functions take a fortieth longer, gelu of f64 a fifth.
set_source_files_properties(${loops} PROPERTIES COMPILE_OPTIONS
  "$<$<CONFIG:Release>:$<IF:$<STREQUAL:$<TARGET_PROPERTY:NAME>,repmath_base>,-Os,-O2>>")
rm_function_sources(accurate accurate .c [[
#include "crlibm/@name@/@name@_accurate.h"
#include "src/elementwise/accurate.h"

RM_ACCURATE_FUNCTION(@name@, @arity@)
]])
# Few elements come to the accurate phase: two large files, each function in them once and called by the others that need it, are
# compiled in a tenth of the time and are a fifth of the code that inlining all of it makes, and take a tenth longer.
# Powers with an integer, beside pow, whose functions they call.
set(powers ${PROJECT_SOURCE_DIR}/src/elementwise/powers_accurate.c)
get_source_file_property(group ${PROJECT_BINARY_DIR}/elementwise/accurate_pow.c UNITY_GROUP)
set_source_files_properties(${powers} PROPERTIES UNITY_GROUP ${group})
add_library(repmath_accurate OBJECT ${accurate} ${powers})
set_target_properties(repmath_accurate PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
target_include_directories(repmath_accurate PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_definitions(repmath_accurate PRIVATE RM_CFG_BUILDING RM_CFG_CALLS RM_CFG_SHARED=0)
target_compile_options(repmath_accurate PRIVATE $<$<CONFIG:Release>:-Os>)
set_property(GLOBAL APPEND PROPERTY RM_OBJECTS $<TARGET_OBJECTS:repmath_accurate>)
# Calls of a few instructions for each function: small code.
set_source_files_properties(src/elementwise/api.c src/elementwise/powers.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
set_source_files_properties(src/elementwise/powers_loops.c PROPERTIES COMPILE_OPTIONS
  "$<$<CONFIG:Release>:$<IF:$<STREQUAL:$<TARGET_PROPERTY:NAME>,repmath_base>,-Os,-O2>>")
target_include_directories(repmath_objects PRIVATE ${PROJECT_SOURCE_DIR})
