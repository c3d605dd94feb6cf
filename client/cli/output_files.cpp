#include "client/cli/output_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/text.h"
#include "client/cli/print.h"

namespace hearth::cli {
namespace {

namespace fs = std::filesystem;

// Where a write to `path` would end up, links followed even where they lead to nothing yet.
std::string destination(fs::path path) {
  constexpr int kMaxLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  const fs::path canonical = fs::weakly_canonical(fs::absolute(path, error), error);
  return (error ? path : canonical).string();
}

// Empty for what is no file: a device, a pipe.
std::string identity(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return destination(path);
  return S_ISREG(status.st_mode) ? str_cat(status.st_dev, ":", status.st_ino) : "";
}

}  // namespace

void OutputFiles::reads(const std::string& path, const std::string& what) {
  if (const std::string file = identity(path); !file.empty()) taken_.emplace(file, what);
}

absl::Status OutputFiles::writes(const std::string& path, const std::string& what) {
  const std::string file = identity(path);
  if (file.empty()) return absl::OkStatus();
  const auto [taken, fresh] = taken_.emplace(file, what);
  if (fresh) return absl::OkStatus();
  return usage_error(what, ": is ", taken->second, ", which would be overwritten; name another file");
}

}  // namespace hearth::cli
