#include "blobs/tools/toolchain_search.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/file_stamp.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/manifest.h"

namespace hearth::blobs {
namespace {

using Flavour = CompilerPlace::Flavour;

bool is_program(const std::string& path) {
  return files::stamp_of_file(path).has_value() && ::access(path.c_str(), X_OK) == 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A program by its name on PATH, or by its path made absolute.
std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    const std::string path = std::filesystem::absolute(name, error);
    return !error && is_program(path) ? std::optional(path) : std::nullopt;
  }
  std::string list = variable("PATH");
  if (list.empty()) list = "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    const std::string folder = list.substr(start, end - start);
    start = end + 1;
    // Relative entries depend on who looks; a compiler is not taken from there.
    if (folder.starts_with('/') && is_program(str_cat(folder, "/", name))) return str_cat(folder, "/", name);
  }
  return std::nullopt;
}

// What the user named; an error when it is not there, as another compiler would not be what they asked for.
absl::StatusOr<std::optional<std::string>> named_by(const char* name) {
  const std::string value = variable(name);
  if (value.empty()) return std::optional<std::string>();
  const std::optional<std::string> found = find_program(value);
  if (found) return found;
  return absl::NotFoundError(str_cat(name, "=", value, ": there is no such program; correct or unset the variable"));
}

absl::StatusOr<std::vector<CompilerPlace>> host_places() {
  HEARTH_ASSIGN_OR_RETURN(const auto named, named_by("HEARTH_BLOB_CXX"));
  if (named) return std::vector<CompilerPlace>{{Flavour::kHost, *named, true}};
  if (const auto found = find_program("c++")) return std::vector<CompilerPlace>{{Flavour::kHost, *found, false}};
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
    if (home.empty()) continue;
    const std::string hipcc = home + "/bin/hipcc";
    str_append(&looked_for, ", ", hipcc);
    if (is_program(hipcc)) places.push_back({Flavour::kRocm, hipcc, false});
  }
  HEARTH_ASSIGN_OR_RETURN(const auto clang, named_by("HEARTH_BLOB_CLANG"));
  const auto found = clang ? clang : find_program("clang++-19");
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
