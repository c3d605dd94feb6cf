#include "proto/packet.h"

#include <absl/strings/str_cat.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace hearth {
namespace {

std::vector<UniqueFd> descriptors_of(msghdr& header) {
  std::vector<UniqueFd> found;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      found.emplace_back(fd);
    }
  }
  return found;
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

absl::Status send_packet(int socket, std::string_view bytes, int file) {
  return send_packet_of_files(socket, bytes, std::span(&file, file >= 0 ? 1 : 0));
}

absl::Status send_packet_of_files(int socket, std::string_view bytes, std::span<const int> files) {
  if (bytes.size() > kMaxPacketBytes || files.size() > kMaxPacketFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat("a packet of ", bytes.size(), " bytes and ", files.size(), " files is too large"));
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketFiles)] = {};
  if (!files.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
  }
  if (::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return absl::OkStatus();
  if (is_for_later(errno)) return absl::UnavailableError("the peer does not read");
  return absl::OutOfRangeError(std::strerror(errno));
}

absl::StatusOr<PacketOfFiles> receive_packet_of_files(int socket) {
  PacketOfFiles packet;
  packet.bytes.resize(kMaxPacketBytes);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketFiles)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t received = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0 && is_for_later(errno)) return absl::UnavailableError("no packet is there");
  if (received < 0) return absl::OutOfRangeError(std::strerror(errno));
  packet.files = descriptors_of(header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return absl::InvalidArgumentError("a packet is too large or comes with too many files");
  if (received == 0) return absl::OutOfRangeError("the peer has closed the connection");
  packet.bytes.resize(static_cast<std::size_t>(received));
  return packet;
}

absl::StatusOr<Packet> receive_packet(int socket) {
  HEARTH_ASSIGN_OR_RETURN(PacketOfFiles packet, receive_packet_of_files(socket));
  if (packet.files.size() > 1) {
    return absl::InvalidArgumentError("a packet is too large or comes with several files");
  }
  return Packet{std::move(packet.bytes), packet.files.empty() ? UniqueFd() : std::move(packet.files[0])};
}

}  // namespace hearth
