// How the daemon's workers are confined, in one line for people and in JSON. Pure functions. Example:
//   best-effort: 9 of 10 layers; without cgroup
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hearth/v1/admin_service.pb.h"

namespace hearth::cli {

std::string sandbox_text(const v1::StatsResponse& stats);
nlohmann::ordered_json sandbox_json(const v1::StatsResponse& stats);

}  // namespace hearth::cli
