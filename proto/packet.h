// Packets on a connected SOCK_SEQPACKET unix socket: a few bytes and at most one descriptor. Nothing waits: who wants
// to wait polls. Descriptors that are not taken are closed. Stateless; thread-safe for different sockets. Errors:
// UNAVAILABLE when there is no packet, or no room for one; OUT_OF_RANGE when the peer has closed the socket;
// INVALID_ARGUMENT for a packet that is too large or comes with several descriptors.
//
//   absl::Status sent = send_packet(socket, request.SerializeAsString());
//   absl::StatusOr<Packet> answer = receive_packet(socket);
#pragma once
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace hearth {

inline constexpr std::size_t kMaxPacketBytes = 64 << 10;
inline constexpr std::size_t kMaxPacketFiles = 64;

struct Packet {
  std::string bytes;
  UniqueFd file;  // closed on exec
};

absl::Status send_packet(int socket, std::string_view bytes, int file = -1);
absl::StatusOr<Packet> receive_packet(int socket);

// The same with up to kMaxPacketFiles descriptors.
struct PacketOfFiles {
  std::string bytes;
  std::vector<UniqueFd> files;  // closed on exec
};
absl::Status send_packet_of_files(int socket, std::string_view bytes, std::span<const int> files);
absl::StatusOr<PacketOfFiles> receive_packet_of_files(int socket);

}  // namespace hearth
