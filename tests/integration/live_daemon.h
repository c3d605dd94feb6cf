// LiveDaemon: a hearthd of this test's own for in-process clients, ready when the constructor returns and ended by the
// destructor. Throws std::runtime_error when it does not come up.
//
//   const LiveDaemon daemon;
//   auto plan = prepare({{"y", y}}, {.socket = daemon.socket()});
#pragma once
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/integration/place.h"

namespace hearth::integration {

class LiveDaemon {
 public:
  LiveDaemon() : process_(place_.start({"hearthd"})) {
    for (int i = 0; i < 1000; ++i) {
      if (place_.run({"hearth", "stats", "--json"}).code == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("hearthd does not answer on " + place_.socket());
  }
  ~LiveDaemon() { place_.stop_daemon(); }

  std::string socket() const { return place_.socket(); }
  Place& place() { return place_; }

 private:
  Place place_;
  Process process_;
};

}  // namespace hearth::integration
