#include "event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

namespace hip_stand_in {

void log_event(const nlohmann::json& event) {
  static const char* const path = std::getenv("HIP_STAND_IN_LOG");
  if (path == nullptr) return;
  static const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = event.dump() + "\n";
  if (file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    std::fprintf(stderr, "hip_stand_in: cannot write HIP_STAND_IN_LOG=%s: %s\n", path, std::strerror(errno));
  }
}

}  // namespace hip_stand_in
