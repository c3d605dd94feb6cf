#include "blobs/tools/isa_bitcode.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/file_digest/file_digest.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/child_process.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIsaPrefix = "oclc_isa_version_";
constexpr int kOldestMade = 9000;  // older archs the package has all of

std::string isa_file(std::string_view arch) { return str_cat(kIsaPrefix, arch.substr(3), ".bc"); }

// What device libraries ask for: a constant, folded into them when they are linked.
std::string isa_module(int version) {
  // The name is in the bitcode: without one it would be that of a temporary file, and every worker's digest another.
  return str_cat("source_filename = \"oclc_isa_version.ll\"\ntarget triple = \"amdgcn-amd-amdhsa\"\n",
                 "@__oclc_ISA_version = linkonce_odr protected local_unnamed_addr addrspace(4) constant i32 ", version,
                 ", align 4\n");
}

absl::Status assemble(const std::string& clang, int version, const std::string& folder, const std::string& output) {
  const std::string source = output + ".ll";
  HEARTH_RETURN_IF_ERROR(runtime::write_file(source, {isa_module(version)}));
  const auto run = run_child({.arguments = {clang, "--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir", "-c",
                                            "-emit-llvm", "-Xclang", "-disable-llvm-passes", source, "-o", output},
                              .environment = minimal_environment(folder),
                              .folder = folder});
  std::error_code ignored;
  fs::remove(source, ignored);
  HEARTH_RETURN_IF_ERROR(run.status());
  if (run->exit_code != 0 || run->signal != 0 || run->timed_out)
    return absl::InternalError(str_cat(clang, ": cannot make ", output, ": ", run->errors));
  return absl::OkStatus();
}

// Names of the package's files, with their digests: what the made folder is named after.
absl::StatusOr<std::map<std::string, std::string>> installed_files(const std::string& installed) {
  std::map<std::string, std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(installed, error)) {
    if (entry.path().extension() != ".bc") continue;
    HEARTH_ASSIGN_OR_RETURN(const auto digest, files::file_digest(entry.path()));
    files.emplace(entry.path().filename(), to_hex(digest.digest));
  }
  if (files.empty())
    return absl::NotFoundError(str_cat(installed, ": no device libraries; install the package rocm-device-libs"));
  return files;
}

DeviceLibrary listed(const std::string& folder, const std::vector<std::string>& names) {
  DeviceLibrary library{folder, {}};
  for (const std::string& name : names) library.files.push_back(str_cat(folder, "/", name));
  return library;
}

bool complete(const DeviceLibrary& library) {
  return std::all_of(library.files.begin(), library.files.end(),
                     [](const std::string& file) { return files::stamp_of_file(file).has_value(); });
}

absl::Status cannot_make(const std::string& folder, const std::error_code& error) {
  return absl::PermissionDeniedError(str_cat(folder, ": cannot make device libraries there: ", error.message()));
}

}  // namespace

std::optional<int> isa_version(std::string_view arch) {
  if (!arch.starts_with("gfx") || arch.size() < 6 || arch.size() > 7) return std::nullopt;
  int digits[4] = {0, 0, 0, 0};  // tens and ones of the major number, minor, stepping; the last may be hexadecimal
  arch.remove_prefix(3);
  for (std::size_t i = 0; i < arch.size(); ++i) {
    const char c = arch[i];
    const bool hexadecimal = c >= 'a' && c <= 'f' && i + 1 == arch.size();
    if (!hexadecimal && (c < '0' || c > '9')) return std::nullopt;
    digits[4 - arch.size() + i] = hexadecimal ? c - 'a' + 10 : c - '0';
  }
  return (digits[0] * 10 + digits[1]) * 1000 + digits[2] * 100 + digits[3];
}

absl::StatusOr<DeviceLibrary> device_library(const std::string& clang, const std::vector<std::string>& archs,
                                             const std::string& installed, const std::string& keep) {
  const auto files = installed_files(installed);
  HEARTH_RETURN_IF_ERROR(files.status());
  const auto compiler = files::file_digest(clang);
  std::string identity = str_cat("device-library 1 ", clang, "\n",
                                 compiler.ok() ? to_hex(compiler->digest) : std::string(), "\n", installed);
  std::vector<std::string> names;
  for (const auto& [name, digest] : *files) {
    str_append(&identity, "\n", name, " ", digest);
    names.push_back(name);
  }
  std::map<std::string, int> made;
  for (const std::string& arch : archs) {
    const std::optional<int> version = isa_version(arch);
    if (!version || *version < kOldestMade || files->contains(isa_file(arch))) continue;
    made.emplace(isa_file(arch), *version);
    str_append(&identity, "\n", arch);
    names.push_back(isa_file(arch));
  }
  std::sort(names.begin(), names.end());
  const std::string folder = str_cat(keep, "/device-lib-", to_hex(sha256(identity)).substr(0, 16));
  const DeviceLibrary library = listed(folder, names);
  if (complete(library)) return library;

  std::error_code error;
  fs::create_directories(keep, error);
  std::string temporary = str_cat(keep, "/device-lib.XXXXXX");
  if (::mkdtemp(temporary.data()) == nullptr) return cannot_make(keep, std::error_code(errno, std::generic_category()));
  absl::Status status;
  for (const auto& [name, digest] : *files) {
    fs::create_symlink(str_cat(installed, "/", name), str_cat(temporary, "/", name), error);
    if (error && status.ok()) status = cannot_make(temporary, error);
  }
  for (const auto& [name, version] : made)
    if (status.ok()) status = assemble(clang, version, temporary, str_cat(temporary, "/", name));
  if (status.ok()) {
    fs::rename(temporary, folder, error);
    // Another process was first; or what is there is incomplete and is replaced.
    if (error && !complete(library)) {
      fs::remove_all(folder, error);
      fs::rename(temporary, folder, error);
    }
    if (!complete(library)) status = cannot_make(folder, error);
  }
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  if (!status.ok()) return status;
  return library;
}

}  // namespace hearth::blobs
