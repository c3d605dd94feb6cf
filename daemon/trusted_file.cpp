#include "daemon/trusted_file.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hearth::daemon {
namespace {

absl::Status check(const std::string& what, const std::string& path, const std::string& setting, int access) {
  const std::string name = absl::StrCat(what, " '", path, "'");
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(absl::StrCat(name, ": ", std::strerror(errno), "; give its place with ", setting));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat(name, " is not a file; give its place with ", setting));
  }
  if (::access(path.c_str(), access) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(name, access == X_OK ? " cannot be executed: " : " cannot be read: ", std::strerror(errno),
                     "; mend that or give its place with ", setting));
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat(name, " belongs to user ", info.st_uid,
                                                    ", whom hearthd does not trust; choose another with ", setting));
  }
  // Many users have a group of their own and a umask of 002.
  const bool others = (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && info.st_gid != ::getegid());
  if (others) {
    return absl::PermissionDeniedError(
        absl::StrCat(name, " can be written by other users; chmod go-w it or choose another with ", setting));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_trusted_file(const std::string& what, const std::string& path, const std::string& setting) {
  return check(what, path, setting, R_OK);
}

absl::Status check_private_file(const std::string& setting, const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return absl::NotFoundError(absl::StrCat(setting, ": '", path, "': ", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return absl::NotFoundError(absl::StrCat(setting, ": '", path, "' is not a file"));
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat(setting, ": '", path, "' belongs to user ", info.st_uid,
                                                    ", whom hearthd does not trust; give it to user ", ::geteuid()));
  }
  const mode_t others = info.st_uid == 0 && ::geteuid() != 0 ? S_IRWXO | S_IWGRP | S_IXGRP : S_IRWXO | S_IRWXG;
  if ((info.st_mode & others) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(setting, ": other users can read or write '", path, "'; chmod 600 it"));
  }
  return absl::OkStatus();
}

absl::Status check_trusted_program(const std::string& what, const std::string& path, const std::string& setting) {
  return check(what, path, setting, X_OK);
}

}  // namespace hearth::daemon
