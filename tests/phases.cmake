# In which builds scripts/test.sh runs a test: the release's, AddressSanitizer's with UndefinedBehaviorSanitizer, or both.
# The first row whose expression matches the test's name counts; the labels "release" and "asan" say it (ctest -L). A
# test runs where it finds most: code that reads others' bytes, hands memory about or fails on purpose under sanitizers,
# which need a build of their own; what runs generated code, other compilers or programs as users get them in release.
set(HEARTH_TEST_PHASES
  # What counts allocations, memory, limits or times in one and is hostile in the other.
  "(runtime|sandbox|daemon_process|onnx|c_abi)_test" release+asan
  # Whole programs over a longer time; what a terminal shows.
  "(integration|daemon_life|ptxas|gpu_machines)_test|terminal_.*" release
  # Generated code beside interpreters, numpy and ONNX; digests; models.
  "(numpy|ops|onnx|buffers)_(conformance|compiled_cases)_test|numpy_cases|wire_oracle_test" release
  "(model_numbers|model_importer|model_workgroups|model_commands|net_kernels|digests|spirv_modules|gpu_code)_test" release
  # Rules and bounds, proved or drawn; code generators; schedules.
  "rules_.*|(check_bounds|inequality|bounds_transfer|codegen|schedule|client_values)_test|simplify_fuzz" release
  # On a Vulkan device: sanitizers see its driver.
  ".*vulkan.*" release
  # On stand-ins of GPUs' drivers.
  "(integration|models|onnx|ops|sdk|shared_weights|workgroup)_(cuda|hip)_test|runtime_hip_test" release
  # As installed, and what other compilers do.
  "(install|packages|static_archive|ck_real|dispatcher_rewriter_compile)_test|libhearth_links_no_compiler" release
  "blob_(device|storm|hip_stand_in|code_object|sample|flow|tools)_test|python_.*" release
  # Every second point at which a call can be cut off, of which a sanitizer has time for a few.
  "daemon_cut_test" release
  # Texts, headers, the tests' own tools.
  "(documents|api_reference|layering|header_examples|includes|skips|phases|format)_test|command_line_(help|manual|bash_completion|zsh_completion)_test" release
  ".*" asan)

# hearth_phases(VAR TEST): release, asan, or both.
function(hearth_phases var test)
  set(_rows ${HEARTH_TEST_PHASES})
  while(_rows)
    list(POP_FRONT _rows _pattern _phases)
    if(test MATCHES "^(${_pattern})$")
      string(REPLACE "+" ";" _phases ${_phases})
      set(${var} ${_phases} PARENT_SCOPE)
      return()
    endif()
  endwhile()
endfunction()

# Folders whose tests a phase runs, for scripts/test.sh: test_folders/release.txt, test_folders/asan.txt.
function(hearth_write_test_folders)
  foreach(_phase release asan)
    get_property(_folders GLOBAL PROPERTY HEARTH_FOLDERS_${_phase})
    list(REMOVE_DUPLICATES _folders)
    string(REPLACE ";" "\n" _lines "${_folders}")
    file(WRITE ${CMAKE_BINARY_DIR}/test_folders/${_phase}.txt "${_lines}\n")
  endforeach()
endfunction()
