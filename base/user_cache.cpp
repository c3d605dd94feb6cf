#include "base/user_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace hearth {

std::string user_cache_folder(std::string_view name) {
  const char* const cache = ::secure_getenv("XDG_CACHE_HOME");
  const char* const home = ::secure_getenv("HOME");
  std::string folder;
  if (cache != nullptr && cache[0] == '/') {
    folder = cache;
  } else if (home != nullptr && home[0] == '/') {
    folder = std::string(home) + "/.cache";
  } else {
    return "";
  }
  for (const std::string_view part : {std::string_view(), std::string_view("hearth"), name}) {
    if (!part.empty()) (folder += '/') += part;
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  }
  struct stat info{};
  const bool is_ours = ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
                       (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_ours ? folder : "";
}

}  // namespace hearth
