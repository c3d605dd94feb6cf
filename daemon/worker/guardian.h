// The guardian of a worker that may start programs: a thread that waits for the daemon's end of the socket to close.
// Then it kills every program the worker started and ends the process, so that a daemon that was killed leaves no
// compiler behind. Call once, in the sandbox. Example:  start_guardian(socket);
#pragma once

namespace hearth::daemon {

void start_guardian(int socket);

}  // namespace hearth::daemon
