# hearth_library(NAME SOURCES ... DEPENDS ... PRIVATE ...): one static library a folder, with the project's
# warnings. Include paths start at the repository root, so a target only compiles against folders it depends on
# through their link interface for generated code and third parties; `tests/unit/layering_test.sh` checks the rest.
find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${HEARTH_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEARTH_CCACHE})
endif()

add_library(hearth_options INTERFACE)
target_include_directories(hearth_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(hearth_options INTERFACE -Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition)
if(HEARTH_WERROR)
  target_compile_options(hearth_options INTERFACE -Werror)
endif()
if(HEARTH_SANITIZE)
  string(REPLACE ";" "," _san "${HEARTH_SANITIZE}")
  # GCC 12 reports false maybe-uninitialized in <regex> and std::variant under instrumentation.
  target_compile_options(hearth_options INTERFACE -fsanitize=${_san} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -Wno-maybe-uninitialized)
  target_link_options(hearth_options INTERFACE -fsanitize=${_san})
endif()

function(hearth_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC hearth_options ${A_DEPENDS} PRIVATE ${A_PRIVATE})
endfunction()

function(hearth_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE hearth_options ${A_DEPENDS})
endfunction()

# hearth_test(NAME SOURCES ... DEPENDS ... [LABELS ...] [TIMEOUT s]): one Catch2 program, one ctest entry.
function(hearth_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE hearth_options hearth_catch_main ${A_DEPENDS})
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}"
    ENVIRONMENT "HEARTH_SOURCE_DIR=${PROJECT_SOURCE_DIR};HEARTH_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()
