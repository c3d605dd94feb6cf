// What a server that stalls at one of its calls costs a Prepare, for a quiet machine; run by name:
//   remote_tier_test "[.figures]"
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <iostream>

#include "base/unique_fd.h"
#include "tests/unit/daemon/fleet_fixture.h"

namespace hearth::daemon {
namespace {

double milliseconds_of_prepare(DaemonFixture& node, const std::vector<std::string>& names) {
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(node.prepare(test_request(names)).status.ok());
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

const std::vector<std::string> kKnown = {"kernel:a", "kernel:b", "kernel:c"},
                               kNew = {"kernel:x", "kernel:y", "kernel:z"};

void print(const std::string& what, double known, double fresh) {
  std::cout << what << ": " << known << " ms of what the server has, " << fresh << " ms of what it has not"
            << std::endl;
}

}  // namespace

TEST_CASE("remote: figures of a server that stalls", "[.figures]") {
  Fleet fleet;
  {
    DaemonFixture alone;
    REQUIRE(test::eventually([&] { return alone.stats().workers_checked(); }));
    const double known = milliseconds_of_prepare(alone, kKnown), fresh = milliseconds_of_prepare(alone, kNew);
    print("no remote", known, fresh);
  }
  const auto writer = fleet.node(true);
  REQUIRE(writer->prepare(test_request(kKnown)).status.ok());
  fleet.wait_until_sent(*writer, 4);
  for (const bool writes : {false, true}) {
    for (const std::string call :
         {"", "GetCapabilities", "GetActionResult", "BatchReadBlobs", "BatchUpdateBlobs", "UpdateActionResult"}) {
      fleet.server->release();
      if (!call.empty()) fleet.server->hold(call);
      DaemonFixture node([&](Config& config) {
        fleet.join(config, writes);
        config.remote.call_limit = RemoteSettings().call_limit;
      });
      REQUIRE(test::eventually([&] { return node.stats().workers_checked(); }));
      const double known = milliseconds_of_prepare(node, kKnown), fresh = milliseconds_of_prepare(node, kNew);
      print((writes ? "a writer, " : "a reader, ") + (call.empty() ? "nothing stalls" : call + " stalls"), known,
            fresh);
      fleet.server->release();
    }
  }
  // A port that accepts and never answers.
  const std::string path = fleet.folder / "silent.sock";
  const UniqueFd silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(silent.get(), 16) == 0);
  DaemonFixture node([&](Config& config) {
    fleet.join(config, true);
    config.remote.addresses = {*parse_remote_address("unix:" + path)};
    config.remote.call_limit = RemoteSettings().call_limit;
  });
  REQUIRE(test::eventually([&] { return node.stats().workers_checked(); }));
  const double known = milliseconds_of_prepare(node, kKnown), fresh = milliseconds_of_prepare(node, kNew);
  print("a silent port", known, fresh);
}

}  // namespace hearth::daemon
