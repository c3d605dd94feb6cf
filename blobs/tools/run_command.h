// Runs programs and keeps what they print in files. Blocking; thread-safe. Errors: FailedPrecondition with the command
// and its last lines when a program fails, is killed by a signal or cannot be run.
// Not by child_process.h: that confines programs (a session and environment of its own, limits, the last bytes of
// pipes), while these are the user's own build: it may take hours, the terminal's Ctrl-C must reach it, and its whole
// log is written as it runs.
//
//   absl::Status done = run_commands({{.args = {"/usr/bin/c++", "-c", "a.cpp"}, .cwd = "/tmp", .log = "/tmp/a.log"}},
//   2);
#pragma once
#include <absl/status/status.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::blobs {

struct Command {
  std::vector<std::string> args;  // the program first, by path or name
  std::string cwd;
  std::string log;  // where stdout and stderr go; empty: this process's stderr
  std::map<std::string, std::optional<std::string>> environment;  // changes to this process's; null: unset
};

// What happens meanwhile; commands are told by their numbers. Called by the thread that runs them; may be empty.
struct CommandEvents {
  std::function<absl::Status(std::size_t)> done{};                 // it succeeded; an error counts as its failure
  std::function<void(const std::vector<std::size_t>&)> running{};  // these run; several times a second
};

// At most `parallel` at once; stops starting others after a failure. All errors are in the result.
absl::Status run_commands(const std::vector<Command>& commands, unsigned parallel, const CommandEvents& events = {});

}  // namespace hearth::blobs
