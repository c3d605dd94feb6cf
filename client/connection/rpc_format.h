// What gRPC adds to HTTP/2 (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md): messages with a length in
// front, the deadline's and the status's headers. Value types, no input or output; one thread at a time.
//
//   append_rpc_message(request.SerializeAsString(), &bytes);
//   absl::Status added = messages.add(chunk, limit);
//   std::string message; while (messages.take(&message)) …
#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hearth::client {

// Five bytes (not compressed, big-endian length), then the message.
void append_rpc_message(std::string_view message, std::string* bytes);

// A value of grpc-timeout, rounded up: at most eight digits and a unit.
std::string rpc_timeout(std::chrono::nanoseconds left);

// Messages out of the chunks that arrive.
class RpcMessages {
 public:
  // INTERNAL for a compressed message, which nobody asked for; RESOURCE_EXHAUSTED beyond `max_bytes`.
  absl::Status add(std::string_view chunk, std::size_t max_bytes);
  bool has_message() const { return !whole_.empty(); }
  bool take(std::string* message);
  bool is_between_messages() const { return head_.empty(); }

 private:
  std::string head_;  // of the message that is arriving, up to five bytes
  std::size_t wanted_ = 0;
  std::string body_;
  std::deque<std::string> whole_;
};

// The answer's headers and trailers.
class RpcTrailers {
 public:
  void add(std::string_view name, std::string_view value);
  // INTERNAL or UNAVAILABLE when the peer is no gRPC server or sent no status.
  absl::Status status() const;

 private:
  int http_status_ = 0;
  std::optional<int> code_;
  std::string message_;
};

}  // namespace hearth::client
