#include "daemon/serve/connected_clients.h"

#include <absl/strings/numbers.h>
#include <absl/strings/strip.h>
#include <grpcpp/grpcpp.h>

namespace hearth::daemon {

void ConnectedClients::add(int fd, const ClientId& client) {
  std::lock_guard lock(mutex_);
  by_fd_[fd] = client;
}

ClientId ConnectedClients::of(const grpc::CallbackServerContext& context) const { return named(context.peer()); }

ClientId ConnectedClients::named(const std::string& peer) const {
  absl::string_view number = peer;
  int fd = -1;
  if (!absl::ConsumePrefix(&number, "fd:") || !absl::SimpleAtoi(number, &fd)) return {};
  std::lock_guard lock(mutex_);
  const auto found = by_fd_.find(fd);
  return found == by_fd_.end() ? ClientId{} : found->second;
}

}  // namespace hearth::daemon
