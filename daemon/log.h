// hearthd's log: to stderr, or to a file that is rotated. Every record is one line whatever it tells of: names, paths
// and messages from outside are escaped by the formatter, so that no call has to think of it. Errors: INVALID_ARGUMENT.
//
//   if (absl::Status status = start_log(config); !status.ok()) return complain(status);
#pragma once
#include <absl/status/status.h>

#include "daemon/config.h"

namespace hearth::daemon {

// Makes spdlog's default logger. Before threads start.
absl::Status start_log(const Config& config);

}  // namespace hearth::daemon
