// RaceLog: what invocations of a launch did to each element, and whether two of them could have come in another order.
//
// A barrier orders what the invocations of one workgroup do in shared memory. Nothing orders what they do in buffers, nor
// what workgroups do: there an element belongs to who stores it. Errors: FAILED_PRECONDITION naming the element, both
// accesses and both invocations, for a race and for shared memory that is read before anybody has written it.
// Not thread-safe.
//
//   RaceLog log;
//   log.enter(/*workgroup=*/0, /*invocation=*/3);   // whose accesses come now
//   KernelMemory memory(run, &log);
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "compiler/codegen/reference/kernel_memory.h"

namespace hearth::codegen::reference {

class RaceLog : public AccessObserver {
 public:
  void enter(std::int64_t workgroup, std::int64_t invocation) { now_ = {workgroup, invocation}; }
  // All invocations of the workgroup have come to a barrier.
  void pass_barrier() { ++epoch_; }
  // Another workgroup begins, with memory of its own.
  void begin_workgroup();
  absl::Status touch(const TouchedElement& element) override;

 private:
  struct Who {
    std::int64_t workgroup = 0, invocation = 0;
    bool operator==(const Who&) const = default;
  };
  struct Access {
    Who who;
    std::uint64_t epoch = 0;
    ir::UOpRef where = nullptr;
    bool is_store = false;
  };
  struct Element {
    std::vector<Access> accesses;  // of shared memory: of this epoch; the last store and the loads of a buffer
    bool is_written = false;
  };

  absl::Status race(const TouchedElement& element, const Access& before, const Access& now) const;

  std::unordered_map<const std::uint8_t*, Element> shared_, buffers_;
  Who now_;
  std::uint64_t epoch_ = 0;
};

}  // namespace hearth::codegen::reference
