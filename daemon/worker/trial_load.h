// Loads a CPU artifact once, in the worker, before anybody gets it: a kernel that does not link or lacks its symbol
// must fail here, not in an inference process. Nothing of it stays loaded. Errors: INTERNAL with the loader's reason.
//   if (is_loadable_here(target, artifact)) status = trial_load(artifact.data(), spec.symbol());
#pragma once
#include <absl/status/status.h>

#include <string>
#include <string_view>

#include "hearth/v1/artifact.pb.h"

namespace hearth::daemon {

// True for a shared library whose target's architecture is this process's.
bool is_loadable_here(const v1::Target& target, const v1::Artifact& artifact);

absl::Status trial_load(std::string_view shared_library, const std::string& symbol);

}  // namespace hearth::daemon
