#include "daemon/remote/remote_server.h"

#include <spdlog/spdlog.h>

#include "base/text.h"

namespace hearth::daemon {
namespace {

bool is_answer(const absl::Status& status) { return status.ok() || absl::IsNotFound(status); }

CircuitBreaker::Failure failure_of(const absl::Status& status) {
  const bool is_of_identity = absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status) ||
                              absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
  return is_of_identity ? CircuitBreaker::Failure::kIdentity : CircuitBreaker::Failure::kTransient;
}

// What an operator does about it.
const char* remedy_of(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
      return "; renew what remote_token_file holds, or the certificate";
    case absl::StatusCode::kPermissionDenied:
      return "; the server does not allow this node: see its rules";
    case absl::StatusCode::kInvalidArgument:
      return "; does the server have this remote_instance?";
    case absl::StatusCode::kUnimplemented:
      return "; is that a Remote Execution API v2 cache?";
    case absl::StatusCode::kUnavailable:
      return "; is it running, and are remote_ca, remote_certificate and remote_key those that it wants?";
    default:
      return "";
  }
}

}  // namespace

RemoteServer::RemoteServer(RemoteAddress address, const RemoteSettings& settings, const Clock& clock,
                           std::uint64_t seed)
    : breaker_(clock, seed), endpoint_(std::move(address), settings) {}

void RemoteServer::probe_if_due() {
  if (breaker_.begins_probe()) ask();
}

void RemoteServer::ask() {
  endpoint_.get_capabilities([this](const absl::StatusOr<ServerAbilities>& abilities) {
    if (abilities.ok()) {
      const std::lock_guard lock(mutex_);
      abilities_ = *abilities;
    }
    note(abilities.status());
  });
}

void RemoteServer::note(const absl::Status& status) {
  if (absl::IsCancelled(status)) return;
  const bool was_asked = is_asked();
  const bool is_well = is_answer(status);
  is_well ? breaker_.succeeded() : breaker_.failed(failure_of(status));
  const bool is_asked_now = is_asked();
  absl::Status now;
  if (!is_well) now = absl::Status(status.code(), str_cat(status.message(), remedy_of(status)));
  {
    const std::lock_guard lock(mutex_);
    problem_ = now;
  }
  // One line for each time that it stops being asked: a call that fails is counted.
  if (was_asked && !is_asked_now) {
    spdlog::warn("the remote cache is not asked for now: {}", std::string(now.message()));
  } else if (!was_asked && is_asked_now) {
    spdlog::info("the remote cache {} answers", address().text);
  }
}

ServerAbilities RemoteServer::abilities() const {
  const std::lock_guard lock(mutex_);
  return abilities_;
}

void RemoteServer::stop_sending() {
  const std::lock_guard lock(mutex_);
  abilities_.takes_results = false;
}

absl::Status RemoteServer::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace hearth::daemon
