#include "client/cli/weights_text.h"

#include "base/text.h"
#include "client/cli/format.h"

namespace hearth::cli {

std::string weights_text(const v1::StatsResponse& stats) {
  return str_cat(stats.weight_blocks(), " shared, ", human_bytes(static_cast<double>(stats.weight_bytes())), " of ",
                 human_bytes(static_cast<double>(stats.weight_limit_bytes())), ", ", stats.weight_users(), " users, ",
                 stats.weights_found(), " found");
}

}  // namespace hearth::cli
