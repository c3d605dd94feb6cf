#include "daemon/weights/file_comparison.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace hearth::daemon {
namespace {

// Small enough that both stay in a core's cache between reading and comparing.
constexpr std::size_t kBufferBytes = 128 << 10;

bool read_all(int file, std::uint64_t offset, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::pread(file, to, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    offset += static_cast<std::uint64_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

FileComparison::Verdict FileComparison::advance() {
  std::vector<char> first(kBufferBytes), second(kBufferBytes);
  const std::uint64_t end = std::min(size_bytes_, done_bytes_ + kPieceBytes);
  while (done_bytes_ < end) {
    const std::size_t size = std::min<std::uint64_t>(kBufferBytes, end - done_bytes_);
    if (!read_all(first_.get(), done_bytes_, first.data(), size)) return kDifferent;
    if (!read_all(second_.get(), done_bytes_, second.data(), size)) return kDifferent;
    if (std::memcmp(first.data(), second.data(), size) != 0) return kDifferent;
    done_bytes_ += size;
  }
  return done_bytes_ == size_bytes_ ? kEqual : kUnknown;
}

}  // namespace hearth::daemon
