// The file that HIP_STAND_IN_LOG names: one JSON object a line, appended with one write each, so that processes and
// threads may share it. Without the variable nothing is written. A file that cannot be written is said once on stderr.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace hip_stand_in {

void log_event(const nlohmann::json& event);

}  // namespace hip_stand_in
