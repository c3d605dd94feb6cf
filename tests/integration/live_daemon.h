// LiveDaemon: a hearthd of this test's own for in-process clients; ended by the destructor. Throws std::runtime_error
// when it does not start.
//
//   const LiveDaemon daemon;
//   auto plan = prepare({{"y", y}}, daemon.config());
#pragma once
#include <cstdlib>

#include "hearth/prepare.h"
#include "tests/integration/place.h"

namespace hearth::integration {

class LiveDaemon {
 public:
  LiveDaemon() { place_.run_ok({"hearth", "daemon", "start"}); }
  // With settings, e.g. {{"HEARTH_WORKERS", "1"}}.
  explicit LiveDaemon(const std::map<std::string, std::string>& environment) {
    for (const auto& [name, value] : environment) place_.environment()[name] = value;
    place_.run_ok({"hearth", "daemon", "start"});
  }
  ~LiveDaemon() { place_.stop_daemon(); }

  // For it and one thread; nothing else is started.
  // Of the device that HEARTH_TEST_DEVICE names, else the CPU.
  client::PrepareConfig config() const {
    client::PrepareConfig config{.socket = place_.socket(), .threads = 1, .auto_start = false};
    if (const char* const device = std::getenv("HEARTH_TEST_DEVICE")) config.device = device;
    return config;
  }
  std::string socket() const { return place_.socket(); }
  Place& place() { return place_; }

 private:
  Place place_;
};

}  // namespace hearth::integration
