#include "base/program_path.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace hearth::runtime {
namespace {

constexpr std::string_view kSystemPath = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

bool is_program(const std::string& path) {
  std::error_code ignored;
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored);
}

bool is_absolute_program(const std::string& path) { return path.starts_with('/') && is_program(path); }

std::optional<std::string> find_on_path(std::string_view name, std::string_view not_in) {
  const char* const set = ::secure_getenv("PATH");
  const std::string_view folders = set != nullptr && *set != '\0' ? std::string_view(set) : kSystemPath;
  for (std::size_t start = 0; start <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', start), folders.size());
    const std::string_view folder = folders.substr(start, end - start);
    start = end + 1;
    if (!folder.starts_with('/') || folder == not_in) continue;
    std::string candidate = std::string(folder) + "/" + std::string(name);
    if (is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<std::string> find_named_program(const std::string& name, std::string_view not_in) {
  if (name.find('/') == std::string::npos) return find_on_path(name, not_in);
  return is_absolute_program(name) ? std::optional(name) : std::nullopt;
}

}  // namespace hearth::runtime
