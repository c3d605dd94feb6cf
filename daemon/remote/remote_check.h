// check_remote: tries what a node does with its remote cache, step by step, on connections of its own: what an operator
// asks for before a rollout. Blocks for at most a few calls' limits. Thread-safe.
//
//   for (const RemoteCheckStep& step : check_remote(settings)) print(step.address, step.name, step.status);
#pragma once
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/remote/remote_settings.h"

namespace hearth::daemon {

struct RemoteCheckStep {
  std::string address;  // empty: of the settings themselves
  std::string name;     // "keys", "connect", "look up", "send", "load"
  absl::Status status;
  std::string detail;  // what was found, where it is OK
  double seconds = 0;
};

// Where a writer key is set, a small entry of domain "hearth.check.v1" is sent and loaded.
std::vector<RemoteCheckStep> check_remote(const RemoteSettings& settings);

}  // namespace hearth::daemon
