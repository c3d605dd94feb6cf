// A compiler service of a few lines for tests of the client: answers every Prepare with one plan and serves its
// artifacts. Thread-safe. The server stops with the object.
//
//   FakeService service(socket, saxpy_plan(100, false));
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::testing {

class FakeService {
 public:
  FakeService(const std::string& socket, SaxpyPlan plan);
  ~FakeService();

  struct Behaviour {
    std::atomic<bool> send_paths{true};
    std::atomic<bool> damage_paths{false};  // paths lead to files that do not exist
    std::atomic<bool> lose_bytes{false};    // FetchArtifact: NOT_FOUND
    std::atomic<int> unavailable{0};        // so many Prepares end UNAVAILABLE first
    // So many Prepares are CANCELLED, as gRPC does when a daemon ends: before the first event, after progress, or after
    // the result.
    std::atomic<int> cancelled{0};
    enum class Point { kBeforeEvents, kAfterProgress, kAfterResult };
    std::atomic<Point> cancelled_at{Point::kBeforeEvents};
    std::atomic<std::size_t> padding{0};   // of the plan's key, in bytes
    std::atomic<bool> out_of_time{false};  // Prepares end DEADLINE_EXCEEDED, 5 ms before the caller's clock says so
    std::atomic<int> prepares{0};
    std::atomic<int> fetches{0};
    std::atomic<int> sessions{0};
    std::atomic<std::uint64_t> last_session{0};
    std::atomic<int> released{0};
  };
  Behaviour& behaviour();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::testing
