# hearth_library(NAME SOURCES ... DEPENDS ... PRIVATE ...): one static library a folder, with the project's
# warnings. A target sees the headers of its own station (a folder at the repository's root), of base and proto, the public
# ones, and those of the stations of what it depends on: another include does not compile (tests/unit/layers). What
# folders of one station may include of one another checks `tests/unit/docs/layering_test.py`.
find_program(HEARTH_CCACHE ccache)
if(HEARTH_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${HEARTH_CCACHE})
  # ccache only keeps what was compiled with a precompiled header when told that this is well.
  set(_ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,locale)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_ccache} CCACHE_PCH_EXTSUM=1 ${HEARTH_CCACHE})
  # A precompiled header names the files of its own clone, so that no other clone may take it out of the cache.
  set(HEARTH_PCH_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/pch/compile.sh ${_ccache} CCACHE_NAMESPACE=${CMAKE_BINARY_DIR}
    ${HEARTH_CCACHE})
endif()
option(HEARTH_PCH "Precompile the headers that most files include" ON)

add_library(hearth_options INTERFACE)
target_include_directories(hearth_options INTERFACE ${PROJECT_SOURCE_DIR}/include)

# hearth_station_root(VAR STATION): a folder whose only entry is the station, so that includes are written from the
# repository's root and find nothing else there.
function(hearth_station_root var station)
  set(_root ${CMAKE_BINARY_DIR}/roots/${station})
  file(MAKE_DIRECTORY ${_root})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${station} ${_root}/${station} SYMBOLIC)
  set(${var} ${_root} PARENT_SCOPE)
endfunction()
if(HEARTH_PCH)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/roots/pch)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/cmake/pch ${CMAKE_BINARY_DIR}/roots/pch/pch SYMBOLIC)
  target_include_directories(hearth_options INTERFACE ${CMAKE_BINARY_DIR}/roots/pch)
endif()
foreach(_station base proto)
  hearth_station_root(_root ${_station})
  target_include_directories(hearth_options INTERFACE ${_root})
endforeach()

# hearth_in_station(NAME): the target of the current folder sees its station, and so does what depends on it.
function(hearth_in_station name)
  file(RELATIVE_PATH _folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" _station "${_folder}")
  hearth_station_root(_root ${_station})
  target_include_directories(${name} PUBLIC ${_root})
endfunction()
# GCC 12's array-bounds reports false positives in absl's inlined_vector once it comes from a precompiled header.
target_compile_options(hearth_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-array-bounds
  -fno-semantic-interposition)
# Files are named from the repository's root, alike in every clone: ccache shares objects, and no binary says where it
# was built.
target_compile_options(hearth_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(HEARTH_SANITIZE)  # GCC 12 reports false maybe-uninitialized in <regex> and std::variant under instrumentation
    target_compile_options(hearth_options INTERFACE -Wno-maybe-uninitialized)
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Debian's libraries are GCC 12's, whose names of some templates are those of Clang 17 and before.
  target_compile_options(hearth_options INTERFACE -fclang-abi-compat=17)
  # ccache shares what used a precompiled header that has no time in it. libstdc++ 12 uses what it calls deprecated
  # (std::stable_sort's buffer), and only GCC leaves that unsaid.
  target_compile_options(hearth_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp" -Wno-deprecated-declarations)
  # CMake's own names the header, too, in a way whose path ccache does not take for one.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  if("address" IN_LIST HEARTH_SANITIZE)
    target_compile_definitions(hearth_options INTERFACE __SANITIZE_ADDRESS__=1)  # as GCC says it
  endif()
endif()
if(HEARTH_WERROR)
  target_compile_options(hearth_options INTERFACE -Werror)
endif()
if(HEARTH_SANITIZE)
  string(REPLACE ";" "," _san "${HEARTH_SANITIZE}")
  target_compile_options(hearth_options INTERFACE -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hearth_options INTERFACE -fsanitize=${_san})
  # UndefinedBehaviorSanitizer doubles the time to compile: for what is tested, not for the tests. Its checks of null
  # pointers and of vtables are half of that; AddressSanitizer ends at those too, where they are used. A kernel has no
  # signature in front of its code, which Clang's check of function pointers reads.
  foreach(_name ${HEARTH_SANITIZE})
    if(_name STREQUAL undefined)
      set(HEARTH_OWN_OPTIONS -fsanitize=undefined -fno-sanitize=null,vptr)
      if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        list(APPEND HEARTH_OWN_OPTIONS -fno-sanitize=function)
      endif()
    else()
      target_compile_options(hearth_options INTERFACE -fsanitize=${_name})
    endif()
  endforeach()
endif()

# What a test itself does is not what takes its time: -O0 compiles in half of -O2's time; the few that compute themselves
# say so (COMPUTES). What hands on rather than computes (GLUE: command line, daemon, blobs' build tools) is compiled with
# -O1, in three quarters of -O2's time, and with -O0 under sanitizers, where a build is only ever tested.
set(HEARTH_TEST_OPTIONS -O0)
set(HEARTH_COMPUTING_TEST_OPTIONS -O1)
set(HEARTH_GLUE_OPTIONS -O1)
# protoc's code is no code of ours: AddressSanitizer sees the memory that it gets, not its instructions. ThreadSanitizer
# sees all of it: messages are handed from thread to thread.
if("address" IN_LIST HEARTH_SANITIZE)
  set(HEARTH_GENERATED_OPTIONS -O0 -g0 -fno-sanitize=all)
elseif(HEARTH_SANITIZE)
  set(HEARTH_GENERATED_OPTIONS -O0 -g0)
endif()
if(HEARTH_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HEARTH_GLUE_OPTIONS -O0)
endif()

# hearth_precompiled(NAME HEADER): what targets with the same compile flags take with hearth_use_precompiled. The header
# is found by a search path, so that the file that includes it is the same in every clone.
function(hearth_precompiled name header)
  if(HEARTH_PCH)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/pch/empty.cpp)
    target_link_libraries(${name} PRIVATE hearth_options)
    target_precompile_headers(${name} PRIVATE <pch/${header}>)
    if(HEARTH_CCACHE)
      set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${HEARTH_PCH_LAUNCHER}")
    endif()
  endif()
endfunction()
if(HEARTH_PCH)
  add_library(hearth_pch_library OBJECT)  # position-independent code
  target_compile_options(hearth_pch_library PRIVATE ${HEARTH_OWN_OPTIONS})
  hearth_precompiled(hearth_pch_library library.h)
  add_library(hearth_pch_glue OBJECT)
  target_compile_options(hearth_pch_glue PRIVATE ${HEARTH_OWN_OPTIONS} ${HEARTH_GLUE_OPTIONS})
  hearth_precompiled(hearth_pch_glue glue.h)
  add_library(hearth_pch_test OBJECT)  # code of an executable
  set_target_properties(hearth_pch_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(hearth_pch_test PRIVATE -fPIE ${HEARTH_TEST_OPTIONS})
  target_compile_definitions(hearth_pch_test PRIVATE NOMINMAX)
  target_include_directories(hearth_pch_test PRIVATE ${PROJECT_SOURCE_DIR})
  hearth_precompiled(hearth_pch_test test.h)
endif()
function(hearth_use_precompiled name from)
  if(HEARTH_PCH)
    target_precompile_headers(${name} REUSE_FROM ${from})
  endif()
endfunction()

# hearth_own_code(NAME GLUE): options of what is tested; GLUE: TRUE for what hands on rather than computes.
# Under sanitizers all of the client is glue: -O0 compiles it in half of the time.
function(hearth_own_code name glue)
  target_compile_options(${name} PRIVATE ${HEARTH_OWN_OPTIONS})
  if(glue OR (HEARTH_SANITIZE AND CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/client"))
    target_compile_options(${name} PRIVATE ${HEARTH_GLUE_OPTIONS})
    hearth_use_precompiled(${name} hearth_pch_glue)
  else()
    hearth_use_precompiled(${name} hearth_pch_library)
  endif()
endfunction()

# hearth_library(NAME SOURCES ... DEPENDS ... [PRIVATE ...] [GLUE] [UNITY]): UNITY for many files with little code of their
# own under large headers: ten are compiled as one, in less than half of the time. GLUE is always so.
function(hearth_library name)
  cmake_parse_arguments(A "GLUE;UNITY" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  hearth_in_station(${name})
  target_link_libraries(${name} PUBLIC hearth_options ${A_DEPENDS} PRIVATE ${A_PRIVATE})
  hearth_own_code(${name} "${A_GLUE}")
  if(A_GLUE OR A_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()

# hearth_program(NAME SOURCES ... DEPENDS ...): its main file is glue. -fPIC instead of -fPIE, as the precompiled header.
function(hearth_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  hearth_in_station(${name})
  target_link_libraries(${name} PRIVATE hearth_options ${A_DEPENDS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  hearth_own_code(${name} TRUE)
endfunction()

# What a test entry gets: a place in the order (TIMEOUT says how many seconds it may take on a machine that does nothing
# else; the longest start first), a limit of twice that or 20 minutes, whichever is more, which only a hang meets, the
# builds that run it, the folders, and a file for its skips and seeds (tests/support/skip.h, fresh_seed.h, skipping.py);
# exit code 77 is ctest's "Skipped".
include(${PROJECT_SOURCE_DIR}/tests/phases.cmake)
set(HEARTH_TEST_REPORT_DIR ${CMAKE_BINARY_DIR}/test_reports)
file(MAKE_DIRECTORY ${HEARTH_TEST_REPORT_DIR})
function(hearth_test_properties name timeout labels)
  if(NOT timeout)
    set(timeout 300)
  endif()
  hearth_phases(_phases ${name})
  file(RELATIVE_PATH _folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(_phase ${_phases})
    set_property(GLOBAL APPEND PROPERTY HEARTH_FOLDERS_${_phase} ${_folder})
  endforeach()
  list(APPEND labels ${_phases})
  math(EXPR _limit "2 * ${timeout}")
  if(_limit LESS 1200)
    set(_limit 1200)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${_limit} COST ${timeout} LABELS "${labels}" SKIP_RETURN_CODE 77 ENVIRONMENT
    "HEARTH_SOURCE_DIR=${PROJECT_SOURCE_DIR};HEARTH_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};HEARTH_TEST_REPORT=${HEARTH_TEST_REPORT_DIR}/${name}")
endfunction()

# hearth_test(NAME SOURCES ... DEPENDS ... [LABELS ...] [TIMEOUT s] [SHARDS tag ...] [COMPUTES]): one Catch2 program, one
# ctest entry; with SHARDS one entry a tag, NAME_tag, and NAME for the test cases without any. Its files are compiled eight
# at a time, in less than half of the time: no two of them may use one name at namespace level, anonymous namespaces included.
function(hearth_test name)
  cmake_parse_arguments(A "COMPUTES" "TIMEOUT" "SOURCES;DEPENDS;LABELS;SHARDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE hearth_options hearth_catch_main ${A_DEPENDS})
  target_compile_definitions(${name} PRIVATE NOMINMAX)  # gRPC's .pc file has it, and Catch2 looks at it
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(A_COMPUTES)  # a precompiled header is of one level
    target_compile_options(${name} PRIVATE ${HEARTH_COMPUTING_TEST_OPTIONS})
  else()
    target_compile_options(${name} PRIVATE ${HEARTH_TEST_OPTIONS})
    hearth_use_precompiled(${name} hearth_pch_test)
  endif()
  set(_rest "")
  foreach(_tag ${A_SHARDS})
    add_test(NAME ${name}_${_tag} COMMAND ${name} "[${_tag}]")
    hearth_test_properties(${name}_${_tag} "${A_TIMEOUT}" "${A_LABELS}")
    string(APPEND _rest "~[${_tag}]")
  endforeach()
  add_test(NAME ${name} COMMAND ${name} ${_rest})
  hearth_test_properties(${name} "${A_TIMEOUT}" "${A_LABELS}")
endfunction()

# hearth_test_library(NAME SOURCES ... DEPENDS ...): what several test programs are made of, compiled once.
function(hearth_test_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC hearth_options hearth_catch_main ${A_DEPENDS})
  target_compile_definitions(${name} PRIVATE NOMINMAX)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_compile_options(${name} PRIVATE -fPIE ${HEARTH_TEST_OPTIONS})
  hearth_use_precompiled(${name} hearth_pch_test)
endfunction()

# hearth_ignores_driver_leaks(NAME): what AddressSanitizer finds of a Vulkan driver's leaks, in the test's program or in
# those that it starts, is none of ours.
function(hearth_ignores_driver_leaks name)
  if("address" IN_LIST HEARTH_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/vulkan_leaks.txt")
  endif()
endfunction()

# hearth_on_vulkan(NAME): the test runs on this machine's Vulkan device; its program is linked with what ends it, as
# skipped with the reason, where there is none.
function(hearth_on_vulkan name)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT HEARTH_TEST_DEVICE=vulkan HEARTH_VULKAN_TRIAL=0 ${ARGN})
  hearth_ignores_driver_leaks(${name})
endfunction()
function(hearth_skips_without_device program)
  target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/device_listener.cpp)
  target_link_libraries(${program} PRIVATE hearth_devices)
  # Catch2's interfaces for it are not in the precompiled header.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/device_listener.cpp PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# hearth_vulkan_run(NAME PROGRAM ARGUMENTS TIMEOUT LABELS): a test program once more, on the Vulkan device and under the
# validation layer. PROGRAM links the runtime. Under AddressSanitizer where LABELS has unit: others would show more of the
# driver than of us.
function(hearth_vulkan_run name program arguments timeout labels)
  if(HEARTH_SANITIZE AND NOT ("address" IN_LIST HEARTH_SANITIZE AND "unit" IN_LIST labels))
    return()
  endif()
  hearth_skips_without_device(${program})
  separate_arguments(_arguments UNIX_COMMAND "${arguments}")
  add_test(NAME ${name} COMMAND ${program} ${_arguments})
  hearth_test_properties(${name} "${timeout}" "${labels}")
  hearth_on_vulkan(${name} HEARTH_VULKAN_VALIDATION=1 ${ARGN})
endfunction()

# hearth_stand_in_run(NAME DRIVER PROGRAM ARGUMENTS TIMEOUT LABELS ...): a test program once more, on a device of DRIVER
# (cuda, hip) whose driver is a stand-in (tests/stand_in); further arguments are of its environment.
function(hearth_stand_in_run name driver program arguments timeout labels)
  separate_arguments(_arguments UNIX_COMMAND "${arguments}")
  add_test(NAME ${name} COMMAND ${program} ${_arguments})
  hearth_test_properties(${name} "${timeout}" "${labels}")
  add_dependencies(${program} ${driver}_driver_stand_in)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT HEARTH_TEST_DEVICE=${driver}
    LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/stand_in ${ARGN})
endfunction()

# hearth_python_test(NAME SCRIPT [ARGUMENTS ...] [LABELS ...] [TIMEOUT s]): by Debian's Python, which has numpy.
function(hearth_python_test name script)
  cmake_parse_arguments(A "" "TIMEOUT" "ARGUMENTS;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${A_ARGUMENTS})
  hearth_test_properties(${name} "${A_TIMEOUT}" "${A_LABELS}")
endfunction()

# hearth_skipped_test(NAME REASON): a test that this build cannot have; it is counted as skipped, with the reason.
function(hearth_skipped_test name reason)
  add_test(NAME ${name} COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/support/skipping.py ${name} ${reason})
  hearth_test_properties(${name} "" "")
endfunction()

# hearth_planted_sources(VAR BUGS FOLDER FILE...): copies of FILEs of FOLDER with the bugs of BUGS planted in them
# (tests/support/plant_bugs.py), for a test to link in place of the sources themselves. VAR: the copies.
function(hearth_planted_sources var bugs folder)
  set(_out ${CMAKE_CURRENT_BINARY_DIR}/planted)
  file(MAKE_DIRECTORY ${_out})
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/${folder}/ OUTPUT_VARIABLE _sources)
  list(TRANSFORM ARGN PREPEND ${_out}/ OUTPUT_VARIABLE _copies)
  set(_script ${PROJECT_SOURCE_DIR}/tests/support/plant_bugs.py)
  add_custom_command(OUTPUT ${_copies} ${_out}/planted_bug_names.inc
    COMMAND /usr/bin/python3 ${_script} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${bugs} ${_out}
    DEPENDS ${_script} ${bugs} ${_sources} VERBATIM)
  set_source_files_properties(${_copies} PROPERTIES COMPILE_OPTIONS "-Wno-misleading-indentation;-Wno-parentheses-equality")
  set(${var} ${_copies} ${_out}/planted_bug_names.inc PARENT_SCOPE)
endfunction()

# hearth_orders_grpc(NAME...): test programs in which ThreadSanitizer is told of the order that gRPC gives.
function(hearth_orders_grpc)
  if(NOT "thread" IN_LIST HEARTH_SANITIZE)
    return()
  endif()
  foreach(_name ${ARGN})
    target_sources(${_name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/grpc_edges_tsan.cpp)
    target_link_libraries(${_name} PRIVATE hearth_grpc ${CMAKE_DL_LIBS})
    target_link_options(${_name} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/tests/support/own_std.map)
    set_property(TARGET ${_name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/own_std.map)
  endforeach()
endfunction()
