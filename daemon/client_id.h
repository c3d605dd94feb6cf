// ClientId: who asked for something, as the kernel tells of its connection: what queues take turns by and budgets are
// shared by. A service that users share goes by user: process 0. So are processes that the kernel cannot name here
// (another pid namespace).
#pragma once
#include <sys/types.h>

#include <compare>
#include <string>

namespace hearth::daemon {

struct ClientId {
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
  auto operator<=>(const ClientId&) const = default;
};

// For errors: "process 4711" and, of what has a limit each, "process".
inline const char* kind_of(const ClientId& client) { return client.pid > 0 ? "process" : "user"; }
inline std::string name_of(const ClientId& client) {
  return std::string(kind_of(client)) + ' ' +
         std::to_string(client.pid > 0 ? client.pid : static_cast<long>(client.uid));
}

}  // namespace hearth::daemon
