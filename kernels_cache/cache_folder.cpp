#include "kernels_cache/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace hearth::cache {
namespace {

absl::Status make_dirs(FileSystem& file_system, const std::string& dir) {
  std::filesystem::path path;
  for (const std::filesystem::path& part : std::filesystem::path(dir)) {
    path /= part;
    if (std::error_code error; std::filesystem::is_directory(path, error)) continue;
    HEARTH_RETURN_IF_ERROR(file_system.make_dir(path.string(), 0700));
    HEARTH_RETURN_IF_ERROR(file_system.sync_dir(path.parent_path().string()));
  }
  return absl::OkStatus();
}

// Writing the cache is code execution in every client: only the daemon's user may. An empty folder is tightened.
absl::Status make_private(FileSystem& file_system, const std::string& dir) {
  struct stat info{};
  if (::stat(dir.c_str(), &info) != 0) return errno_status(errno, "stat");
  if (info.st_uid != ::geteuid()) {
    return absl::FailedPreconditionError(absl::StrCat("belongs to uid ", info.st_uid, ", not to ", ::geteuid()));
  }
  if ((info.st_mode & 022) == 0) return absl::OkStatus();
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system.list_dir(dir));
  if (!names.empty()) {
    return absl::FailedPreconditionError("others can write it, so its files cannot be trusted (empty it, chmod 700)");
  }
  return ::chmod(dir.c_str(), 0700) == 0 ? absl::OkStatus() : errno_status(errno, "chmod 700");
}

// What this package keeps in a cache directory, what clients of the same user keep in the default one, perhaps before
// there is a daemon (descriptions of toolchains, pipelines of Vulkan drivers), and what a file system may put into its
// root.
constexpr std::string_view kOwnNames[] = {"cas",
                                          "tmp",
                                          "quarantine",
                                          "repro",
                                          "lock",
                                          "lock.wanted",
                                          "index.sqlite",
                                          "index.sqlite-wal",
                                          "index.sqlite-shm",
                                          "index.sqlite-journal",
                                          "toolchains",
                                          "below",
                                          "vulkan",
                                          "speed",
                                          "lost+found"};

// A directory of something else is left alone: this one's parts are swept and rebuilt at need.
absl::Status check_is_cache(FileSystem& file_system, const std::string& dir) {
  HEARTH_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system.list_dir(dir));
  if (std::find(names.begin(), names.end(), "index.sqlite") != names.end()) return absl::OkStatus();
  for (const std::string& name : names) {
    if (std::find(std::begin(kOwnNames), std::end(kOwnNames), name) == std::end(kOwnNames)) {
      return absl::FailedPreconditionError(
          absl::StrCat("is not empty and holds no cache of Hearth, but '", name, "'; nothing in it was touched"));
    }
  }
  return absl::OkStatus();
}

// A link of somebody else's leads where they want, now and later.
absl::Status check_links(const std::string& dir) {
  std::filesystem::path path;
  for (const std::filesystem::path& part : std::filesystem::path(dir)) {
    path /= part;
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) return absl::OkStatus();  // from here on it is made
    if (S_ISLNK(info.st_mode) && info.st_uid != ::geteuid() && info.st_uid != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("is reached through '", path.string(), "', a link that belongs to uid ", info.st_uid));
    }
  }
  return absl::OkStatus();
}

absl::Status refuse_network(FileSystem& file_system, const std::string& dir) {
  HEARTH_ASSIGN_OR_RETURN(std::uint64_t magic, file_system.type_magic(dir));
  std::string_view name = network_file_system_name(magic);
  if (name.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("is on a network file system (", std::string(name),
                                                    "), whose locks and renames cannot be relied on"));
}

// Which state of a cache was copied.
absl::StatusOr<std::string> stamp_of(const std::string& below) {
  std::string stamp = absl::StrCat(below, "\n");
  for (const char* suffix : {"", "-wal"}) {
    struct stat info{};
    if (::stat(absl::StrCat(below, "/index.sqlite", suffix).c_str(), &info) != 0) {
      if (errno != ENOENT || *suffix == '\0') return errno_status(errno, absl::StrCat("stat index.sqlite", suffix));
      continue;
    }
    absl::StrAppend(&stamp, info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ino, "\n");
  }
  return stamp;
}

absl::Status write_file(FileSystem& file_system, const std::string& path, const std::string& bytes) {
  file_system.remove_file(path).IgnoreError();
  HEARTH_ASSIGN_OR_RETURN(const int fd, file_system.create(path, 0600));
  const absl::Status written = file_system.write_all(fd, bytes);
  const absl::Status closed = file_system.close_file(fd);
  return written.ok() ? closed : written;
}

}  // namespace

absl::Status lay_over(FileSystem& file_system, const std::string& below, const std::string& dir) {
  HEARTH_RETURN_IF_ERROR(check_links(below));
  struct stat info{};
  if (::stat(below.c_str(), &info) != 0) return errno_status(errno, "stat");
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("belongs to uid ", info.st_uid, ", not to ", ::geteuid(), " or root"));
  if ((info.st_mode & 022) != 0)
    return absl::FailedPreconditionError("others can write it, so its files cannot be trusted (chmod 755)");
  HEARTH_ASSIGN_OR_RETURN(const std::string stamp, stamp_of(below));
  const std::string stamp_path = dir + "/below";
  const absl::StatusOr<std::string> before = file_system.read_file(stamp_path);
  if (before.ok() && *before == stamp) return absl::OkStatus();
  // The copy is another cache's, or older. The stamp goes first and comes last: what is cut off is done again.
  file_system.remove_file(stamp_path).IgnoreError();
  for (const char* suffix : {"-shm", "-wal", ""}) {
    const std::string name = absl::StrCat("/index.sqlite", suffix);
    file_system.remove_file(dir + name).IgnoreError();
    if (std::string_view(suffix) == "-shm") continue;
    const absl::StatusOr<std::string> bytes = file_system.read_file(below + name);
    if (absl::IsNotFound(bytes.status()) && *suffix != '\0') continue;
    HEARTH_RETURN_IF_ERROR(bytes.status());
    HEARTH_RETURN_IF_ERROR(write_file(file_system, dir + name, *bytes));
  }
  return write_file(file_system, stamp_path, stamp);
}

absl::Status make_cache_folder(FileSystem& file_system, const std::string& dir, bool allow_network) {
  absl::Status usable = check_links(dir);
  if (usable.ok()) usable = make_dirs(file_system, dir);
  if (usable.ok() && !allow_network) usable = refuse_network(file_system, dir);
  if (usable.ok()) usable = make_private(file_system, dir);
  if (usable.ok()) usable = check_is_cache(file_system, dir);
  return usable;
}

}  // namespace hearth::cache
