#include "daemon/sockets/connection_table.h"

#include <sys/socket.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace hearth::daemon {
namespace {

// A table, and connections of processes and users as a test wants them.
class Connections {
 public:
  explicit Connections(ConnectionLimits limits) : table_(limits) {}

  ConnectionTable& table() { return table_; }
  bool connect_as(pid_t pid, uid_t uid = 1000) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pairs_.emplace_back(UniqueFd(ends[0]), UniqueFd(ends[1]));
    return table_.admit(ends[0], {.pid = pid, .uid = uid});
  }
  // Of those from `first` to before `end`, in the order of connect_as().
  std::ptrdiff_t num_closed(std::size_t first, std::size_t end) const {
    const auto at = [this](std::size_t i) { return pairs_.begin() + static_cast<std::ptrdiff_t>(i); };
    return std::count_if(at(first), at(end), [](const auto& pair) {
      char byte;
      return ::recv(pair.second.get(), &byte, 1, MSG_DONTWAIT) == 0;
    });
  }
  void close_all() {
    pairs_.clear();
    table_.forget_closed();
  }

 private:
  ConnectionTable table_;
  std::vector<std::pair<UniqueFd, UniqueFd>> pairs_;  // the daemon's end, the client's
};

TEST_CASE("connections: when all are taken, the process with the most gives one to who has few") {
  Connections connections({.total = 6, .per_process = 5});
  std::vector<int> gone;
  connections.table().set_on_gone([&gone](const ClientId& client) { gone.push_back(client.pid); });
  for (int i = 0; i < 5; ++i) REQUIRE(connections.connect_as(1));
  CHECK_FALSE(connections.connect_as(1));  // of one process
  CHECK(connections.connect_as(2));
  CHECK(connections.connect_as(3));  // in place of one of the first process's
  CHECK(connections.table().size() == 6);
  CHECK(connections.num_closed(0, 5) == 1);
  CHECK_FALSE(connections.connect_as(1));  // it would take one from itself
  CHECK(connections.connect_as(2));
  CHECK(connections.connect_as(3));
  CHECK_FALSE(connections.connect_as(2));  // two each: nobody has at least two more
  CHECK(connections.table().num_refused() >= 3);
  CHECK(gone.empty());
  connections.close_all();
  std::sort(gone.begin(), gone.end());
  CHECK(gone == std::vector<int>{1, 2, 3});
  CHECK(connections.table().size() == 0);
}

TEST_CASE("connections: a user who starts a process for each does not keep other users out") {
  Connections connections({.total = 8, .per_process = 4});
  for (int i = 0; i < 8; ++i) REQUIRE(connections.connect_as(100 + i, 1001));
  CHECK_FALSE(connections.connect_as(200, 1001));  // of the same user: one each
  for (int i = 0; i < 4; ++i) CHECK(connections.connect_as(300, 1002));
  CHECK(connections.num_closed(0, 8) == 4);
  CHECK(connections.connect_as(301, 1002));  // four of each user: in place of one of its own
  CHECK(connections.num_closed(0, 8) == 4);
  CHECK(connections.connect_as(400, 1003));  // a third one finds a place, too
  CHECK(connections.table().size() == 8);
}

}  // namespace
}  // namespace hearth::daemon
