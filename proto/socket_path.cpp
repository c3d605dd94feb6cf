#include "proto/socket_path.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/status_macros.h"

namespace hearth {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string folder_of(std::string_view socket_path) {
  return std::filesystem::path(socket_path).parent_path().string();
}

bool is_folder(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The user as whom the files of all users appear that this user namespace has no number for; none where it has all.
std::optional<uid_t> overflow_user() {
  constexpr std::uint64_t kAllUsers = 0xffff'ffff;
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 0, outside = 0, count = 0, mapped = 0;
  while (map >> inside >> outside >> count) mapped += count;
  if (mapped == 0 || mapped >= kAllUsers) return std::nullopt;
  uid_t user = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> user;
  return user;
}

bool is_mount_point(const std::string& folder) {
  struct statx info;
  return ::statx(AT_FDCWD, folder.c_str(), 0, STATX_BASIC_STATS, &info) == 0 &&
         (info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 && (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Whether root alone, or `other`, can have put the folder where it is.
bool only_root_made(const std::filesystem::path& folder, uid_t other = 0) {
  for (std::filesystem::path at = folder.parent_path();; at = at.parent_path()) {
    struct stat info;
    if (::lstat(at.c_str(), &info) != 0 || (info.st_mode & 022) != 0) return false;
    if (info.st_uid != 0 && info.st_uid != other) return false;
    if (at == at.root_path()) return true;
  }
}

// Where root gave it to somebody: nobody else can have put it there. In a container with users of its own, where root
// of the node has no number, that is what was mounted at this very place, and the place of the node's service.
bool is_delegated_by_root(const std::string& folder) {
  std::error_code error;
  // Links are followed first: /var/run is one.
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  struct stat info;
  if (error || ::lstat(real.c_str(), &info) != 0 || (info.st_mode & 022) != 0) return false;
  if (only_root_made(real)) return true;
  const std::optional<uid_t> outside = overflow_user();
  if (!outside) return false;
  return is_mount_point(real.string()) || (folder == folder_of(kNodeSocketPath) && only_root_made(real, *outside));
}

bool may_connect_to_node() { return ::access(kNodeSocketPath, W_OK) == 0; }

std::string default_socket_path() {
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  if (!runtime.empty() && runtime.front() == '/') return absl::StrCat(runtime, "/hearth/hearthd.sock");
  const std::string run_user = absl::StrCat("/run/user/", ::geteuid());
  if (is_folder(run_user)) return absl::StrCat(run_user, "/hearth/hearthd.sock");
  std::string temp = environment("TMPDIR");
  if (temp.empty() || temp.front() != '/') temp = "/tmp";
  while (temp.size() > 1 && temp.back() == '/') temp.pop_back();
  return absl::StrCat(temp, "/hearth-", ::geteuid(), "/hearthd.sock");
}

// `path` with another suffix in place of ".sock", or added.
std::string beside(std::string_view path, std::string_view suffix) {
  constexpr std::string_view kSuffix = ".sock";
  if (path.size() > kSuffix.size() && path.substr(path.size() - kSuffix.size()) == kSuffix) {
    path.remove_suffix(kSuffix.size());
  }
  return std::string(path).append(suffix);
}

}  // namespace

absl::Status check_socket_path(std::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("the socket path is empty: give --socket an absolute path");
  if (path.find('\0') != std::string_view::npos) return absl::InvalidArgumentError("the socket path has a zero byte");
  const std::size_t longest = std::max(admin_socket_path(path).size(), weights_socket_path(path).size());
  if (longest > kMaxSocketPathBytes) {
    return absl::InvalidArgumentError(absl::StrCat("socket path '", std::string(path), "' has ", path.size(),
                                                   " bytes; at most ", kMaxSocketPathBytes - (longest - path.size()),
                                                   " are possible: choose a shorter one with --socket or "
                                                   "HEARTH_SOCKET"));
  }
  if (path.front() != '/' || path.back() == '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("socket path '", std::string(path), "' is not an absolute file path"));
  }
  return absl::OkStatus();
}

std::string admin_socket_path(std::string_view path) { return beside(path, ".admin"); }
std::string weights_socket_path(std::string_view path) { return beside(path, ".share"); }

std::string mountable_socket_path(std::string_view path) {
  return absl::StrCat(beside(path, ".clients"), "/", std::filesystem::path(path).filename().string());
}

std::string mountable_weights_socket_path(std::string_view path) {
  const std::filesystem::path share(path);
  return absl::StrCat((share.parent_path() / share.stem()).string(), ".clients/", share.filename().string());
}

std::string_view reason_of_socket_path(std::string_view explicit_path) {
  if (!explicit_path.empty()) return "--socket";
  if (!environment("HEARTH_SOCKET").empty()) return "HEARTH_SOCKET";
  return may_connect_to_node() ? "the node's service" : "your own";
}

bool is_trusted_daemon_user(std::string_view socket_path, unsigned uid) {
  if (uid == ::geteuid() || uid == 0) return true;
  const std::string folder = folder_of(socket_path);
  struct stat info;
  return ::stat(folder.c_str(), &info) == 0 && info.st_uid == uid && is_delegated_by_root(folder);
}

absl::StatusOr<std::string> resolve_socket_path(std::string_view explicit_path, SocketUser user) {
  std::string path(explicit_path);
  if (path.empty()) path = environment("HEARTH_SOCKET");
  if (path.empty() && user == SocketUser::kClient && may_connect_to_node()) path = kNodeSocketPath;
  if (path.empty()) {
    path = default_socket_path();
  } else if (path.front() != '/') {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (error) return absl::InvalidArgumentError(absl::StrCat("socket path '", path, "': ", error.message()));
    path = absolute.lexically_normal().string();
  }
  HEARTH_RETURN_IF_ERROR(check_socket_path(path));
  return path;
}

absl::Status check_socket_folder(std::string_view socket_path) {
  const std::string folder = folder_of(socket_path);
  struct stat info;
  if (::lstat(folder.c_str(), &info) != 0) {
    const std::string message = absl::StrCat("socket folder '", folder, "': ", std::strerror(errno));
    return errno == ENOENT || errno == ENOTDIR ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
  }
  // Whose link it is decides where it leads, also once it has been looked at.
  if (S_ISLNK(info.st_mode) && info.st_uid != ::geteuid() && info.st_uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat("socket folder '", folder, "' is a link of user ", info.st_uid,
                                                    ", not yours: choose another one with --socket"));
  }
  if (S_ISLNK(info.st_mode) && ::stat(folder.c_str(), &info) != 0) {
    return absl::NotFoundError(absl::StrCat("socket folder '", folder, "': ", std::strerror(errno)));
  }
  if (!S_ISDIR(info.st_mode)) return absl::PermissionDeniedError(absl::StrCat("'", folder, "' is not a folder"));
  if (!is_trusted_daemon_user(socket_path, info.st_uid)) {
    return absl::PermissionDeniedError(absl::StrCat("socket folder '", folder, "' belongs to user ", info.st_uid,
                                                    ", not to you: choose another one with --socket"));
  }
  if ((info.st_mode & 022) != 0 && (info.st_mode & S_ISVTX) == 0) {
    return absl::PermissionDeniedError(absl::StrCat("socket folder '", folder,
                                                    "' is writable by others: chmod 700 it or choose another one with "
                                                    "--socket"));
  }
  // In a sticky folder (a temp dir) anybody may have put a socket there first.
  if (::lstat(std::string(socket_path).c_str(), &info) == 0 && !is_trusted_daemon_user(socket_path, info.st_uid)) {
    return absl::PermissionDeniedError(absl::StrCat("socket '", std::string(socket_path), "' belongs to user ",
                                                    info.st_uid, ", not to you: choose another one with --socket"));
  }
  return absl::OkStatus();
}

absl::Status make_socket_folder(std::string_view socket_path, unsigned mode) {
  HEARTH_RETURN_IF_ERROR(check_socket_path(socket_path));
  const std::string folder = folder_of(socket_path);
  std::string prefix;
  for (const std::filesystem::path& part : std::filesystem::path(folder)) {
    prefix = (std::filesystem::path(prefix) / part).string();
    if (is_folder(prefix)) continue;
    if (::mkdir(prefix.c_str(), mode) != 0 && errno != EEXIST) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot create socket folder '", prefix, "': ", std::strerror(errno)));
    }
  }
  return check_socket_folder(socket_path);
}

}  // namespace hearth
