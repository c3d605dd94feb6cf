// hearth-blob-worker: compiles kernel blobs for hearthd by running compilers. Has no compiler of its own in it.
#include "base/standard_output.h"
#include "daemon/worker/blob_backend.h"
#include "daemon/worker/worker_loop.h"

int main(int argc, char** argv) {
  hearth::daemon::BlobBackend backend;
  return hearth::run_program("hearth-blob-worker", [&] { return hearth::daemon::worker_main(argc, argv, backend); });
}
