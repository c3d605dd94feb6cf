# In which builds and in which tier scripts/test.sh runs a test; the first row whose expression matches the test's name
# counts, and the labels "release", "asan" and "long" say it (ctest -L).
#
# release, asan   the first tier: each test in the build in which it finds most, the release's or that of
#                 AddressSanitizer and UndefinedBehaviorSanitizer. Code that reads others' bytes, hands memory about or
#                 fails on purpose needs sanitizers; what runs generated code, other compilers or programs as users get
#                 them needs the release.
# long            the second tier (scripts/test.sh all), in the release build: what takes long beside what it protects.
#                 A row of both tiers draws a sample in the first and does all of it in the second (HEARTH_TEST_LONG=1).
#
# CONTRIBUTING.md says what the second tier protects.
set(HEARTH_TEST_PHASES
  # What counts allocations, memory, limits or times in one and is hostile in the other.
  "(runtime|sandbox|daemon_process|onnx|c_abi|remote)_test" release+asan
  # An attack's right and wrong in the first tier; how long others wait, which a busy machine decides too, in the second.
  "attack_test" asan+long
  "(attack_users|node_hostile)_test" long
  # Rules proved by Z3: a sixteenth of what is known anew, then all.
  "rules_proof_.*" release+long
  # Every op beside numpy: a part of the rows, then all; and on a Vulkan device.
  "numpy_(conformance_test|cases)" release+long
  "numpy_vulkan_test" long
  # Random programs in the first tier, then all programs of ops, on a Vulkan device and a stand-in of CUDA's driver.
  "ops_(vulkan|cuda)_all_test" long
  # torch's own samples of its operators: of every twelfth two, then five of all.
  "python_torch_ops_test" release+long
  # Programs of ops, random graphs and models as AArch64's kernels, under an emulator.
  "(ops_)?aarch64_test" long
  # Workgroups of all models' kernels by subgroups of 32, then of 8 and 64, too.
  "model_workgroups_test" release+long
  # Expressions that are drawn: some, then ten times as many.
  "simplify_fuzz" release+long
  # Whole programs and the SDK once more on a Vulkan device and a stand-in.
  "(integration_vulkan|sdk_vulkan|sdk_hip)_test" long
  # The other driver of the same GPU program: what differs is runtime_hip_test's and stream_hip_test's.
  "(onnx|models|ops|workgroup|shared_weights)_hip_test|python_device_arrays_hip_test" long
  # Some points at which a call can be cut off, then each.
  "daemon_cut_test" release+long
  # Beside servers of registries.
  "fleet_(real_servers|packs)_test" long
  # As installed, and what other compilers do.
  "(install|packages|ck_real|dispatcher_rewriter_compile)_test" long
  "blob_(device|storm|hip_stand_in|code_object|sample|flow|tools)_test" long
  # Whole programs over a longer time; what a terminal shows.
  "(integration|daemon_life|ptxas|gpu_machines)_test|terminal_.*" release
  # Generated code beside interpreters, numpy and ONNX; digests; models.
  "(ops|onnx|buffers)_(conformance|compiled_cases)_test|wire_oracle_test" release
  "(model_numbers|model_importer|model_commands|net_kernels|digests|spirv_modules|gpu_code)_test" release
  # Rules and bounds, drawn; code generators; schedules.
  "rules_.*|(check_bounds|inequality|bounds_transfer|codegen|schedule|client_values)_test" release
  # On a Vulkan device: sanitizers see its driver.
  ".*vulkan.*" release
  # On stand-ins of GPUs' drivers.
  "(integration|models|onnx|ops|sdk|sdk_lost|shared_weights|workgroup)_(cuda|hip)_test|runtime_hip_test" release
  "static_archive_test|libhearth_links_no_compiler|python_.*" release
  # Texts, headers, the tests' own tools.
  "(documents|api_reference|layering|header_examples|includes|skips|phases|deploy_files|format)_test|command_line_(help|manual|bash_completion|zsh_completion)_test" release
  ".*" asan)

# hearth_phases(VAR TEST): some of release, asan and long.
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

# Folders whose tests a phase runs, for scripts/test.sh: test_folders/release.txt and so on.
function(hearth_write_test_folders)
  foreach(_phase release asan long)
    get_property(_folders GLOBAL PROPERTY HEARTH_FOLDERS_${_phase})
    list(REMOVE_DUPLICATES _folders)
    string(REPLACE ";" "\n" _lines "${_folders}")
    file(WRITE ${CMAKE_BINARY_DIR}/test_folders/${_phase}.txt "${_lines}\n")
  endforeach()
endfunction()
