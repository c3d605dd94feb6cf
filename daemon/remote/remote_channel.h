// RemoteChannel: the connection to one remote cache, with who this node is: certificates, a token, and what tool calls.
// Files are read when first needed, and again when they change, so that renewed certificates and tokens need no
// restart. Thread-safe. Errors: FAILED_PRECONDITION, which names setting, file and remedy; nothing was sent.
//
//   absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = remote.channel();
//   if (absl::Status status = remote.introduce(context, action_id); !status.ok()) …
#pragma once
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_stamp.h"
#include "daemon/remote/remote_settings.h"

namespace hearth::daemon {

// The most bytes of one message, gRPC's own default, which servers have too.
inline constexpr int kMaxRemoteMessageBytes = 4 << 20;

class RemoteChannel {
 public:
  RemoteChannel(RemoteAddress address, const RemoteSettings& settings);

  const RemoteAddress& address() const { return address_; }
  // A connection is made by the first call on it, which waits for it within its deadline.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel();
  // What a call says beside its request. `action_id`: hexadecimal, for the server's logs.
  absl::Status introduce(grpc::ClientContext& context, const std::string& action_id);

 private:
  struct File {
    std::string path;
    std::optional<files::FileStamp> stamp;
  };

  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials();
  absl::StatusOr<std::string> token();  // mutex_ is held

  const RemoteAddress address_;
  const RemoteSettings settings_;
  const std::string invocation_id_;
  std::mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_;
  std::vector<File> files_;  // that channel_ was made of
  File token_file_;
  std::string token_;
};

}  // namespace hearth::daemon
