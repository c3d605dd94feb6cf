#include "blobs/tools/toolchain.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/file_stamp.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/manifest.h"
#include "blobs/tools/child_process.h"
#include "blobs/tools/gpu_archs.h"
#include "blobs/tools/isa_bitcode.h"
#include "blobs/tools/toolchain_files.h"
#include "blobs/tools/toolchain_record.h"
#include "blobs/tools/toolchain_search.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;
using Flavour = CompilerPlace::Flavour;

constexpr int kOldestRocm = 6;  // hipcc 5 (clang 15) cannot compile today's sources

// Where records and made bitcode are kept when nobody says where: hearth's cache; where that cannot be written (a
// confined worker), a folder for temporary files.
std::vector<std::string> default_folders() {
  const char* own = std::getenv("HEARTH_CACHE_DIR");
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::vector<std::string> folders;
  if (own != nullptr && *own == '/') {
    folders.push_back(str_cat(own, "/toolchains"));
  } else if (cache != nullptr && *cache == '/') {
    folders.push_back(str_cat(cache, "/hearth/toolchains"));
  } else if (home != nullptr && *home == '/') {
    folders.push_back(str_cat(home, "/.cache/hearth/toolchains"));
  }
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) folders.push_back(str_cat(temporary.string(), "/hearth-toolchains-", ::geteuid()));
  return folders;
}

// Private to this user: what is in it goes into compiles.
absl::Status prepare_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    fs::create_directories(fs::path(folder).parent_path(), error);
    ::mkdir(folder.c_str(), 0700);
  }
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return absl::PermissionDeniedError(str_cat(folder, ": cannot be made; set XDG_CACHE_HOME to a writable folder"));
  if (info.st_uid != ::geteuid() || (info.st_mode & 022) != 0)
    return absl::PermissionDeniedError(str_cat(folder,
                                               ": belongs to, or can be written by, another user; remove it or "
                                               "set XDG_CACHE_HOME to a folder of your own"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> version_text(const std::string& compiler) {
  const auto run = run_child({.arguments = {compiler, "--version"}, .environment = minimal_environment({})});
  if (!run.ok()) return absl::NotFoundError(run.status().message());
  if (run->timed_out || run->signal != 0 || run->exit_code != 0)
    return absl::NotFoundError(
        str_cat(compiler, ": does not answer --version (", run->timed_out ? "no end" : "failed", "): ", run->errors));
  return run->output;
}

// The major number of "HIP version: 6.2.41133", or nothing when the program is silent about it.
int hip_major(const std::string& version) {
  const std::size_t at = version.find("HIP version: ");
  return at == std::string::npos ? 0 : std::atoi(version.c_str() + at + 13);
}

std::vector<std::string> rocm_files(const std::string& hipcc) {
  std::vector<std::string> files = compiler_files(hipcc);
  const fs::path home = fs::path(hipcc).parent_path().parent_path();
  for (const char* clang : {"llvm/bin/clang++", "lib/llvm/bin/clang++"}) {
    if (!files::stamp_of_file(home / clang)) continue;
    for (std::string& file : compiler_files(home / clang)) files.push_back(std::move(file));
    break;
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(home / "amdgcn/bitcode", error))
    if (entry.path().extension() == ".bc") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

// One identity on all machines: contents and names of files, not where they are.
std::string digest_of(const Toolchain& toolchain, const std::vector<StampedFile>& files) {
  std::vector<std::string> lines;
  for (const StampedFile& file : files)
    lines.push_back(str_cat(fs::path(file.path).filename().string(), " ", file.sha256_hex, "\n"));
  std::sort(lines.begin(), lines.end());
  std::string text = str_cat("hearth toolchain 1\n", toolchain.kind, "\n", toolchain.version, "\n");
  for (const std::string& line : lines) text += line;
  return to_hex(sha256(text));
}

absl::StatusOr<ToolchainRecord> examine(const std::string& kind, const CompilerPlace& place,
                                        const std::string& folder) {
  HEARTH_ASSIGN_OR_RETURN(const auto version, version_text(place.compiler));
  ToolchainRecord record;
  Toolchain& toolchain = record.toolchain;
  toolchain.kind = kind;
  toolchain.compiler = place.compiler;
  toolchain.version = version.substr(0, version.find('\n'));
  std::vector<std::string> paths;
  if (place.flavour == Flavour::kHost) {
    paths = compiler_files(place.compiler);
  } else if (place.flavour == Flavour::kRocm) {
    if (const int major = hip_major(version); major != 0 && major < kOldestRocm)
      return absl::NotFoundError(str_cat(place.compiler, ": is of HIP ", major, ", ", kOldestRocm,
                                         " or newer is needed; install a newer ROCm"));
    toolchain.prefix_flags = {"-x", "hip"};
    paths = rocm_files(place.compiler);
  } else {
    HEARTH_ASSIGN_OR_RETURN(const auto hip, debian_hip());
    HEARTH_ASSIGN_OR_RETURN(const auto library,
                            device_library(place.compiler, known_archs(place.compiler), hip.device_libraries, folder));
    toolchain.prefix_flags = {"-x", "hip", "--rocm-path=/usr", "--rocm-device-lib-path=" + library.folder};
    toolchain.link_flags = {"-L" + hip.library_folder, "-lamdhip64"};
    paths = compiler_files(place.compiler);
    paths.insert(paths.end(), library.files.begin(), library.files.end());
  }
  HEARTH_ASSIGN_OR_RETURN(auto files, stamped(paths));
  record.files = std::move(files);
  toolchain.digest = digest_of(toolchain, record.files);
  return record;
}

// The best of the places; those that were passed over are watched too: an update may make them better.
absl::StatusOr<ToolchainRecord> choose(const std::string& kind, const std::vector<CompilerPlace>& places,
                                       const std::string& folder) {
  std::vector<StampedFile> passed_over;
  absl::Status why;
  for (const CompilerPlace& place : places) {
    auto record = examine(kind, place, folder);
    if (record.ok()) {
      record->files.insert(record->files.end(), passed_over.begin(), passed_over.end());
      return record;
    }
    if (place.asked_for) return record.status();
    if (const auto stamp = files::stamp_of_file(place.compiler)) passed_over.push_back({place.compiler, *stamp, ""});
    why = why.ok() ? record.status()
                   : absl::Status(record.status().code(), str_cat(why.message(), "; ", record.status().message()));
  }
  return why;
}

std::mutex g_mutex;  // held while looking: threads that need the same toolchain first look once
std::map<std::string, ToolchainRecord>& known_records() {
  static auto* const records = new std::map<std::string, ToolchainRecord>();
  return *records;
}

absl::StatusOr<Toolchain> find_in(const std::string& kind, const std::vector<CompilerPlace>& places,
                                  const std::string& folder) {
  std::string key = str_cat(kind, "\n", folder);
  for (const CompilerPlace& place : places) str_append(&key, "\n", place.compiler);
  auto& known = known_records();
  if (const auto record = known.find(key); record != known.end() && files_unchanged(record->second))
    return record->second.toolchain;
  HEARTH_RETURN_IF_ERROR(prepare_folder(folder));
  if (auto record = load_record(folder, key); record && files_unchanged(*record))
    return (known[key] = *std::move(record)).toolchain;
  HEARTH_ASSIGN_OR_RETURN(auto record, choose(kind, places, folder));
  save_record(folder, key, record);
  return (known[key] = std::move(record)).toolchain;
}

}  // namespace

absl::StatusOr<Toolchain> find_toolchain(const std::string& kind, const std::string& bitcode_folder) {
  HEARTH_ASSIGN_OR_RETURN(const auto places, compiler_places(kind));
  const std::lock_guard lock(g_mutex);
  if (!bitcode_folder.empty()) return find_in(kind, places, bitcode_folder);
  absl::StatusOr<Toolchain> found = absl::PermissionDeniedError("no folder to keep toolchains in; set XDG_CACHE_HOME");
  for (const std::string& folder : default_folders()) {
    found = find_in(kind, places, folder);
    if (!absl::IsPermissionDenied(found.status())) break;
  }
  return found;
}

absl::Status Toolchain::supports(const std::string& arch) const {
  if (kind != kHipToolchain) {
    if (arch.empty()) return absl::OkStatus();
    return absl::UnimplementedError(
        str_cat("arch ", arch, ": the toolchain \"", kind, "\" (", compiler, ") makes host code only"));
  }
  return arch.empty() ? absl::OkStatus() : arch_supported(*this, arch);
}

}  // namespace hearth::blobs
