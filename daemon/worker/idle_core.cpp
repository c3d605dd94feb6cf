#include "daemon/worker/idle_core.h"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kLook{30};  // a few ticks of /proc/stat

// Idle ticks a core (proc(5)): user, nice, system, idle, iowait.
std::map<int, std::uint64_t> idle_ticks() {
  std::map<int, std::uint64_t> ticks;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    int core = 0, used = 0;
    if (std::sscanf(line.c_str(), "cpu%d %n", &core, &used) != 1) continue;
    std::istringstream fields(line.substr(static_cast<std::size_t>(used)));
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0;
    if (fields >> user >> nice >> system >> idle) ticks[core] = idle;
  }
  return ticks;
}

}  // namespace

PinnedToIdleCore::PinnedToIdleCore() {
  CPU_ZERO(&before_);
  if (::sched_getaffinity(0, sizeof before_, &before_) != 0 || CPU_COUNT(&before_) < 2) return;
  const std::map<int, std::uint64_t> first = idle_ticks();
  std::this_thread::sleep_for(kLook);
  int best = -1;
  std::uint64_t most = 0;
  for (const auto& [core, ticks] : idle_ticks()) {
    auto before = first.find(core);
    if (before == first.end() || core >= CPU_SETSIZE || !CPU_ISSET(core, &before_)) continue;
    if (const std::uint64_t idle = ticks - before->second; best < 0 || idle > most) best = core, most = idle;
  }
  if (best < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(best, &one);
  pinned_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
}

PinnedToIdleCore::~PinnedToIdleCore() {
  if (pinned_) ::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace hearth::daemon
