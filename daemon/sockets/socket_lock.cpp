#include "daemon/sockets/socket_lock.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "base/status_macros.h"
#include "daemon/sockets/unix_socket.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{10};

}  // namespace

absl::StatusOr<runtime::FileLock> lock_socket(const std::string& socket_path, std::chrono::milliseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  const std::string path = socket_path + ".lock";
  for (;;) {
    HEARTH_ASSIGN_OR_RETURN(std::optional<runtime::FileLock> lock, runtime::FileLock::try_acquire(path));
    if (lock) {
      if (!lock->write_text(absl::StrCat(::getpid()))) spdlog::warn("cannot write '{}'", path);  // for messages only
      return *std::move(lock);
    }
    const std::string holder = runtime::read_lock_text(path);
    if (is_served(socket_path)) {
      return absl::AlreadyExistsError(absl::StrCat("a daemon (pid ", holder, ") already serves '", socket_path, "'"));
    }
    if (std::chrono::steady_clock::now() >= give_up) {
      return absl::AlreadyExistsError(
          absl::StrCat("another daemon (pid ", holder, ") holds '", path, "' but does not serve: end it first"));
    }
    std::this_thread::sleep_for(kRetryEvery);
  }
}

}  // namespace hearth::daemon
