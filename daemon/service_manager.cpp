#include "daemon/service_manager.h"

#include <absl/strings/str_cat.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kTimesPerWatchdog = 3;  // a little late is not too late
constexpr std::uint64_t kMicrosecondsPerMs = 1000;

}  // namespace

ServiceManager::ServiceManager() : num_sockets_(::sd_listen_fds(/*unset_environment=*/1)) {
  std::uint64_t watchdog_us = 0;
  if (::sd_watchdog_enabled(/*unset_environment=*/1, &watchdog_us) > 0) {
    alive_every_ms_ = static_cast<int>(std::clamp<std::uint64_t>(watchdog_us / kMicrosecondsPerMs / kTimesPerWatchdog,
                                                                 1, std::numeric_limits<int>::max()));
  }
}

absl::StatusOr<int> ServiceManager::socket() const {
  if (num_sockets_ <= 0) return -1;
  if (num_sockets_ > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the service manager passes ", num_sockets_, " sockets; hearthd takes one, that of its clients"));
  }
  return SD_LISTEN_FDS_START;
}

void ServiceManager::notify_ready() const { ::sd_notify(0, "READY=1"); }
void ServiceManager::notify_stopping() const { ::sd_notify(0, "STOPPING=1"); }
void ServiceManager::notify_alive() const {
  if (alive_every_ms_ > 0) ::sd_notify(0, "WATCHDOG=1");
}

}  // namespace hearth::daemon
