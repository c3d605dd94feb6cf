// hearth-worker: the compiler library behind the worker loop. The only program of the daemon that links LLVM.
#include "base/standard_output.h"
#include "daemon/worker/llvm_backend.h"
#include "daemon/worker/worker_loop.h"

int main(int argc, char** argv) {
  hearth::daemon::LlvmBackend backend;
  return hearth::run_program("hearth-worker", [&] { return hearth::daemon::worker_main(argc, argv, backend); });
}
