#include "blobs/loader/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/blob_sha256.h"
#include "blobs/loader/hearth_blob.h"

namespace hearth::blob {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kLongestName = 240;  // of a memory file, which has 249 bytes for it

std::string errno_text() { return std::strerror(errno); }

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

int open_plain(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return fd;
  const int error = errno;
  if (error == ELOOP)
    throw BlobError(kPermissionDenied, path + " is a symbolic link; a compiled blob must be a plain file");
  throw BlobError(error == ENOENT ? kNotFound : kPermissionDenied, "cannot open " + path + ": " + std::strerror(error));
}

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

// Debuggers and profilers show this name.
std::string memory_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.size() > kLongestName) name.resize(kLongestName);
  return name;
}

}  // namespace

SealedFile::SealedFile(const std::string& path, const std::string& sha256_hex) {
  const Descriptor from{open_plain(path)};
  struct stat status{};
  if (fstat(from.fd, &status) != 0 || !S_ISREG(status.st_mode))
    throw BlobError(kPermissionDenied, path + " is not a plain file");
  check_owner(status, path);
  fd_ = memfd_create(memory_name(path).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) throw BlobError(kInternal, "no memory file for a copy of " + path + ": " + errno_text());
  try {
    copy(from.fd, path, sha256_hex);
  } catch (...) {
    release();
    throw;
  }
}

SealedFile::~SealedFile() { release(); }

void SealedFile::release() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  if (fd_ >= 0) close(fd_);
}

void SealedFile::copy(int from, const std::string& path, const std::string& sha256_hex) {
  BlobSha256 sha;
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw BlobError(kDataLoss, path + " cannot be read: " + errno_text());
    if (got == 0) break;
    sha.add(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = write(fd_, piece.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) throw BlobError(kInternal, "no memory for a copy of " + path + ": " + errno_text());
      done += put;
    }
    size_ += static_cast<std::size_t>(got);
  }
  const std::string found = sha.hex();
  if (found != sha256_hex)
    throw BlobError(kDataLoss, path + " is not what was compiled: its SHA-256 is " + found + " instead of " +
                                   sha256_hex + "; it is not loaded. Remove it, and it is compiled again");
  if (fcntl(fd_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw BlobError(kInternal, "the copy of " + path + " in memory cannot be sealed: " + errno_text());
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (data == MAP_FAILED) throw BlobError(kInternal, "the copy of " + path + " cannot be read: " + errno_text());
  data_ = static_cast<const char*>(data);
}

std::string SealedFile::loader_path() const {
  // "//" and "/./" name the same folder and stand for the bits of a counter.
  static std::atomic<std::uint64_t> counter{0};
  std::string path = "/proc/self";
  for (std::uint64_t bits = counter.fetch_add(1) + 1; bits != 0; bits >>= 1) path += bits & 1 ? "/." : "/";
  return path + "/fd/" + std::to_string(fd_);
}

}  // namespace hearth::blob
