// hearth-worker's main loop: hello, then one WorkerRequest at a time until the daemon closes the socket.
//
// worker_main() parses the daemon's arguments, enters the sandbox and serves; `--replay FILE` performs one request from
// a repro bundle and says how it ended. An artifact for this host is trial-loaded before it is handed over.
//   int main(int argc, char** argv) { RealBackend backend; return worker_main(argc, argv, backend); }
#pragma once
#include "daemon/worker/compiler_backend.h"

namespace hearth::daemon {

// The process's exit code.
int worker_main(int argc, char** argv, CompilerBackend& backend);

// Performs one request; never throws.
v1::WorkerReply perform(const v1::WorkerRequest& request, CompilerBackend& backend, const ProgramLimits& limits = {});

}  // namespace hearth::daemon
