// Starts a worker program: a socket, a pipe for what it says, an environment of nothing but what it needs, its limits
// as arguments. The child has no other descriptor, default signals and a process group of its own.
//
// The caller owns what comes back. Errors: NOT_FOUND when there is no such program, INTERNAL otherwise. Example:
//   absl::StatusOr<LaunchedWorker> worker = launch_worker(command, folder.files());
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/worker_pool/worker_output.h"

namespace hearth::daemon {

struct WorkerCommand;

struct LaunchedWorker {
  pid_t pid = -1;
  int socket = -1;
  std::unique_ptr<WorkerOutput> output;
};

absl::StatusOr<LaunchedWorker> launch_worker(const WorkerCommand& command, const std::string& folder);

// What a worker gets of this process's environment, and what is set for it.
std::vector<std::string> worker_environment(bool programs, const std::string& folder);

// The number in this process's pid namespace of who wrote what `socket` holds; -1 when nothing can be told. The kernel
// says it, whatever namespace they are in. For a socket of launch_worker() with something to read.
pid_t sender_of(int socket);

}  // namespace hearth::daemon
