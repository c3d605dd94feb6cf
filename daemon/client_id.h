// ClientId: who asked for something, as the kernel tells of its connection: what queues take turns by and budgets are
// shared by. Processes that the kernel cannot name here (another pid namespace) are process 0 of their user.
#pragma once
#include <sys/types.h>

#include <compare>

namespace hearth::daemon {

struct ClientId {
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
  auto operator<=>(const ClientId&) const = default;
};

}  // namespace hearth::daemon
