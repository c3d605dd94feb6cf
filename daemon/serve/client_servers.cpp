#include "daemon/serve/client_servers.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace hearth::daemon {

absl::StatusOr<std::unique_ptr<ClientServers::Server>> ClientServers::make() const {
  auto server = std::make_unique<Server>();
  server->services = factory_();
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<RpcServer> rpc, RpcServer::start(server->services->services(), limits_));
  server->rpc = std::move(rpc);
  return server;
}

absl::Status ClientServers::start() {
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<Server> server, make());
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(server));
  return absl::OkStatus();
}

absl::Status ClientServers::add_connection(int fd, const ClientId& client) {
  std::unique_lock lock(mutex_);
  if (!ended_ && of_client_.count(client) == 0) {
    if (idle_.empty()) {
      lock.unlock();  // it takes a moment
      absl::StatusOr<std::unique_ptr<Server>> made = make();
      lock.lock();
      if (!made.ok()) {
        ::close(fd);
        return made.status();
      }
      idle_.push_back(*std::move(made));
    }
    idle_.back()->rpc->set_serving(serving_);
    of_client_[client] = std::move(idle_.back());
    idle_.pop_back();
  }
  if (ended_) {
    ::close(fd);
    return absl::OkStatus();
  }
  of_client_[client]->rpc->add_connection(fd);
  return absl::OkStatus();
}

void ClientServers::forget(const ClientId& client) {
  std::lock_guard lock(mutex_);
  const auto found = of_client_.find(client);
  if (found == of_client_.end() || ended_) return;
  idle_.push_back(std::move(found->second));
  of_client_.erase(found);
}

void ClientServers::set_serving(bool serving) {
  std::lock_guard lock(mutex_);
  serving_ = serving;
  for (const auto& [client, server] : of_client_) server->rpc->set_serving(serving);
}

void ClientServers::shut_down(std::chrono::milliseconds patience) {
  std::map<ClientId, std::unique_ptr<Server>> servers;
  std::vector<std::unique_ptr<Server>> idle;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    servers.swap(of_client_);
    idle.swap(idle_);
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto left = [end] {
    return std::max(std::chrono::milliseconds(0),
                    std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()));
  };
  for (auto& [client, server] : servers) server->rpc->shut_down(left());
  for (auto& server : idle) server->rpc->shut_down(left());
}

}  // namespace hearth::daemon
