#include "daemon/worker_pool/framing.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/message_lite.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/status_macros.h"

namespace hearth::daemon {
namespace {

// Memory grows as bytes arrive, so a forged length alone reserves nothing.
constexpr std::size_t kReadStepBytes = 1u << 20;

absl::Status send_all(int fd, const char* data, std::size_t size, WaitFunction wait) {
  while (size > 0) {
    const ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      data += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      HEARTH_RETURN_IF_ERROR(wait(fd, POLLOUT));
    } else if (errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot write a frame: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

// Reads exactly `size` bytes; `*got` tells how many came when it fails.
absl::Status receive_all(int fd, char* data, std::size_t size, std::size_t* got, WaitFunction wait) {
  *got = 0;
  while (*got < size) {
    const ssize_t received = ::recv(fd, data + *got, size - *got, MSG_DONTWAIT);
    if (received > 0) {
      *got += static_cast<std::size_t>(received);
    } else if (received == 0) {
      return absl::UnavailableError("the peer closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      HEARTH_RETURN_IF_ERROR(wait(fd, POLLIN));
    } else if (errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot read a frame: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status wait_for_ever(int fd, short events) {
  pollfd entry{fd, events, 0};
  while (::poll(&entry, 1, -1) < 0) {
    if (errno != EINTR) return absl::UnavailableError(absl::StrCat("poll: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status write_frame(int fd, const google::protobuf::MessageLite& message, WaitFunction wait) {
  const std::size_t size = message.ByteSizeLong();
  if (size > kMaxFrameBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", size, " bytes exceeds the frame limit of ", kMaxFrameBytes));
  }
  std::string bytes(4, '\0');
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>((size >> (8 * i)) & 0xff);
  if (!message.AppendToString(&bytes)) return absl::InternalError("cannot serialize a message");
  return send_all(fd, bytes.data(), bytes.size(), wait);
}

absl::Status read_frame(int fd, google::protobuf::MessageLite& message, std::uint32_t max_bytes, WaitFunction wait) {
  unsigned char header[4];
  std::size_t got = 0;
  if (absl::Status status = receive_all(fd, reinterpret_cast<char*>(header), 4, &got, wait); !status.ok()) {
    if (absl::IsUnavailable(status) && got == 0) return absl::OutOfRangeError("the peer closed the connection");
    return status;
  }
  const std::uint32_t size = header[0] | header[1] << 8 | header[2] << 16 | static_cast<std::uint32_t>(header[3]) << 24;
  if (size > max_bytes) {
    return absl::DataLossError(absl::StrCat("a frame of ", size, " bytes exceeds the limit of ", max_bytes));
  }
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t begin = bytes.size();
    const std::size_t step = std::min<std::size_t>(kReadStepBytes, size - begin);
    bytes.resize(begin + step);
    HEARTH_RETURN_IF_ERROR(receive_all(fd, bytes.data() + begin, step, &got, wait));
  }
  if (!message.ParseFromString(bytes)) return absl::DataLossError("a frame does not hold the expected message");
  return absl::OkStatus();
}

}  // namespace hearth::daemon
