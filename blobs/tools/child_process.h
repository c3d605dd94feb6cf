// Runs a program that is not trusted to end, to be small or to clean up after itself: a compiler.
//
// The program runs below a small supervising process in a session of its own, with stdin from /dev/null. When the
// program ends, its time is up or this process dies, everything that it started is killed, also what left the session.
// Only the given environment is passed on. Blocking; thread-safe; no exceptions. Errors: NotFound or PermissionDenied
// naming the program when it cannot be started; Internal when the system refuses a process. Example:
//   absl::StatusOr<ChildResult> run = run_child({.arguments = {"/usr/bin/c++", "--version"}});
//   if (run.ok() && run->exit_code == 0) use(run->output);
#pragma once
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::blobs {

struct ChildCommand {
  std::vector<std::string> arguments{};    // the first is the absolute path of the program
  std::vector<std::string> environment{};  // NAME=value; see minimal_environment
  std::string folder{};                    // working folder; empty: this process's
  std::chrono::milliseconds wall_limit{30'000};
  std::uint64_t memory_bytes = 0;     // address space of each process; 0: no limit
  std::uint64_t output_bytes = 0;     // the largest file; 0: no limit
  std::size_t keep_bytes = 16 << 10;  // the last bytes of what it says on stderr
  std::size_t keep_output_bytes = 1 << 20;
};

struct ChildResult {
  int exit_code = 0;  // meaningless when a signal ended it
  int signal = 0;     // 0: it exited
  bool timed_out = false;
  std::string output;  // stdout, its last keep_output_bytes
  std::string errors;  // stderr, its last keep_bytes
  double seconds = 0;
};

absl::StatusOr<ChildResult> run_child(const ChildCommand& command);

// PATH, HOME, LANG=C and TMPDIR: what a compiler needs, and nothing that changes what it makes (CPATH, LD_PRELOAD,
// CCACHE_*, …). `temporary` empty: TMPDIR is this process's, if it has one.
std::vector<std::string> minimal_environment(const std::string& temporary);

}  // namespace hearth::blobs
