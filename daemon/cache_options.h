// What the daemon's cache is, by its configuration. Its warnings go to the log. Example:
//   auto cache = cache::KernelsCache::open(cache_options(config, std::chrono::seconds(10)));
#pragma once
#include <spdlog/spdlog.h>

#include <chrono>
#include <string>

#include "daemon/config.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

// `patience`: how long another process may go on to use the folder.
inline cache::Options cache_options(const Config& config, std::chrono::milliseconds patience) {
  cache::Options options;
  options.dir = config.cache_dir;
  options.below = config.cache_below;
  options.limit_bytes = config.cache_limit_bytes;
  options.allow_network_fs = config.allow_network_fs;
  options.lock_patience = patience;
  options.file_system = config.file_system;
  options.on_warning = [](const std::string& message) { spdlog::warn("{}", message); };
  return options;
}

}  // namespace hearth::daemon
