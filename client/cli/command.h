// What every subcommand of `hearth` is made of: it registers its flags on the app and leaves an action behind, which
// main runs after parsing. An action returns the exit code, or a status that main prints as one line.
//
//   void add_stats(CLI::App& app, Action& action) {
//     CLI::App* command = command_line::add_command(app, "stats", "Show counters of the running daemon");
//     command->callback([&action] { action = [] { return print_stats(); }; });
//   }
#pragma once
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace CLI {
class App;
}

namespace hearth::cli {

using Action = std::function<absl::StatusOr<int>()>;

void add_run(CLI::App& app, Action& action);         // run.cpp
void add_inspect(CLI::App& app, Action& action);     // inspect.cpp
void add_devices(CLI::App& app, Action& action);     // devices.cpp
void add_emit(CLI::App& app, Action& action);        // emit.cpp
void add_export(CLI::App& app, Action& action);      // export.cpp
void add_prewarm(CLI::App& app, Action& action);     // prewarm.cpp
void add_tune(CLI::App& app, Action& action);        // tune.cpp
void add_onnx(CLI::App& app, Action& action);        // onnx.cpp
void add_explain(CLI::App& app, Action& action);     // explain.cpp
void add_stats(CLI::App& app, Action& action);       // stats.cpp
void add_cache(CLI::App& app, Action& action);       // cache.cpp
void add_daemon(CLI::App& app, Action& action);      // daemon.cpp
void add_remote(CLI::App& app, Action& action);      // remote.cpp
void add_blobs(CLI::App& app, Action& action);       // blobs.cpp
void add_help(CLI::App& app, Action& action);        // help.cpp: help, manual
void add_completion(CLI::App& app, Action& action);  // help.cpp

// What --help says of a command, as wide as the terminal, at most kHelpColumns.
void print_help(const CLI::App& command);

}  // namespace hearth::cli
