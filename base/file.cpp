#include "base/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace hearth::runtime {
namespace {

constexpr int kMaxLinks = 40;  // as many as the kernel follows

// False with errno when what was written before could not be stored.
bool close_written(UniqueFd& file) { return ::close(file.release()) == 0; }

absl::Status failure(const std::string& path, std::string_view what, int error = errno) {
  return absl::ErrnoToStatus(error, str_cat(path, ": ", what));
}

absl::Status is_a_folder(const std::string& path) {
  return absl::InvalidArgumentError(str_cat(path, ": is a folder, not a file"));
}

// What a path names, symbolic links followed: an entry `name` of the open folder.
struct Place {
  UniqueFd folder;
  std::string name;
  std::optional<struct stat> info = std::nullopt;  // of the entry itself; nothing: there is none
  bool is_proc_link = false;                       // a link of /proc, which names an open file rather than a path
};

bool is_proc(int folder) {
  struct statfs info{};
  return ::fstatfs(folder, &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

absl::StatusOr<Place> find_place(const std::string& path) {
  Place place{UniqueFd(AT_FDCWD), ""};
  std::string rest = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    const std::size_t slash = rest.rfind('/');
    place.name = slash == std::string::npos ? rest : rest.substr(slash + 1);
    const std::string folder = slash == std::string::npos ? "." : rest.substr(0, slash + 1);
    UniqueFd next(::openat(place.folder.get(), folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!next) return failure(path, str_cat("the folder ", folder, " cannot be opened"));
    place.folder = std::move(next);
    if (place.name.empty() || place.name == "." || place.name == "..") return is_a_folder(path);
    struct stat info{};
    if (::fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return place;
      return failure(path, "cannot be looked at");
    }
    place.info = info;
    if (!S_ISLNK(info.st_mode)) return place;
    place.is_proc_link = is_proc(place.folder.get());
    if (place.is_proc_link) return place;
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(place.folder.get(), place.name.c_str(), target.data(), target.size());
    if (size < 0) return failure(path, "its link cannot be read");
    target.resize(static_cast<std::size_t>(size));
    rest = std::move(target);
    place.info.reset();
  }
  return failure(path, "cannot be opened", ELOOP);
}

// N when the place is /proc/self/fd/N, as /dev/stdout and /dev/fd/N are: this process's open file, with its position.
std::optional<int> own_descriptor(const Place& place) {
  if (!place.is_proc_link || place.name.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  char folder[64] = {};
  const std::string link = str_cat("/proc/self/fd/", place.folder.get());
  if (::readlink(link.c_str(), folder, sizeof folder - 1) < 0) return std::nullopt;
  int process = 0, end = 0;
  if (std::sscanf(folder, "/proc/%d/fd%n", &process, &end) != 1 || process != ::getpid() || folder[end] != '\0') {
    return std::nullopt;
  }
  return place.name.size() <= 9 ? std::optional(std::stoi(place.name)) : std::nullopt;
}

bool wait_until(int fd, short events, int milliseconds = -1) {
  pollfd entry = {fd, events, 0};
  int ready = 0;
  while ((ready = ::poll(&entry, 1, milliseconds)) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

// ---- Reading ----------------------------------------------------------------------------------------------------
// Appends to `content` until `size` bytes are there or the end is reached.
absl::Status read_up_to(int fd, std::size_t size, const std::string& name, std::string* content) {
  std::size_t have = content->size();
  content->resize(size);
  while (have < size) {
    const ssize_t got = ::read(fd, content->data() + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN && wait_until(fd, POLLIN)) continue;
    if (got < 0) return absl::UnavailableError(str_cat(name, ": cannot be read: ", std::strerror(errno)));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content->resize(have);
  return absl::OkStatus();
}

// The rest of a stream, behind what `content` already has of it.
absl::StatusOr<std::string> read_to_end(int fd, const std::string& name, std::string content = {}) {
  for (std::size_t size = std::size_t{1} << 16;; size *= 2) {
    HEARTH_RETURN_IF_ERROR(read_up_to(fd, size, name, &content));
    if (content.size() < size) return content;
  }
}

// A pipe that was opened without waiting reads as ended until somebody opens it for writing.
absl::StatusOr<std::string> read_pipe(int fd, std::chrono::milliseconds patience, const std::string& name) {
  std::string first;
  if (!wait_until(fd, POLLIN, static_cast<int>(patience.count()))) {
    char byte = 0;
    const ssize_t got = ::read(fd, &byte, 1);  // fails with EAGAIN when there is a silent writer
    if (got == 0) {
      return absl::DeadlineExceededError(
          str_cat(name, ": nobody opened this pipe for writing within ", patience.count(), " ms"));
    }
    if (got > 0) first = byte;
  }
  return read_to_end(fd, name, std::move(first));
}

// ---- Writing ----------------------------------------------------------------------------------------------------
absl::Status write_all(int fd, const std::string& path, const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t written = ::write(fd, part.data(), part.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EAGAIN && wait_until(fd, POLLOUT)) continue;
      if (written < 0) return failure(path, "cannot be written");
      part.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  return absl::OkStatus();
}

absl::Status write_through(const Place& place, const std::string& path, const std::vector<std::string_view>& parts) {
  const std::optional<int> own = own_descriptor(place);
  UniqueFd file(own ? ::fcntl(*own, F_DUPFD_CLOEXEC, 3)
                    : ::openat(place.folder.get(), place.name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return failure(path, "cannot be opened for writing");
  HEARTH_RETURN_IF_ERROR(write_all(file.get(), path, parts));
  return close_written(file) ? absl::OkStatus() : failure(path, "cannot be written");
}

// A new file beside the one that is to be replaced; removed by the destructor unless it took that one's place.
class PartFile {
 public:
  PartFile(const Place& place) : place_(place) {}
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (!name_.empty()) ::unlinkat(place_.folder.get(), name_.c_str(), 0);
  }

  // False with errno. The mode is what the umask leaves, as for any new file.
  bool create() {
    do {
      std::uint64_t random = 0;
      if (::getrandom(&random, sizeof random, 0) != sizeof random) return false;
      name_ = str_cat(".", place_.name.substr(0, kKeptName), ".", absl::Hex(random, absl::kZeroPad16), ".part");
      file_ = UniqueFd(
          ::openat(place_.folder.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    } while (!file_ && errno == EEXIST);
    if (!file_) name_.clear();
    return static_cast<bool>(file_);
  }

  bool take_rights_of(const struct stat& old) {
    mode_t mode = old.st_mode & 07777;
    if (::fchown(file_.get(), old.st_uid, old.st_gid) != 0) mode &= 0777;  // another's rights are not ours to give
    return ::fchmod(file_.get(), mode) == 0;
  }

  bool replace() {
    if (!close_written(file_)) return false;
    if (::renameat(place_.folder.get(), name_.c_str(), place_.folder.get(), place_.name.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

  int fd() const { return file_.get(); }

 private:
  static constexpr std::size_t kKeptName = 200;  // bytes of a name of at most 255
  const Place& place_;
  std::string name_;
  UniqueFd file_;
};

absl::Status replace(const Place& place, const std::string& path, const std::vector<std::string_view>& parts) {
  if (place.info && ::faccessat(place.folder.get(), place.name.c_str(), W_OK, AT_EACCESS) != 0) {
    return failure(path, "cannot be written");
  }
  PartFile part(place);
  if (!part.create()) return failure(path, "cannot be written: no file can be made in its folder");
  HEARTH_RETURN_IF_ERROR(write_all(part.fd(), path, parts));
  if ((place.info && !part.take_rights_of(*place.info)) || !part.replace()) return failure(path, "cannot be written");
  return absl::OkStatus();
}

// Why `path` cannot be opened, by errno.
absl::Status cannot_open(const std::string& path) {
  const bool is_url = errno == ENOENT && path.find("://") != std::string::npos && path.find("://") != 0;
  if (is_url) return absl::NotFoundError(str_cat(path, ": URLs are not loaded; download it and name the file"));
  return failure(path, "cannot open");
}

}  // namespace

absl::StatusOr<std::string> read_file(const std::string& path) {
  // Non-blocking: a pipe nobody writes to must not hang the caller before it is refused.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return cannot_open(path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return failure(path, "cannot be read");
  if (S_ISDIR(info.st_mode)) return is_a_folder(path);
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(str_cat(path, ": is not a regular file"));
  std::string content;
  if (absl::Status read = read_up_to(file.get(), static_cast<std::size_t>(info.st_size), path, &content); !read.ok()) {
    return read;
  }
  return content;
}

bool is_stream(const std::string& path) {
  struct stat info{};
  return path == "-" || (::stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)));
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

absl::StatusOr<std::string> read_input(const std::string& path, std::chrono::milliseconds patience) {
  if (path == "-") return read_to_end(STDIN_FILENO, input_name(path));
  if (!is_stream(path)) return read_file(path);
  HEARTH_ASSIGN_OR_RETURN(const Place place, find_place(path));
  if (const std::optional<int> own = own_descriptor(place)) return read_to_end(*own, path);
  const UniqueFd pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!pipe) return cannot_open(path);
  return read_pipe(pipe.get(), patience, path);
}

absl::Status write_file(const std::string& path, const std::vector<std::string_view>& parts) {
  HEARTH_ASSIGN_OR_RETURN(const Place place, find_place(path));
  if (place.info && S_ISDIR(place.info->st_mode)) return is_a_folder(path);
  const bool is_replaced = !place.info || S_ISREG(place.info->st_mode);
  return is_replaced ? replace(place, path, parts) : write_through(place, path, parts);
}

}  // namespace hearth::runtime
