#include "base/own_place.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace hearth::runtime {
namespace {

std::string if_absolute(std::string path) { return !path.empty() && path[0] == '/' ? path : std::string(); }

// The file that is mapped at `address`, as /proc names it; a name with a line break is told in another spelling there,
// and none.
std::string mapped_file(const void* address) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return {};
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::string found;
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t size = 0; found.empty() && (size = ::getline(&line, &room, maps)) > 0;) {
    unsigned long long from = 0, to = 0;
    int path = 0;
    if (std::sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &from, &to, &path) != 2 || path == 0) continue;
    if (wanted < from || wanted >= to) continue;
    found.assign(line + path, static_cast<std::size_t>(size) - static_cast<std::size_t>(path));
    if (found.ends_with('\n')) found.pop_back();
    break;
  }
  std::free(line);
  std::fclose(maps);
  return found.find("\\012") == std::string::npos ? if_absolute(found) : std::string();
}

}  // namespace

std::string program_file() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? if_absolute(std::string(path, static_cast<std::size_t>(size))) : std::string();
}

std::string library_file(const void* address) {
  Dl_info info{};
  void* entry = nullptr;
  if (::dladdr1(address, &info, &entry, RTLD_DL_LINKMAP) == 0 || entry == nullptr) return program_file();
  // glibc gives the program itself no name, and dli_fname would be its argv[0].
  const char* const name = static_cast<const link_map*>(entry)->l_name;
  if (name == nullptr || *name == '\0') return program_file();
  return *name == '/' ? std::string(name) : mapped_file(info.dli_fbase);
}

}  // namespace hearth::runtime
