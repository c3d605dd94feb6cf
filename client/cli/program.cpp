#include "client/cli/program.h"

namespace hearth::cli {
namespace {

using command_line::commands_of;

void add_global_options(CLI::App& command, bool& quiet, bool& verbose) {
  command.add_flag("-q,--quiet", quiet, "Print errors and what was asked for, no summaries, notes or progress")
      ->group(command_line::kGlobalGroup);
  command.add_flag("-v,--verbose", verbose, "Say on standard error which daemon was used and what took how long")
      ->group(command_line::kGlobalGroup);
  for (const CLI::App* child : commands_of(command)) {
    add_global_options(*command.get_subcommand(child->get_name()), quiet, verbose);
  }
}

}  // namespace

Program::Program()
    : app("hearth", "Compile and run models through hearthd, the compiler daemon",
          {.details = "A command that needs a daemon starts one when none runs, and leaves it running for the next. "
                      "Everything that was compiled is kept in the daemon's cache.\n\n"
                      "A model or an array that is named - is read from standard input, and a file to write that is "
                      "named - is standard output. Tables fit the terminal; in a pipe or a file they are complete. "
                      "With --json the output is for programs: one JSON value, always UTF-8; of what fails, though not "
                      "for a wrong command line, an object with "
                      "\"error\", its code and message.",
           .examples = {{"hearth run model.onnx --input x=x.npy --output-dir out",
                         "Runs a model and writes its outputs as .npy files."},
                        {"hearth help run", "Shows all that can be said to a command."}},
           .environment = {{"HEARTH_SOCKET", "The daemon's socket, where --socket is not given."},
                           {"HEARTH_CACHE_DIR", "The cache folder of a daemon that a command starts."},
                           {"HEARTH_NO_AUTOSTART", "1: no command starts a daemon."},
                           {"HEARTH_DAEMON",
                            "The hearthd program to start, by its absolute path. Default: the one beside hearth, then "
                            "the one on PATH."},
                           {"HEARTH_IDLE_EXIT_S",
                            "Seconds without work after which a daemon that a command starts "
                            "leaves. Default: 600."},
                           {"HEARTH_DEVICE, HEARTH_THREADS, HEARTH_OPT_LEVEL, HEARTH_FAST_MATH",
                            "What --device, --threads, --opt-level and --fast-math say, where they are not given."},
                           {"HEARTH_DIRECT_CONVOLUTIONS", "What --direct-convolutions says, where it is not given."},
                           {"HEARTH_SUBNORMALS", "What --subnormals says, where it is not given."},
                           {"HEARTH_PREPARE_TIMEOUT_MS",
                            "Milliseconds until preparing is given up, without --timeout."},
                           {"HEARTH_SHARE_WEIGHTS",
                            "0: packed weights are not shared with other processes. Default: 1."},
                           {"HEARTH_SEALED", "1: what --sealed says, where it is not given."},
                           {"HEARTH_TRUSTED_KEYS",
                            "Public keys of hearth remote keygen, with ',' between them: plan files that none of their "
                            "owners signed are not run."},
                           {"TERM", "With dumb, no progress is shown."}},
           .see_also = {"hearthd(8)"}}) {
  app.require_subcommand(1);
  app.set_version_flag("--version", "hearth " HEARTH_VERSION, "Show the version and exit.")
      ->group(command_line::kGlobalGroup);
  add_run(app, action);
  add_export(app, action);
  add_emit(app, action);
  add_devices(app, action);
  add_inspect(app, action);
  add_prewarm(app, action);
  add_tune(app, action);
  add_onnx(app, action);
  add_explain(app, action);
  add_stats(app, action);
  add_cache(app, action);
  add_daemon(app, action);
  add_remote(app, action);
  add_blobs(app, action);
  add_help(app, action);
  add_completion(app, action);
  add_global_options(app, quiet, verbose);
}

}  // namespace hearth::cli
