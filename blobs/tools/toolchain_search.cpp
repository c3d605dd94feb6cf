#include "blobs/tools/toolchain_search.h"

#include <cstdlib>
#include <optional>

#include "base/file_stamp.h"
#include "base/program_path.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/manifest.h"

namespace hearth::blobs {
namespace {

using Flavour = CompilerPlace::Flavour;
using runtime::find_named_program;
using runtime::find_on_path;
using runtime::is_program;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What the user named; an error when it is not there, as another compiler would not be what they asked for.
absl::StatusOr<std::optional<std::string>> named_by(const char* name) {
  const std::string value = variable(name);
  if (value.empty()) return std::optional<std::string>();
  const std::optional<std::string> found = find_named_program(value);
  if (found) return found;
  return absl::NotFoundError(
      str_cat(name, "=", value,
              ": there is no such program (an absolute path, or a name on PATH); correct or unset the variable"));
}

absl::StatusOr<std::vector<CompilerPlace>> host_places() {
  HEARTH_ASSIGN_OR_RETURN(const auto named, named_by("HEARTH_BLOB_CXX"));
  if (named) return std::vector<CompilerPlace>{{Flavour::kHost, *named, true}};
  if (const auto found = find_on_path("c++")) return std::vector<CompilerPlace>{{Flavour::kHost, *found, false}};
  return absl::NotFoundError(
      "no host compiler: HEARTH_BLOB_CXX is not set and there is no c++ on PATH; install the "
      "package g++ or set HEARTH_BLOB_CXX");
}

absl::StatusOr<std::vector<CompilerPlace>> hip_places() {
  HEARTH_ASSIGN_OR_RETURN(const auto named, named_by("HEARTH_HIPCC"));
  if (named) return std::vector<CompilerPlace>{{Flavour::kRocm, *named, true}};
  std::vector<CompilerPlace> places;
  std::string looked_for = "HEARTH_HIPCC (not set)";
  for (const std::string& home : {variable("ROCM_PATH"), std::string("/opt/rocm")}) {
    if (!home.starts_with('/')) continue;
    const std::string hipcc = home + "/bin/hipcc";
    str_append(&looked_for, ", ", hipcc);
    if (is_program(hipcc)) places.push_back({Flavour::kRocm, hipcc, false});
  }
  HEARTH_ASSIGN_OR_RETURN(const auto clang, named_by("HEARTH_BLOB_CLANG"));
  const auto found = clang ? clang : find_on_path("clang++-19");
  if (found) places.push_back({Flavour::kDebianClang, *found, clang.has_value()});
  if (!places.empty()) return places;
  return absl::NotFoundError(str_cat("no HIP compiler: looked for ", looked_for,
                                     " and clang++-19 on PATH; install ROCm 6 or newer, or the packages clang-19 "
                                     "clang-tools-19 lld-19 libamdhip64-dev rocm-device-libs"));
}

}  // namespace

absl::StatusOr<std::vector<CompilerPlace>> compiler_places(const std::string& kind) {
  if (kind == kCxxToolchain) return host_places();
  if (kind == kHipToolchain) return hip_places();
  return absl::InvalidArgumentError(
      str_cat("toolchain \"", kind, "\" is neither \"", kHipToolchain, "\" nor \"", kCxxToolchain, "\""));
}

absl::StatusOr<DebianHip> debian_hip() {
  DebianHip hip;
  for (const std::string lib : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"}) {
    if (hip.device_libraries.empty() && files::stamp_of_file(lib + "/amdgcn/bitcode/ocml.bc"))
      hip.device_libraries = lib + "/amdgcn/bitcode";
    if (hip.library_folder.empty() && files::stamp_of_file(lib + "/libamdhip64.so")) hip.library_folder = lib;
  }
  if (hip.device_libraries.empty())
    return absl::NotFoundError("AMD's device libraries (ocml.bc) are missing; install the package rocm-device-libs");
  if (hip.library_folder.empty() || !files::stamp_of_file("/usr/include/hip/hip_runtime.h"))
    return absl::NotFoundError("the HIP runtime (libamdhip64.so, hip_runtime.h) is missing; install libamdhip64-dev");
  return hip;
}

}  // namespace hearth::blobs
