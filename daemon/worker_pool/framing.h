// Frames between hearthd and hearth-worker: a u32 little-endian length, then one protobuf message.
//
// The descriptor stays the caller's. Works on blocking and non-blocking sockets: where a call would block, `wait` is
// asked; it returns OK to try again or the status to give up with. One thread a direction.
// Errors: OUT_OF_RANGE: the peer closed between frames; UNAVAILABLE: it closed inside one or the socket failed;
// DATA_LOSS: a frame over the limit or bytes that are no message. Example:
//   absl::Status status = write_frame(fd, request, wait);
//   if (status.ok()) status = read_frame(fd, reply, kMaxFrameBytes, wait);
#pragma once
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace hearth::daemon {

// The largest message either side accepts.
inline constexpr std::uint32_t kMaxFrameBytes = 256u << 20;

// Waits for poll(2) `events` on `fd`.
using WaitFunction = absl::FunctionRef<absl::Status(int fd, short events)>;

// RESOURCE_EXHAUSTED (and nothing written) when the message exceeds kMaxFrameBytes.
absl::Status write_frame(int fd, const google::protobuf::MessageLite& message, WaitFunction wait);
absl::Status read_frame(int fd, google::protobuf::MessageLite& message, std::uint32_t max_bytes, WaitFunction wait);

// A WaitFunction that waits for ever.
absl::Status wait_for_ever(int fd, short events);

}  // namespace hearth::daemon
