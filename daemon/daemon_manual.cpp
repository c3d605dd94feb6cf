#include "daemon/daemon_manual.h"

namespace hearth::daemon {

command_line::Manual daemon_manual() {
  return {.details =
              "The commands of hearth start one when none runs; as a service it is started with --foreground. Every "
              "setting has one name: cache_limit in the configuration file, HEARTH_CACHE_LIMIT in the environment, "
              "--cache-limit as an option; of several the last of these counts. In the file settings of seconds end "
              "in _s: idle_exit_s is --idle-exit.\n\n"
              "Sizes are numbers of bytes, or numbers with KiB, MiB, GiB or TiB; K and KB mean KiB, and so on.\n\n"
              "SIGTERM and SIGINT end it after the calls that are under way.",
          .examples = {{"hearthd --foreground --cache-limit 50GiB", "Serves until it is stopped."}},
          .exit_statuses = {{0, "It was told to leave, and left."},
                            {1, "It cannot start; standard error or the log says why."},
                            {2, "The command line, the environment or the configuration file is wrong."},
                            {3, "Another daemon serves the socket."}},
          .see_also = {"hearth(1)", "hearth-daemon(1)"}};
}

}  // namespace hearth::daemon
