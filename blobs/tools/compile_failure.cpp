#include "blobs/tools/compile_failure.h"

#include <csignal>
#include <cstring>
#include <initializer_list>

#include "base/text.h"

namespace hearth::blobs {
namespace {

constexpr std::size_t kMessageBytes = 4 << 10;

bool says(const ChildResult& run, std::initializer_list<std::string_view> phrases) {
  for (const std::string_view phrase : phrases)
    if (run.errors.find(phrase) != std::string::npos) return true;
  return false;
}

// The signal that ended the program or, as its driver or a shell says by the exit code, one that it started.
int signal_of(const ChildResult& run) {
  if (run.signal != 0) return run.signal;
  return run.exit_code > 128 && run.exit_code < 128 + 32 ? run.exit_code - 128 : 0;
}

bool killed_for_memory(const ChildResult& run, int signal) {
  return signal == SIGKILL || says(run, {"terminated program cc1plus", "unable to execute command: Killed",
                                         "LLVM ERROR: out of memory", "std::bad_alloc", "virtual memory exhausted",
                                         "annot allocate memory", "cc1plus: out of memory", "memory exhausted"});
}

bool crashed(const ChildResult& run, int signal) {
  return signal != 0 || says(run, {"PLEASE submit a bug report", "frontend command failed due to signal",
                                   "unable to execute command: ", "internal compiler error"});
}

}  // namespace

std::string last_lines(std::string_view text, std::size_t most_bytes) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() <= most_bytes) return std::string(text);
  std::string_view end = text.substr(text.size() - most_bytes);
  if (const auto line = end.find('\n'); line != std::string_view::npos) end.remove_prefix(line + 1);
  std::string_view before = text.substr(0, text.size() - end.size());
  const auto error = before.find("error:");
  if (error == std::string_view::npos) return str_cat("…\n", end);
  const auto start = before.rfind('\n', error);
  before.remove_prefix(start == std::string_view::npos ? 0 : start + 1);
  return str_cat(before.substr(0, std::min<std::size_t>(before.find('\n'), 1024)), "\n…\n", end);
}

absl::Status compile_failure(const std::string& stem, const ChildCommand& command, const ChildResult& run) {
  const std::string said = run.errors.empty() ? "" : str_cat(":\n", last_lines(run.errors, kMessageBytes));
  const std::string& compiler = command.arguments[0];
  if (run.timed_out)
    return absl::DeadlineExceededError(
        str_cat(stem, ": ", compiler, " was stopped after ", command.wall_limit.count() / 1000.0, " s", said));
  if (run.exit_code == 0 && run.signal == 0) return absl::OkStatus();
  const int signal = signal_of(run);
  if (signal == SIGXFSZ || says(run, {"File size limit exceeded", "File too large"}))
    return absl::ResourceExhaustedError(
        str_cat(stem, ": ", compiler, " wrote more than the limit of ", command.output_bytes >> 20, " MiB", said));
  if (says(run, {"No space left on device"}))
    return absl::ResourceExhaustedError(str_cat(stem, ": no space left below ", command.folder, said));
  if (killed_for_memory(run, signal))
    return absl::ResourceExhaustedError(str_cat(stem, ": ", compiler, " ran out of memory or was killed for it (limit ",
                                                command.memory_bytes >> 20, " MiB a process)", said));
  if (crashed(run, signal))
    return absl::InternalError(
        str_cat(stem, ": ", compiler, " crashed", signal != 0 ? str_cat(" (", ::strsignal(signal), ")") : "", said));
  return absl::FailedPreconditionError(str_cat(stem, ": ", compiler, " failed with exit code ", run.exit_code, said));
}

}  // namespace hearth::blobs
