#include "runtime/blob_loader/loaded_blob.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/blob_loader/blob_codes.h"
#include "runtime/blob_loader/elf_exports.h"
#include "runtime/blob_loader/hearth_blob.h"

namespace hearth::blob {
namespace {

constexpr int kAttempts = 3;

// A file that is open and mapped for reading, for as long as this lives.
class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) {
      const int error = errno;
      if (error == ELOOP)
        throw BlobError(kPermissionDenied, path + " is a symbolic link; a compiled blob must be a plain file");
      throw BlobError(error == ENOENT ? kNotFound : kPermissionDenied,
                      "cannot open " + path + ": " + std::strerror(error));
    }
    if (fstat(fd_, &stat_) != 0 || !S_ISREG(stat_.st_mode)) {
      close(fd_);
      throw BlobError(kPermissionDenied, path + " is not a plain file");
    }
    if (stat_.st_size > 0) {
      void* data = mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, fd_, 0);
      if (data != MAP_FAILED) data_ = static_cast<const char*>(data);
    }
  }
  ~File() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size());
    close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string_view bytes() const { return data_ ? std::string_view(data_, size()) : std::string_view(); }
  const struct stat& status() const { return stat_; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(stat_.st_size); }

  int fd_;
  struct stat stat_{};
  const char* data_ = nullptr;
};

void check_owner(const struct stat& status, const std::string& path) {
  if (status.st_uid != geteuid() && status.st_uid != 0)
    throw BlobError(kPermissionDenied, path + " belongs to user " + std::to_string(status.st_uid) + ", not to user " +
                                           std::to_string(geteuid()) + " or root, and is not loaded; set " +
                                           "CK_JIT_CACHE_DIR to a folder of your own");
  // A user's own group is as good as the user: with umask 002 linkers write such files.
  const bool own_group = status.st_uid == geteuid() && status.st_gid == getegid();
  if ((status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !own_group))
    throw BlobError(kPermissionDenied,
                    path + " can be written by other users and is not loaded; remove it or `chmod " + "go-w` it");
}

}  // namespace

std::vector<void*> load_blob(const std::string& path, const std::vector<std::string>& prefixes) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const File file(path);
    check_owner(file.status(), path);
    const std::vector<std::string> names = find_exports(file.bytes(), path, prefixes);
    // By its path, so that debuggers and profilers name it, and with no descriptor to be kept: the loader knows an
    // object again by its name.
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      throw BlobError(kFailedPrecondition, "the loader refuses " + path + ": " + (why ? why : "no reason given"));
    }
    // Another process may have put a newer file there in between: look at that one then.
    struct stat now{};
    const bool same =
        lstat(path.c_str(), &now) == 0 && now.st_dev == file.status().st_dev && now.st_ino == file.status().st_ino;
    if (!same) {
      dlclose(handle);
      continue;
    }
    std::vector<void*> functions;
    for (const std::string& name : names) {
      functions.push_back(dlsym(handle, name.c_str()));
      if (functions.back() == nullptr) throw BlobError(kDataLoss, "the loader does not find " + name + " in " + path);
    }
    return functions;
  }
  throw BlobError(kUnavailable, path + " was replaced again and again while it was loaded");
}

}  // namespace hearth::blob
