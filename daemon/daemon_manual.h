// What people need to know of hearthd besides its settings: for --help and the manual page.
#pragma once
#include "command_line/command.h"

namespace hearth::daemon {

command_line::Manual daemon_manual();

}  // namespace hearth::daemon
