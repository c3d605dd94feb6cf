#include "blobs/tools/dependencies.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file_digest/file_digest.h"
#include "base/file_digest/include_shadowing.h"
#include "base/status_macros.h"
#include "base/text.h"

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

files::Compile compile_of(const BlobSpec& spec, const std::vector<std::string>& flags) {
  return {.root = spec.root, .source = spec.source, .flags = flags};
}

bool unchanged(const Dependency& dependency, const std::string& path) {
  const auto stamp = files::stamp_of_file(path);
  if (!stamp || stamp->size_bytes != dependency.size_bytes) return false;
  if (stamp->modified_ns == dependency.mtime_ns) return true;
  const auto file = files::file_digest(path);
  return file.ok() && to_hex(file->digest) == dependency.sha256_hex;
}

bool is_shadowing_file(const Dependency& dependency) { return dependency.sha256_hex.empty(); }

}  // namespace

std::string path_of(const Dependency& dependency, const BlobSpec& spec) {
  return files::with_root(dependency.path, spec.root);
}

absl::StatusOr<std::vector<Dependency>> collect_dependencies(const BlobSpec& spec,
                                                             const std::vector<std::string>& flags,
                                                             const std::string& folder,
                                                             const std::vector<std::string>& paths) {
  std::set<std::string> used;
  for (const std::string& path : std::set<std::string>(paths.begin(), paths.end())) used.insert(tidy(path, folder));
  std::vector<Dependency> dependencies;
  for (const std::string& path : used) {
    const auto file = files::file_digest(path);
    if (absl::IsNotFound(file.status()))
      return absl::UnavailableError(str_cat(spec.stem, ": ", path, " vanished while it was compiled"));
    HEARTH_RETURN_IF_ERROR(file.status());
    dependencies.push_back(
        {files::without_root(path, spec.root), to_hex(file->digest), file->stamp.size_bytes, file->stamp.modified_ns});
  }
  files::FileDigestCache files;
  for (const std::string& path : files::shadowing_files(compile_of(spec, flags), {used.begin(), used.end()}, files))
    dependencies.push_back({path, "", 0, 0});
  std::sort(dependencies.begin(), dependencies.end(),
            [](const Dependency& a, const Dependency& b) { return a.path < b.path; });
  return dependencies;
}

bool changed_since(std::int64_t moment_ns, const BlobSpec& spec, const std::vector<Dependency>& dependencies) {
  return std::any_of(dependencies.begin(), dependencies.end(), [&](const Dependency& dependency) {
    // Whether the compiler saw a shadowing file that came meanwhile is not known.
    if (is_shadowing_file(dependency)) return files::any_since(moment_ns, {dependency.path}, spec.root);
    const auto stamp = files::stamp_of_file(path_of(dependency, spec));
    return !stamp || std::max(stamp->modified_ns, stamp->changed_ns) > moment_ns;
  });
}

bool dependencies_unchanged(const BlobSpec& spec, const std::vector<Dependency>& dependencies) {
  std::vector<std::string> used, shadowing;
  for (const Dependency& dependency : dependencies) {
    if (is_shadowing_file(dependency)) {
      shadowing.push_back(dependency.path);
    } else {
      if (!unchanged(dependency, path_of(dependency, spec))) return false;
      used.push_back(dependency.path);
    }
  }
  if (used.empty()) return false;
  std::sort(shadowing.begin(), shadowing.end());  // a list may come from a file
  files::FileDigestCache files;
  const std::vector<std::string> now = files::shadowing_files(compile_of(spec, spec.flags), used, files);
  return std::includes(shadowing.begin(), shadowing.end(), now.begin(), now.end());
}

}  // namespace hearth::blobs
