// Counts heap allocations of this process while switched on: operator new always, malloc and its kin too unless a
// sanitizer owns them. Thread-safe.
//
//   AllocationCounter counter; work(); REQUIRE(counter.count() == 0);
#pragma once
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEARTH_TEST_SANITIZED 1
#else
#define HEARTH_TEST_SANITIZED 0
#endif

namespace hearth::testing {

class AllocationCounter {
 public:
  AllocationCounter();
  std::uint64_t count() const;

 private:
  std::uint64_t before_;
};

}  // namespace hearth::testing
