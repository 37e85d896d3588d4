# The libraries and what is installed of them: shared and static library, headers, CMake package, pkg-config file.
# Everything installed is relocatable: no file holds the prefix it was installed under.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

option(REPMATH_BUILD_TESTS "Build the C tests (run them with ctest)" OFF)
set(REPMATH_CUDA AUTO CACHE STRING "Build the CUDA library: AUTO (when nvcc and a GPU are found), ON or OFF")
set_property(CACHE REPMATH_CUDA PROPERTY STRINGS AUTO ON OFF)

# What a program that links the static library needs besides it. Names, not imported targets: a consumer then needs no
# find_package(OpenMP) and no particular language.
set(RM_LIBS_PRIVATE "")
if(OpenMP_C_FOUND)
  list(APPEND RM_LIBS_PRIVATE ${OpenMP_C_LIB_NAMES})
endif()
list(APPEND RM_LIBS_PRIVATE pthread)
list(REMOVE_DUPLICATES RM_LIBS_PRIVATE)

get_property(objects GLOBAL PROPERTY RM_OBJECTS)
add_library(repmath SHARED ${objects})
add_library(repmath_static STATIC ${objects})
if(SKBUILD)
  set_target_properties(repmath_static PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
add_library(repmath::repmath ALIAS repmath)
add_library(repmath::repmath_static ALIAS repmath_static)
set_target_properties(repmath_static PROPERTIES OUTPUT_NAME repmath)
target_compile_definitions(repmath_static INTERFACE RM_CFG_STATIC)
foreach(lib repmath repmath_static)
  target_include_directories(${lib} INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(repmath PRIVATE Threads::Threads $<$<BOOL:${OpenMP_C_FOUND}>:OpenMP::OpenMP_C>)
target_link_libraries(repmath_static INTERFACE ${RM_LIBS_PRIVATE})

# A wheel holds no symbolic links: there the library has its plain name only. While the major version is 0, the minor one counts.
if(NOT SKBUILD)
  set_target_properties(repmath PROPERTIES VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT APPLE AND NOT WIN32)
  target_link_options(repmath PRIVATE -Wl,--no-undefined -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/exports.map
                      -Wl,--hash-style=sysv) # half of the bytes in a wheel, since hashes have no pattern
  set_property(TARGET repmath APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/exports.map)
endif()

# A wheel is for the extension module and for programs that load the shared library: the static one would double its size.
set(RM_INSTALLED repmath)
if(NOT SKBUILD)
  list(APPEND RM_INSTALLED repmath_static)
endif()
# Windows' own place of a DLL is beside the programs; a wheel has none.
set(RM_RUNTIME_DIR ${CMAKE_INSTALL_BINDIR})
if(SKBUILD)
  set(RM_RUNTIME_DIR ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS ${RM_INSTALLED} EXPORT repmath-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${RM_RUNTIME_DIR})
install(DIRECTORY include/repmath DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp"
        PATTERN "cuda*.h" EXCLUDE) # installed with the CUDA library

set(RM_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/repmath)
configure_package_config_file(cmake/repmath-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/repmath-config.cmake
                              INSTALL_DESTINATION ${RM_CMAKE_DIR})
# Below 1.0 a minor version may change the interface, so it must match.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/repmath-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/repmath-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/repmath-config-version.cmake
        DESTINATION ${RM_CMAKE_DIR})
install(EXPORT repmath-targets NAMESPACE repmath:: DESTINATION ${RM_CMAKE_DIR})

# The .pc file finds its prefix from its own place; the paths below are relative to it.
set(RM_PC_DIR ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH RM_PC_PREFIX ${RM_PC_DIR} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH RM_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH RM_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" RM_PC_PREFIX "${RM_PC_PREFIX}")
list(TRANSFORM RM_LIBS_PRIVATE PREPEND "-l" OUTPUT_VARIABLE RM_PC_LIBS_PRIVATE)
list(JOIN RM_PC_LIBS_PRIVATE " " RM_PC_LIBS_PRIVATE)
configure_file(cmake/repmath.pc.in ${CMAKE_CURRENT_BINARY_DIR}/repmath.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/repmath.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

include(cmake/cuda.cmake)
if(REPMATH_BUILD_TESTS)
  enable_testing()
  add_subdirectory(tests/c)
endif()

# What PyTorch's operators return is for readers: a wheel has their table without it (python/repmath/torch/_aten/table.py).
if(SKBUILD)
  set(operators ${CMAKE_CURRENT_SOURCE_DIR}/python/repmath/torch/_aten/operators.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${operators})
  file(READ ${operators} text)
  string(REGEX REPLACE "\n#[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "(\n[^\n ]+  [a-z]+  [^\n ]+)  [^\n]*" "\\1" text "${text}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/operators.short "${text}")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/operators.short DESTINATION torch/_aten)
endif()
