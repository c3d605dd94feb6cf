#include "client/connection/daemon_starter.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "base/cancellation.h"
#include "base/file_lock.h"
#include "base/find_program.h"
#include "base/program_path.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/connection/daemon_socket.h"
#include "client/connection/detached_daemon.h"
#include "proto/socket_path.h"

namespace hearth::client {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

void sleep_jittered(int milliseconds) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::microseconds(500 * milliseconds + random() % (1000 * milliseconds)));
}

absl::Status cancelled() { return absl::CancelledError("the call was cancelled while a daemon started"); }

}  // namespace

absl::StatusOr<std::string> find_daemon_program() {
  if (const char* named = secure_getenv("HEARTH_DAEMON"); named && *named) {
    if (runtime::is_absolute_program(named)) return std::string(named);
    return absl::NotFoundError(str_cat("HEARTH_DAEMON names '", named, "', which is no absolute path of a program"));
  }
  if (std::optional<std::string> found = runtime::find_program("hearthd")) return *std::move(found);
  return absl::NotFoundError(
      "no hearthd beside this program or on PATH; install it, start one, or set HEARTH_DAEMON to its path");
}

absl::Status start_daemon(const std::string& socket_path, Clock::time_point deadline) {
  deadline = std::min(deadline, Clock::now() + kDaemonStartLimit);
  if (socket_path == kNodeSocketPath) {
    return absl::UnavailableError(
        str_cat("the node's service does not listen on ", socket_path,
                ": its operator starts it (systemctl start hearthd.socket); another daemon is "
                "chosen with --socket or HEARTH_SOCKET"));
  }
  absl::StatusOr<std::string> program = find_daemon_program();
  if (!program.ok()) {
    return absl::UnavailableError(str_cat("no daemon listens on ", socket_path,
                                          " and none can be started: ", std::string(program.status().message())));
  }
  if (absl::Status folder = make_socket_folder(socket_path); !folder.ok()) {
    return absl::UnavailableError(str_cat("no daemon can be started: ", std::string(folder.message())));
  }
  const std::string lock_path = socket_path + ".start";
  std::optional<runtime::FileLock> lock;
  while (!lock) {
    HEARTH_ASSIGN_OR_RETURN(bool accepts, daemon_accepts(socket_path));
    if (accepts) return absl::OkStatus();
    absl::StatusOr<std::optional<runtime::FileLock>> locked = runtime::FileLock::try_acquire(lock_path);
    if (!locked.ok()) {
      return absl::UnavailableError(
          str_cat(std::string(locked.status().message()),
                  "; set HEARTH_SOCKET to a path in a folder of yours that can be written, or "
                  "load a plan file, which needs no daemon"));
    }
    lock = *std::move(locked);
    if (lock) break;
    if (is_cancelled()) return cancelled();
    if (Clock::now() >= deadline) {
      return absl::DeadlineExceededError(
          str_cat("another process holds ", lock_path, " and its daemon did not become ready in time"));
    }
    sleep_jittered(5);
  }
  absl::StatusOr<bool> accepts = daemon_accepts(socket_path);  // somebody else may have been faster
  HEARTH_RETURN_IF_ERROR(accepts.status());
  if (*accepts) return absl::OkStatus();
  for (;;) {
    HEARTH_ASSIGN_OR_RETURN(DetachedDaemon daemon, DetachedDaemon::start(*program, socket_path));
    const absl::Status ready = daemon.wait_until_ready(deadline);
    if (ready.ok()) break;
    if (absl::IsCancelled(ready)) return ready;
    // One that its starter did not wait for, or that no client started, was faster: ours ends where that one serves.
    accepts = daemon_accepts(socket_path);
    if (accepts.ok() && *accepts) return absl::OkStatus();
    // It has the socket and does not accept: it is about to serve, or about to leave.
    if (!absl::IsAlreadyExists(ready) || Clock::now() >= deadline) return ready;
    sleep_jittered(20);
  }
  while (Clock::now() < deadline) {
    accepts = daemon_accepts(socket_path);
    HEARTH_RETURN_IF_ERROR(accepts.status());
    if (*accepts) return absl::OkStatus();
    if (is_cancelled()) return cancelled();
    sleep_jittered(5);
  }
  return absl::DeadlineExceededError(str_cat("the daemon ", *program, " said it is ready and does not accept on ",
                                             socket_path, "; its log is ", daemon_log_path(socket_path)));
}

}  // namespace hearth::client
