#include "daemon/cache_place.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/sha256.h"

namespace hearth::daemon {
namespace {

std::string absolute_variable(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

std::string passwd_home() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(1 << 14);
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return "";
  return found->pw_dir != nullptr && *found->pw_dir == '/' ? found->pw_dir : "";
}

bool may_write(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

// Whether the folder can be written, or made: the nearest one above it that exists can be.
bool is_usable(const std::string& folder) {
  std::filesystem::path path = folder;
  for (;;) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode) && may_write(path.string());
    if (!path.has_relative_path()) return false;
    path = path.parent_path();
  }
}

// A cache that somebody filled and that this process cannot write.
bool is_read_only_cache(const std::string& folder) {
  std::error_code error;
  return std::filesystem::is_regular_file(folder + "/index.sqlite", error) && !may_write(folder);
}

// Where files go when nothing else can be written. `name` tells folders for several purposes apart.
CachePlace temporary_place(const std::string& temp_dir, const std::string& name) {
  const std::string runtime = absolute_variable("XDG_RUNTIME_DIR");
  CachePlace place;
  place.is_temporary = true;
  if (!runtime.empty() && is_usable(runtime)) {
    place.dir = absl::StrCat(runtime, "/", name);
    place.reason = "in XDG_RUNTIME_DIR";
  } else {
    place.dir = absl::StrCat(temp_dir, "/", name, "-", ::geteuid());
    place.reason = "a temporary folder";
  }
  return place;
}

// What is new goes to a temporary folder, one for each cache that is only read.
CachePlace place_over(const std::string& below, const std::string& temp_dir) {
  const std::string id = to_hex(sha256(below)).substr(0, 12);
  CachePlace place = temporary_place(temp_dir, absl::StrCat("hearth-cache-over-", id));
  place.below = below;
  place.reason = absl::StrCat("what is new; ", place.reason, ", since that one cannot be written");
  return place;
}

}  // namespace

absl::StatusOr<CachePlace> find_cache_place(const std::string& given, const std::string& temp_dir) {
  std::error_code error;
  if (!given.empty()) {
    const std::string dir = std::filesystem::absolute(given, error).lexically_normal().string();
    if (is_read_only_cache(dir)) return place_over(dir, temp_dir);
    return CachePlace{dir, "", "as given", false};
  }
  struct Candidate {
    std::string dir, reason;
  };
  std::vector<Candidate> candidates;
  std::vector<std::string> missing;
  const std::string cache_home = absolute_variable("XDG_CACHE_HOME"), home = absolute_variable("HOME");
  if (!cache_home.empty()) candidates.push_back({cache_home + "/hearth", "in XDG_CACHE_HOME"});
  if (!home.empty()) {
    candidates.push_back({home + "/.cache/hearth", "in HOME"});
  } else {
    missing.push_back("there is no HOME");
    const std::string of_passwd = passwd_home();
    if (of_passwd.empty()) missing.push_back("no passwd entry");
    if (!of_passwd.empty())
      candidates.push_back({of_passwd + "/.cache/hearth", "in the passwd entry's home, since there is no HOME"});
  }
  for (const Candidate& candidate : candidates) {
    const std::string dir = std::filesystem::path(candidate.dir).lexically_normal().string();
    if (is_usable(dir)) return CachePlace{dir, "", candidate.reason, false};
    if (is_read_only_cache(dir)) return place_over(dir, temp_dir);
    missing.push_back(absl::StrCat(dir, " cannot be written"));
  }
  CachePlace place = temporary_place(temp_dir, "hearth-cache");
  absl::StrAppend(&place.reason, ", since ", absl::StrJoin(missing, ", "));
  if (is_usable(place.dir)) return place;
  return absl::InvalidArgumentError(
      absl::StrCat("no place to put the cache in: ", absl::StrJoin(missing, ", "), ", and ", place.dir,
                   " cannot be written either; give a folder with --cache-dir or HEARTH_CACHE_DIR"));
}

}  // namespace hearth::daemon
