// The whole build of an attention library with lazily compiled blobs, and the quick rebuild of its runtime part.
//
// build_full runs aiter's compile.py for fwd and bwd in parallel in a fake ROCm home; hearth-hipcc and the post-build
// do the rest. build_quick compiles the embedded manifest again and links with this hearth's loader; nothing else is
// compiled. Both install when asked. One build a temporary folder at a time. Blocking. Errors: NotFound naming what is
// missing and the option for it, FailedPrecondition with a build's last lines or for another version's folder. Example:
//   absl::StatusOr<BuildReport> done = build_full({.aiter_dir = "/src/aiter", .gpu_archs = "gfx942", …});
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <vector>

#include "blobs/library/manifest.h"

namespace hearth::blobs {

struct FullBuildInput {
  std::string aiter_dir;
  std::string gpu_archs;           // "gfx942;gfx950"
  std::string ck_tile_bf16 = "3";  // CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT
  std::string tmp_dir;             // empty: a new one, which is kept
  std::string install_dir;         // empty: none
  std::string python = "python3";
  std::string rocm_home;  // empty: $ROCM_HOME, $ROCM_PATH, /opt/rocm
  std::string compiler;   // empty: bin/hipcc of the ROCm home, or c++
  std::string toolchain = kHipToolchain;
  std::vector<std::string> apis = {"fwd", "bwd"};
  bool verify = true;
  bool verbose = false;
  std::function<void(const std::string&)> progress;  // told where things are, before the long part; may be empty
};

struct QuickBuildInput {
  std::string tmp_dir;
  std::string aiter_dir;    // empty: where it was
  std::string install_dir;  // empty: none
  bool verbose = false;
};

struct BuildReport {
  std::string tmp_dir;
  std::vector<std::string> lines;  // what was done, for people
};

absl::StatusOr<BuildReport> build_full(const FullBuildInput& input);
absl::StatusOr<BuildReport> build_quick(const QuickBuildInput& input);

// An absolute, new or existing folder for a build; empty: a new one in the system's.
absl::StatusOr<std::string> make_tmp_dir(const std::string& wanted);

// The path of the hearth that runs, its folder, and hearth-hipcc there.
std::string this_hearth();
std::string bin_folder();
std::string this_hipcc();

// $CK_JIT_NAME, else "ck_jit"; $CK_JIT_ROOT, else `otherwise`.
std::string default_name();
std::string default_root(const std::string& otherwise);

}  // namespace hearth::blobs
