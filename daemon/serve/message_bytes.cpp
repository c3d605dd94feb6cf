#include "daemon/serve/message_bytes.h"

#include <absl/strings/str_cat.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "daemon/serve/wire_cost.h"

namespace hearth::daemon {
namespace {

constexpr char kRemedy[] = ", the daemon's setting rpc_memory";

}  // namespace

grpc::ByteBuffer to_byte_buffer(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes, &own);
  return bytes;
}

absl::Status from_byte_buffer(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  const grpc::Status read =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(&bytes, &message);
  bytes.Clear();
  if (read.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the request cannot be read: it is no ", message.GetTypeName()));
}

absl::Status read_small_request(grpc::ByteBuffer& bytes, google::protobuf::Message& message, std::size_t limit) {
  if (bytes.Length() <= limit) return from_byte_buffer(bytes, message);
  const std::size_t size = bytes.Length();
  bytes.Clear();
  return absl::InvalidArgumentError(
      absl::StrCat("a ", message.GetTypeName(), " of ", size, " bytes exceeds the limit of ", limit));
}

absl::StatusOr<std::uint64_t> request_cost(grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                                           std::uint64_t limit) {
  if (bytes.Length() <= kUnmeasuredBytes) return std::min<std::uint64_t>(limit, kMaxPerByte * bytes.Length());
  grpc::Slice whole;
  if (!bytes.TrySingleSlice(&whole).ok() && !bytes.DumpToSingleSlice(&whole).ok())
    return absl::InvalidArgumentError("the request cannot be read: it is compressed wrongly");
  HEARTH_ASSIGN_OR_RETURN(const WireCost cost,
                          wire_cost({reinterpret_cast<const char*>(whole.begin()), whole.size()}, type));
  if (cost.bytes <= limit) return cost.bytes;
  return absl::ResourceExhaustedError(absl::StrCat("the request would take ", cost.bytes, " bytes of memory, with ",
                                                   cost.most_values, " of ", cost.most, ": that exceeds the limit of ",
                                                   limit, kRemedy));
}

grpc::Status too_large(std::uint64_t bytes, std::uint64_t limit) {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          absl::StrCat("the answer has ", bytes, " bytes: that exceeds the limit of ", limit, kRemedy)};
}

}  // namespace hearth::daemon
