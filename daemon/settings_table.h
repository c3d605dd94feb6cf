// The table of hearthd's settings: name, what --help says, and where in a Config the value goes.
//
//   Config config;
//   std::vector<Setting> settings = settings_of(config);   // refer to `config`
#pragma once
#include <vector>

#include "daemon/setting.h"

namespace hearth::daemon {

struct Config;

std::vector<Setting> settings_of(Config& config);

}  // namespace hearth::daemon
