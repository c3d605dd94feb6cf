// What is shown of a daemon's cache beyond its node. Pure functions; thread-safe.
//
//   print_facts({{"remote", remote_text(stats)}});
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hearth/v1/admin_service.pb.h"

namespace hearth::cli {

// One line; "none" where none is configured.
std::string remote_text(const v1::StatsResponse& stats);
// null where none is configured.
nlohmann::ordered_json remote_json(const v1::StatsResponse& stats);

}  // namespace hearth::cli
