// hearthd: reads the configuration, starts the daemon, waits for a signal or its own wish to leave, drains.
// Exit codes: 0 drained; 1 cannot start; 2 bad configuration; 3 another daemon serves the socket.
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "base/printable.h"
#include "base/standard_output.h"
#include "daemon/config.h"
#include "daemon/exit_deadline.h"
#include "daemon/hearth_daemon.h"
#include "daemon/log.h"
#include "daemon/serve/library_log.h"
#include "daemon/service_manager.h"
#include "daemon/version.h"
#include "runtime/build_id.h"

namespace {

using hearth::daemon::Config;
using hearth::daemon::HearthDaemon;

int complain(const absl::Status& status, int code) {
  std::fprintf(stderr, "hearthd: %s\n", hearth::printable(std::string(status.message())).c_str());
  return code;
}

// Signals arrive on a descriptor; blocked before any thread starts.
int block_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

// A client a connection; the default of 1,024 descriptors is few.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// "1": this daemon serves; "0": another one has the socket.
void notify_ready(int fd, const char* said) {
  if (fd < 0) return;
  if (::write(fd, said, 1) != 1) spdlog::debug("nobody reads --ready-fd");
  ::close(fd);
}

void wait_for_end(const HearthDaemon& daemon, int signals, const hearth::daemon::ServiceManager& manager) {
  pollfd entries[2] = {{signals, POLLIN, 0}, {daemon.stop_event(), POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(entries, 2, manager.alive_every_ms());
    if (ready < 0 && errno != EINTR) return;
    manager.notify_alive();
    if (ready == 0) continue;
    if (entries[1].revents != 0) return;
    if (entries[0].revents == 0) continue;
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof(info)) != sizeof(info)) continue;
    if (info.ssi_signo == SIGHUP) continue;  // the terminal of whoever started us is gone
    spdlog::info("leaving: signal {} from pid {}", info.ssi_signo, info.ssi_pid);
    return;
  }
}

int hearthd_main(int argc, char** argv) {
  absl::StatusOr<Config> config = hearth::daemon::load_config(argc, argv);
  if (!config.ok()) return complain(config.status(), 2);
  if (!config->message.empty()) {
    hearth::print(config->message);
    return 0;
  }
  if (absl::Status status = hearth::daemon::start_log(*config); !status.ok()) return complain(status, 2);
  hearth::daemon::route_library_logs();
  const int signals = block_signals();
  raise_descriptor_limit();
  const hearth::daemon::ServiceManager manager;
  absl::StatusOr<int> activated = manager.socket();
  if (!activated.ok()) return complain(activated.status(), 2);
  config->activated_socket = *activated;
  absl::StatusOr<std::unique_ptr<HearthDaemon>> daemon = HearthDaemon::start(*config);
  if (absl::IsAlreadyExists(daemon.status())) {
    notify_ready(config->ready_fd, "0");
    return complain(daemon.status(), 3);
  }
  if (!daemon.ok()) return complain(daemon.status(), 1);
  spdlog::info("hearthd {} build {} serves {} with {} workers, cache {}", hearth::daemon::kVersion,
               hearth::build_id().substr(0, 12), config->socket, config->workers, config->cache_dir);
  if (config->cache_is_temporary && config->cache_below.empty()) {
    spdlog::warn(
        "the cache is {} ({}): it may be gone with the session or the next start of the machine; give a lasting "
        "folder with --cache-dir or HEARTH_CACHE_DIR",
        config->cache_dir, config->cache_reason);
  }
  notify_ready(config->ready_fd, "1");
  manager.notify_ready();
  wait_for_end(**daemon, signals, manager);
  manager.notify_stopping();
  constexpr std::chrono::seconds kEnding{4};  // for what comes after the drain
  const hearth::daemon::ExitDeadline deadline(std::chrono::milliseconds(config->drain_ms) + kEnding);
  const bool all_ended = (*daemon)->drain();
  daemon->reset();
  spdlog::info(all_ended ? "drained" : "drained with cancelled calls");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return hearth::run_program("hearthd", [&] { return hearthd_main(argc, argv); });
}
