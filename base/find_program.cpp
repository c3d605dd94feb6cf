#include "base/find_program.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

namespace hearth::runtime {

namespace fs = std::filesystem;

bool is_program(const std::string& path) {
  std::error_code ignored;
  return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, ignored);
}

std::optional<std::string> find_program(std::string_view name) {
  std::vector<fs::path> places;
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  if (!self.empty()) {
    places.push_back(self.parent_path());
    places.push_back(self.parent_path().parent_path() / "libexec" / "hearth");
  }
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&find_program), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path folder = fs::absolute(info.dli_fname, ignored).parent_path();
    places.push_back(folder);
    places.push_back(folder.parent_path() / "bin");
    places.push_back(folder.parent_path().parent_path() / "bin");  // of /usr/lib/x86_64-linux-gnu
    places.push_back(folder.parent_path() / "libexec" / "hearth");
    places.push_back(folder.parent_path().parent_path() / "libexec" / "hearth");
  }
  if (const char* path = ::secure_getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty() && folder[0] == '/') places.emplace_back(folder);
    }
  }
  for (const fs::path& place : places) {
    const std::string candidate = (place / name).string();
    if (is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace hearth::runtime
