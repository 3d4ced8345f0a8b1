# The three ways to add something: frl_plugin(), frl_test(), and the flags that all share.
set(FERRULE_TESTS ON CACHE STRING "ON, OFF, or rest: without those that the sanitized builds run as they are")
option(FERRULE_FUZZ "Build the fuzz targets too (clang)" OFF)
set(FERRULE_SANITIZE "" CACHE STRING "Sanitizers for the whole build, as -fsanitize= takes them")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_package(Threads REQUIRED)

# Hot files of plugins ask for -O3 themselves; elsewhere it only costs compile time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-g1")  # lines, for the sanitizers' reports
# ccache keeps objects that were built with precompiled headers only under these.
set(ENV{CCACHE_SLOPPINESS} "pch_defines,time_macros,include_file_mtime,include_file_ctime")
set(FERRULE_PRECOMPILED <algorithm> <cstring> <functional> <map> <memory> <optional> <set> <span> <string> <unordered_map> <variant> <vector>)
# What nearly every file of the core, and of those who link it, or of a plugin includes.
set(FERRULE_PRECOMPILED_CORE ${FERRULE_PRECOMPILED})
foreach(header core/base/text.h core/driver/driver.h core/graph/block.h)
  list(APPEND FERRULE_PRECOMPILED_CORE ${PROJECT_SOURCE_DIR}/${header})
endforeach()
set(FERRULE_PRECOMPILED_PLUGIN ${FERRULE_PRECOMPILED})
foreach(header kernel.h region.h team.h)
  list(APPEND FERRULE_PRECOMPILED_PLUGIN ${PROJECT_SOURCE_DIR}/plugin-api/sdk/${header})
endforeach()

# g++ 12 sees overflows in std::string's own code that are none (GCC PR 105329, 105651).
add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -Wno-restrict -Wno-array-bounds)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-w)  # clang has other opinions; the gcc builds are the ones without warnings
endif()
if(FERRULE_SANITIZE)
  add_compile_options(-fsanitize=${FERRULE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FERRULE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(-fuse-ld=lld)
  endif()
endif()

set(FERRULE_PLUGIN_API ${PROJECT_SOURCE_DIR})
include(${CMAKE_CURRENT_LIST_DIR}/plugin.cmake)

# frl_register(target [RELEASE] [NAME name] [FILTER tests] [LABELS ...]): a GoogleTest program as one entry
# of CTest. One process for each test would take longer to start them than they take; --gtest_filter picks
# one. RELEASE: it has tests that the sanitized builds lack.
function(frl_register target)
  cmake_parse_arguments(T "RELEASE" "NAME;FILTER" "LABELS" ${ARGN})
  if(FERRULE_TESTS STREQUAL "rest" AND NOT T_RELEASE)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(NOT T_NAME)
    set(T_NAME ${target})
  endif()
  if(NOT T_FILTER)
    set(T_FILTER *)
  endif()
  if(FERRULE_SANITIZE)
    # Whole networks by the reference: sanitizers take minutes for each, and see its ops elsewhere.
    set(T_FILTER -*RealModels.Evaluate*)
  endif()
  add_test(NAME ${T_NAME} COMMAND ${target} --gtest_brief=1 --gtest_filter=${T_FILTER})
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT 900 LABELS "${T_LABELS}")
endfunction()

# frl_test(folder ...): tests/<folder>/*.cc as one GoogleTest program; the rest as frl_register takes it.
function(frl_test folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cc)
  add_executable(test_${folder} ${sources})
  target_link_libraries(test_${folder} PRIVATE test_precompiled GTest::gmock_main)
  target_precompile_headers(test_${folder} REUSE_FROM test_precompiled)
  frl_register(test_${folder} ${ARGN})
endfunction()
