// Messages of calls as bytes: requests are measured before they are parsed, answers are charged while they are written.
// Stateless. Errors: INVALID_ARGUMENT for what cannot be read, RESOURCE_EXHAUSTED for what is too much, each with its
// remedy. Example:
//   absl::StatusOr<std::uint64_t> cost = request_cost<v1::PrepareRequest>(bytes, limit);
//   absl::Status read = from_byte_buffer(bytes, request);   // `bytes` are empty afterwards
#pragma once
#include <absl/status/statusor.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>

namespace hearth::daemon {

// For requests that hold no graph and no source.
inline constexpr std::size_t kSmallRequestBytes = 64u << 10;

grpc::ByteBuffer to_byte_buffer(const google::protobuf::Message& message);
// Parses one message; `bytes` are given up.
absl::Status from_byte_buffer(grpc::ByteBuffer& bytes, google::protobuf::Message& message);
// The same of a small request: refused unread beyond `limit`.
absl::Status read_small_request(grpc::ByteBuffer& bytes, google::protobuf::Message& message,
                                std::size_t limit = kSmallRequestBytes);

// Requests of at most so many bytes are not measured: none of ours takes more than kMaxPerByte a byte.
inline constexpr std::size_t kUnmeasuredBytes = 4u << 10, kMaxPerByte = 128;

// What the request would take in memory, or more than that; RESOURCE_EXHAUSTED naming the field that takes most when
// that is over `limit`.
absl::StatusOr<std::uint64_t> request_cost(grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                                           std::uint64_t limit);

// An answer that never has room.
grpc::Status too_large(std::uint64_t bytes, std::uint64_t limit);

}  // namespace hearth::daemon
