// LiveDaemon: a hearthd of this test's own for in-process clients; ended by the destructor. Throws std::runtime_error
// when it does not start.
//
//   const LiveDaemon daemon;
//   auto plan = prepare({{"y", y}}, {.socket = daemon.socket()});
#pragma once
#include "tests/integration/place.h"

namespace hearth::integration {

class LiveDaemon {
 public:
  LiveDaemon() { place_.run_ok({"hearth", "daemon", "start"}); }
  ~LiveDaemon() { place_.stop_daemon(); }

  std::string socket() const { return place_.socket(); }
  Place& place() { return place_; }

 private:
  Place place_;
};

}  // namespace hearth::integration
