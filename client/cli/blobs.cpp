// hearth blobs: kernel blobs, from an intercepted build to a warm cache. Every subcommand is one file, blobs_*.cpp.
#include "client/cli/blobs.h"

#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "command_line/command.h"

namespace hearth::cli {

void add_blobs(CLI::App& app, Action& action) {
  CLI::App* blobs =
      command_line::add_command(app, "blobs", "Build and use libraries whose kernels are compiled on first call");
  blobs->require_subcommand(1);
  add_blobs_build(*blobs, action);
  add_blobs_intercept(*blobs, action);
  add_blobs_doctor(*blobs, action);
  add_blobs_prewarm(*blobs, action);
}

}  // namespace hearth::cli
