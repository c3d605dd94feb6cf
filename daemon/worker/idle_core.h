// PinnedToIdleCore: while it lives, the calling thread runs on the allowed core that was the idlest a moment ago. Where
// the system does not tell or allow it, nothing happens.
//   const PinnedToIdleCore pinned;
#pragma once
#include <sched.h>

namespace hearth::daemon {

class PinnedToIdleCore {
 public:
  PinnedToIdleCore();
  ~PinnedToIdleCore();
  PinnedToIdleCore(const PinnedToIdleCore&) = delete;
  PinnedToIdleCore& operator=(const PinnedToIdleCore&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

}  // namespace hearth::daemon
