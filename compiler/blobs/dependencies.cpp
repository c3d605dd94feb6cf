#include "compiler/blobs/dependencies.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "compiler/blobs/blob_flags.h"
#include "compiler/blobs/file_stamp.h"
#include "compiler/blobs/include_shadows.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

// Absolute, without "." and doubled slashes. Folders with ".." are looked up: links may be in between.
std::string tidy(const std::string& written, const std::string& folder) {
  fs::path path = fs::path(written).is_absolute() ? fs::path(written) : fs::path(folder) / written;
  if (written.find("..") != std::string::npos) {
    std::error_code error;
    const fs::path real = fs::canonical(path.parent_path(), error);
    if (!error) path = real / path.filename();
  }
  return path.lexically_normal();
}

std::string tidy_folder(const std::string& written, const std::string& folder) {
  std::string path = tidy(written + "/.", folder);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::vector<std::string> search_folders(const std::vector<std::string>& flags, const std::string& folder) {
  std::vector<std::string> folders;
  for (const std::string& written : include_folders(flags)) folders.push_back(tidy_folder(written, folder));
  return folders;
}

std::string marked(const std::string& path, const std::string& root) {
  if (path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/')
    return str_cat(kRootMark, path.substr(root.size()));
  return path;
}

bool unchanged(const Dependency& dependency, const std::string& path) {
  const auto stamp = stamp_of(path);
  if (!stamp || stamp->size_bytes != dependency.size_bytes) return false;
  if (stamp->mtime_ns == dependency.mtime_ns) return true;
  const auto digest = digest_of_file(path);
  return digest.ok() && *digest == dependency.sha256_hex;
}

bool is_shadow(const Dependency& dependency) { return dependency.sha256_hex.empty(); }

std::int64_t now_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

std::string path_of(const Dependency& dependency, const BlobSpec& spec) {
  return dependency.path.starts_with(kRootMark) ? spec.root + dependency.path.substr(kRootMark.size())
                                                : dependency.path;
}

absl::StatusOr<std::vector<Dependency>> collect_dependencies(const BlobSpec& spec,
                                                             const std::vector<std::string>& flags,
                                                             const std::string& folder,
                                                             const std::vector<std::string>& paths) {
  std::set<std::string> used;
  for (const std::string& path : std::set<std::string>(paths.begin(), paths.end())) used.insert(tidy(path, folder));
  std::vector<Dependency> dependencies;
  for (const std::string& path : used) {
    const auto stamp = stamp_of(path);
    if (!stamp) return absl::UnavailableError(str_cat(spec.stem, ": ", path, " vanished while it was compiled"));
    const auto digest = digest_of_file(path);
    if (!digest.ok()) return digest.status();
    dependencies.push_back({marked(path, spec.root), *digest, stamp->size_bytes, stamp->mtime_ns});
  }
  for (const std::string& path : include_shadows(search_folders(flags, folder), used))
    dependencies.push_back({marked(path, spec.root), "", 0, 0});
  std::sort(dependencies.begin(), dependencies.end(),
            [](const Dependency& a, const Dependency& b) { return a.path < b.path; });
  return dependencies;
}

std::int64_t file_clock_tick() {
  // Some file systems stamp with the precise clock, others with the coarse one, which lags: once that has passed, a
  // later write is later on both.
  const std::int64_t now = now_of(CLOCK_REALTIME);
  while (now_of(CLOCK_REALTIME_COARSE) <= now) std::this_thread::sleep_for(std::chrono::microseconds(500));
  return now;
}

bool changed_since(std::int64_t moment_ns, const BlobSpec& spec, const std::vector<Dependency>& dependencies) {
  return std::any_of(dependencies.begin(), dependencies.end(), [&](const Dependency& dependency) {
    if (is_shadow(dependency)) return false;
    const auto stamp = stamp_of(path_of(dependency, spec));
    return !stamp || std::max(stamp->mtime_ns, stamp->ctime_ns) > moment_ns;
  });
}

bool dependencies_unchanged(const BlobSpec& spec, const std::vector<Dependency>& dependencies) {
  std::set<std::string> used, shadows;
  for (const Dependency& dependency : dependencies) {
    const std::string path = path_of(dependency, spec);
    if (is_shadow(dependency)) {
      shadows.insert(path);
      continue;
    }
    if (!unchanged(dependency, path)) return false;
    used.insert(path);
  }
  const auto flags = usable_flags(spec);
  if (!flags.ok() || used.empty()) return false;
  const std::set<std::string> now = include_shadows(search_folders(*flags, spec.root), used);
  return std::includes(shadows.begin(), shadows.end(), now.begin(), now.end());
}

}  // namespace hearth::blobs
