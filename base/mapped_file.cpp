#include "base/mapped_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "base/sha256_stream.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

// All that are mapped, by address. Never destroyed: a process may fork, and unmap, while it ends.
struct MappedFiles {
  std::mutex mutex;  // held over a fork, so that the child finds the map whole
  std::map<const char*, const MappedFile*> by_address;
};
MappedFiles& mapped_files() {
  static auto* const all = new MappedFiles;
  return *all;
}

[[maybe_unused]] const int watching_forks =
    (mapped_files(), pthread_atfork([] { mapped_files().mutex.lock(); }, [] { mapped_files().mutex.unlock(); },
                                    [] { mapped_files().mutex.unlock(); }));

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, str_cat(path, ": cannot open"));
  auto file = map(fd, path);
  ::close(fd);
  return file;
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::map(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(str_cat(path, ": not a regular file"));
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    return absl::ResourceExhaustedError(str_cat(path, ": cannot be mapped: ", std::strerror(errno)));
  std::shared_ptr<const MappedFile> file(new MappedFile(data, size, files::stamp_of(info)));
  if (data) {
    const std::lock_guard lock(mapped_files().mutex);
    mapped_files().by_address[file->bytes().data()] = file.get();
  }
  return file;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  {
    const std::lock_guard lock(mapped_files().mutex);
    mapped_files().by_address.erase(bytes().data());
  }
  ::munmap(data_, size_);
}

std::shared_ptr<const MappedFile> MappedFile::containing(std::string_view bytes) {
  const std::lock_guard lock(mapped_files().mutex);
  auto next = mapped_files().by_address.upper_bound(bytes.data());
  if (bytes.empty() || next == mapped_files().by_address.begin()) return nullptr;
  const MappedFile& before = *std::prev(next)->second;
  if (bytes.data() + bytes.size() > before.bytes().data() + before.size_) return nullptr;
  return before.weak_from_this().lock();  // null for one whose destructor waits for the lock
}

void MappedFile::release(std::string_view bytes) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

// The kernel reads on our behalf: where a page is gone it says EFAULT instead of raising a signal.
absl::Status copy_mapped(const void* from, std::size_t size, void* to) {
  constexpr std::size_t kMax = std::size_t{1} << 30;  // a call copies less than 2 GiB
  for (std::size_t done = 0; done < size;) {
    iovec target{static_cast<char*>(to) + done, std::min(size - done, kMax)};
    iovec source{const_cast<char*>(static_cast<const char*>(from)) + done, target.iov_len};
    const ssize_t copied = ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0);
    if (copied > 0) {
      done += static_cast<std::size_t>(copied);
    } else if (copied < 0 && errno == EFAULT) {
      return absl::DataLossError("the file became shorter while it was in use");
    } else {  // a sandbox without this call
      std::memcpy(static_cast<char*>(to) + done, static_cast<const char*>(from) + done, size - done);
      break;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Digest> sha256_mapped(std::string_view bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  std::string chunk(std::min(kChunk, bytes.size()), '\0');
  Sha256Stream stream;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kChunk, bytes.size()))) {
    const std::size_t size = std::min(kChunk, bytes.size());
    HEARTH_RETURN_IF_ERROR(copy_mapped(bytes.data(), size, chunk.data()));
    stream.update({chunk.data(), size});
  }
  return stream.digest();
}

}  // namespace hearth::runtime
