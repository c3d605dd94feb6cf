#include "daemon/worker_pool/real_path.h"

#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <system_error>

namespace hearth::daemon {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel

void push_front(const std::filesystem::path& path, std::deque<std::string>& names) {
  std::deque<std::string> first;
  for (const std::filesystem::path& name : path) {
    if (!name.empty() && name != "/" && name != ".") first.push_back(name);
  }
  names.insert(names.begin(), first.begin(), first.end());
}

}  // namespace

std::optional<RealPath> follow(const std::string& path) {
  if (!path.starts_with('/')) return std::nullopt;
  RealPath result;
  std::deque<std::string> names;
  push_front(path, names);
  std::filesystem::path here = "/";
  while (!names.empty()) {
    const std::string name = names.front();
    names.pop_front();
    if (name == "..") {
      here = here.parent_path();
      continue;
    }
    const std::filesystem::path next = here / name;
    struct stat info{};
    if (::lstat(next.c_str(), &info) != 0) return std::nullopt;
    if (!S_ISLNK(info.st_mode)) {
      here = next;
      continue;
    }
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(next, error);
    if (error || result.links.size() == kMaxLinks) return std::nullopt;
    result.links.push_back({next, target});
    if (target.is_absolute()) here = "/";
    push_front(target, names);
  }
  result.real = here;
  return result;
}

bool is_within(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/');
}

}  // namespace hearth::daemon
