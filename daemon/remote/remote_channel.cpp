#include "daemon/remote/remote_channel.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "daemon/trusted_file.h"
#include "daemon/version.h"
#include "remote_execution/remote_execution.pb.h"

namespace hearth::daemon {
namespace {

constexpr char kMetadataName[] = "build.bazel.remote.execution.v2.requestmetadata-bin";
constexpr std::size_t kMaxTokenBytes = 16 << 10;
constexpr int kFirstReconnectMs = 100, kLastReconnectMs = 2000;
// Where Debian, Fedora and SUSE keep the authorities that a machine trusts.
constexpr const char* kSystemAuthorities[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                              "/etc/ssl/ca-bundle.pem"};

absl::StatusOr<std::string> read_setting(const char* setting, const std::string& path) {
  absl::StatusOr<std::string> text = runtime::read_file(path);
  if (text.ok()) return text;
  return absl::FailedPreconditionError(
      str_cat(setting, ": ", text.status().message(), "; give a file that hearthd can read"));
}

absl::StatusOr<std::string> read_secret(const char* setting, const std::string& path) {
  if (absl::Status status = check_private_file(setting, path); !status.ok())
    return absl::FailedPreconditionError(status.message());
  return read_setting(setting, path);
}

bool is_own_machine(const std::string& target) {
  return absl::StartsWith(target, "unix:") || absl::StartsWith(target, "dns:///localhost:") ||
         absl::StartsWith(target, "dns:///127.0.0.1:") || absl::StartsWith(target, "dns:///[::1]:");
}

std::string random_id() {
  std::array<char, 16> bytes{};
  (void)!::getrandom(bytes.data(), bytes.size(), 0);
  return to_hex(std::string_view(bytes.data(), bytes.size()));
}

}  // namespace

RemoteChannel::RemoteChannel(RemoteAddress address, const RemoteSettings& settings)
    : address_(std::move(address)), settings_(settings), invocation_id_(random_id()) {}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> RemoteChannel::credentials() {
  files_.clear();
  if (!address_.is_tls) return grpc::InsecureChannelCredentials();
  std::string authorities = settings_.ca_file;
  for (const char* path : kSystemAuthorities) {
    if (authorities.empty() && files::stamp_of_file(path)) authorities = path;
  }
  if (authorities.empty())
    return absl::FailedPreconditionError("remote_ca: this machine has no list of authorities; give a file of them");
  if (settings_.certificate_file.empty() != settings_.key_file.empty())
    return absl::FailedPreconditionError(
        "remote_certificate and remote_key: one of them alone is of no use; give both");
  grpc::SslCredentialsOptions options;
  // Stamps before contents: what changes in between is read again.
  for (const std::string& path : {authorities, settings_.certificate_file, settings_.key_file}) {
    if (!path.empty()) files_.push_back({path, files::stamp_of_file(path)});
  }
  HEARTH_ASSIGN_OR_RETURN(options.pem_root_certs, read_setting("remote_ca", authorities));
  if (!settings_.key_file.empty()) {
    HEARTH_ASSIGN_OR_RETURN(options.pem_cert_chain, read_setting("remote_certificate", settings_.certificate_file));
    HEARTH_ASSIGN_OR_RETURN(options.pem_private_key, read_secret("remote_key", settings_.key_file));
  }
  return grpc::SslCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> RemoteChannel::channel() {
  const std::lock_guard lock(mutex_);
  const auto is_same = [](const File& file) { return files::stamp_of_file(file.path) == file.stamp; };
  if (channel_ && std::ranges::all_of(files_, is_same)) return channel_;
  channel_.reset();
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<grpc::ChannelCredentials> credentials, this->credentials());
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxRemoteMessageBytes);
  arguments.SetUserAgentPrefix(str_cat("hearthd/", kVersion));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastReconnectMs);
  // A call that failed is not made again behind the breaker's back, nor sent where an environment's proxy says.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(address_.target, credentials, arguments);
  return channel_;
}

absl::StatusOr<std::string> RemoteChannel::token() {
  const std::optional<files::FileStamp> stamp = files::stamp_of_file(settings_.token_file);
  if (!token_.empty() && stamp && stamp == token_file_.stamp) return token_;
  token_.clear();
  HEARTH_ASSIGN_OR_RETURN(const std::string text, read_secret("remote_token_file", settings_.token_file));
  std::string token(absl::StripAsciiWhitespace(text));
  if (token.empty() || token.size() > kMaxTokenBytes ||
      !std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; })) {
    return absl::FailedPreconditionError(str_cat("remote_token_file: '", settings_.token_file,
                                                 "' holds no token: one word of at most 16 KiB is expected"));
  }
  token_file_.stamp = stamp;
  return token_ = std::move(token);
}

absl::Status RemoteChannel::introduce(grpc::ClientContext& context, const std::string& action_id) {
  build::bazel::remote::execution::v2::RequestMetadata metadata;
  metadata.mutable_tool_details()->set_tool_name("hearthd");
  metadata.mutable_tool_details()->set_tool_version(kVersion);
  metadata.set_action_id(action_id);
  metadata.set_tool_invocation_id(invocation_id_);
  context.AddMetadata(kMetadataName, metadata.SerializeAsString());
  if (settings_.token_file.empty()) return absl::OkStatus();
  if (!address_.is_tls && !is_own_machine(address_.target)) {
    return absl::FailedPreconditionError(
        str_cat("remote_token_file: a token is not sent to ", address_.text, " in the clear; use grpcs://"));
  }
  const std::lock_guard lock(mutex_);
  HEARTH_ASSIGN_OR_RETURN(const std::string token, this->token());
  context.AddMetadata("authorization", str_cat("Bearer ", token));
  return absl::OkStatus();
}

}  // namespace hearth::daemon
