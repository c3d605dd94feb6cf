#include "blobs/tools/run_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/file.h"
#include "base/printable.h"
#include "base/program_path.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

constexpr std::size_t kTail = 4000;     // of what a failed program printed
constexpr std::size_t kCommand = 1000;  // of its command line
constexpr std::chrono::milliseconds kPollInterval{20};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

pid_t start(const Command& command) {
  const std::vector<char*> argv = pointers(command.args);
  const std::string program = runtime::find_named_program(command.args[0]).value_or("");
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log =
      command.log.empty() ? dup(2) : open(command.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(none, 0) < 0) _exit(126);
  for (const auto& [name, value] : command.environment)
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  errno = ENOENT;
  if (!program.empty() && chdir(command.cwd.c_str()) == 0) execv(program.c_str(), argv.data());
  const std::string why =
      str_cat(printable(str_cat(command.args[0], " in ", command.cwd, ": ", std::strerror(errno))), "\n");
  [[maybe_unused]] const ssize_t written = write(2, why.data(), why.size());
  _exit(127);
}

std::string describe(const Command& command, int status) {
  std::string line;
  for (const std::string& word : command.args) str_append(&line, line.empty() ? "" : " ", word);
  if (line.size() > kCommand) line = line.substr(0, kCommand) + " …";
  std::string text = command.log.empty() ? "" : runtime::read_file(command.log).value_or("");
  if (text.size() > kTail) text = str_cat("…", text.substr(text.size() - kTail));
  return str_cat(line, WIFSIGNALED(status) ? ": killed by signal " : ": exit code ",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                 command.log.empty() ? "" : " (log: ", command.log, command.log.empty() ? "\n" : ")\n", text);
}

}  // namespace

absl::Status run_commands(const std::vector<Command>& commands, unsigned parallel, const CommandEvents& events) {
  std::map<std::size_t, pid_t> running;
  std::string failures;
  for (std::size_t next = 0; next < commands.size() || !running.empty();) {
    if (next < commands.size() && failures.empty() && running.size() < parallel) {
      const pid_t pid = start(commands[next]);
      if (pid < 0)
        str_append(&failures, commands[next].args[0], ": cannot be started: ", std::strerror(errno), "\n");
      else
        running[next] = pid;
      ++next;
      continue;
    }
    if (running.empty()) break;
    bool any_ended = false;
    for (auto it = running.begin(); it != running.end();) {
      // Only our own children: the process may have others.
      int status = 0;
      const auto [number, pid] = *it;
      const pid_t got = waitpid(pid, &status, WNOHANG);
      if (got == 0 || (got < 0 && errno == EINTR)) {
        ++it;
        continue;
      }
      any_ended = true;
      it = running.erase(it);
      if (status != 0) {
        failures += describe(commands[number], status);
      } else if (events.done) {
        const absl::Status checked = events.done(number);
        if (!checked.ok()) str_append(&failures, checked.message(), "\n");
      }
    }
    if (any_ended) continue;
    if (events.running) {
      std::vector<std::size_t> numbers;
      for (const auto& [number, pid] : running) numbers.push_back(number);
      events.running(numbers);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (failures.ends_with('\n')) failures.pop_back();
  return failures.empty() ? absl::OkStatus() : absl::FailedPreconditionError(failures);
}

}  // namespace hearth::blobs
