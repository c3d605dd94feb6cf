#include "base/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/own_place.h"
#include "base/program_path.h"

namespace hearth::runtime {
namespace {

namespace fs = std::filesystem;

void add_places_beside(const fs::path& file, bool is_library, std::vector<fs::path>* places) {
  if (file.empty()) return;
  const fs::path folder = file.parent_path();
  places->push_back(folder);
  if (is_library) {
    places->push_back(folder.parent_path() / "bin");
    places->push_back(folder.parent_path().parent_path() / "bin");  // of /usr/lib/x86_64-linux-gnu
  }
  places->push_back(folder.parent_path() / "libexec" / "hearth");
  if (is_library) places->push_back(folder.parent_path().parent_path() / "libexec" / "hearth");
}

// A folder beside the program may have become another user's since the program started.
bool is_trusted(const std::string& path) {
  struct stat file{}, running{};
  if (::stat(path.c_str(), &file) != 0 || (file.st_mode & S_IWOTH) != 0) return false;
  if (file.st_uid == 0 || file.st_uid == ::geteuid()) return true;
  return ::stat("/proc/self/exe", &running) == 0 && file.st_uid == running.st_uid;
}

}  // namespace

std::optional<std::string> find_program(std::string_view name) {
  const std::string program = program_file();
  const std::string library = library_file(reinterpret_cast<const void*>(&is_trusted));
  std::vector<fs::path> places;
  add_places_beside(program, false, &places);
  if (library != program) add_places_beside(library, true, &places);
  for (const fs::path& place : places) {
    std::string candidate = (place / name).string();
    if (is_program(candidate) && is_trusted(candidate)) return candidate;
  }
  return find_on_path(name);
}

}  // namespace hearth::runtime
