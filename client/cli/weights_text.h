// What the daemon keeps of weights that processes share, in a few words, for `stats` and `daemon status`.
//
//   print_facts({{"weights", weights_text(stats)}});   // 1 shared, 483.8 MiB of 11.8 GiB, 8 users, 7 found
#pragma once
#include <string>

#include "hearth/v1/admin_service.pb.h"

namespace hearth::cli {

std::string weights_text(const v1::StatsResponse& stats);

}  // namespace hearth::cli
