// hearth: the command line of the compiler daemon. Every subcommand is one file of this folder.
#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/print.h"
#include "runtime/standard_output.h"

namespace {

int hearth_main(int argc, char** argv) {
  CLI::App app("Compiles and runs models through hearthd, the compiler daemon.", "hearth");
  app.require_subcommand(1);
  app.set_version_flag("--version", "hearth " HEARTH_VERSION);
  hearth::cli::Action action;
  hearth::cli::add_run(app, action);
  hearth::cli::add_inspect(app, action);
  hearth::cli::add_export(app, action);
  hearth::cli::add_prewarm(app, action);
  hearth::cli::add_tune(app, action);
  hearth::cli::add_onnx(app, action);
  hearth::cli::add_explain(app, action);
  hearth::cli::add_stats(app, action);
  hearth::cli::add_cache(app, action);
  hearth::cli::add_daemon(app, action);
  hearth::cli::add_blobs(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    hearth::cli::complain(error.what(), " (see hearth --help)");
    return hearth::cli::kUsageError;
  }
  const absl::StatusOr<int> code = action();
  if (code.ok()) return *code;
  hearth::cli::complain(code.status().message());
  return hearth::cli::exit_code_of(code.status());
}

}  // namespace

int main(int argc, char** argv) {
  return hearth::run_program("hearth", [&] { return hearth_main(argc, argv); });
}
