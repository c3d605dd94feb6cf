#include "tests/conformance/runner/runner_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "absl/strings/str_cat.h"

namespace hearth::conformance {

RunnerProcess::~RunnerProcess() { stop(); }

void RunnerProcess::stop() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  to_ = from_ = -1;
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = -1;
}

absl::Status RunnerProcess::ended() {
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = -1;
  stop();
  return absl::InternalError(WIFSIGNALED(status)
                                 ? absl::StrCat(command_[0], " ended with signal ", WTERMSIG(status))
                                 : absl::StrCat(command_[0], " ended with exit code ", WEXITSTATUS(status)));
}

absl::StatusOr<WireReader> RunnerProcess::start() {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat(command_[0], ": pipe"));
  ::signal(SIGPIPE, SIG_IGN);
  std::vector<char*> words;
  for (std::string& word : command_) words.push_back(word.data());
  words.push_back(nullptr);
  child_ = ::fork();
  if (child_ == 0) {
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);  // emulators write one where what they emulate ends by a signal
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1], from_ = from[0];
  WireReader hello;
  if (!hello.receive(from_)) return ended();
  return hello;
}

absl::Status RunnerProcess::run(std::span<const RunnerBlock> blocks, std::span<const RunnerLaunch> launches) {
  if (child_ < 0) {
    if (const absl::StatusOr<WireReader> hello = start(); !hello.ok()) return hello.status();
  }
  WireWriter request;
  request.number(blocks.size());
  for (const RunnerBlock& block : blocks) {
    request.number(block.alignment);
    request.text({reinterpret_cast<const char*>(block.data), block.size});
  }
  std::map<const std::string*, std::uint64_t> modules;
  for (const RunnerLaunch& launch : launches) modules.emplace(launch.module, 0);
  request.number(modules.size());
  std::uint64_t next = 0;
  for (auto& [module, number] : modules) {
    request.text(*module);
    number = next++;
  }
  request.number(launches.size());
  for (const RunnerLaunch& launch : launches) {
    request.number(modules.at(launch.module));
    request.text(launch.symbol);
    request.number(static_cast<std::uint64_t>(launch.begin));
    request.number(static_cast<std::uint64_t>(launch.end));
    request.number(launch.workgroup_size);
    bool is_inside = true;
    const auto place = [&](const std::uint8_t* buffer) {
      // One past the end is an empty buffer's place.
      const auto in = std::ranges::find_if(
          blocks, [&](const RunnerBlock& b) { return buffer >= b.data && buffer <= b.data + b.size; });
      is_inside = is_inside && in != blocks.end();
      if (!is_inside) return;
      request.number(static_cast<std::uint64_t>(in - blocks.begin()));
      request.number(static_cast<std::uint64_t>(buffer - in->data));
    };
    request.number(launch.buffers.size());
    for (const std::uint8_t* buffer : launch.buffers) place(buffer);
    request.number(launch.vars.size());
    for (const std::int64_t var : launch.vars) request.number(static_cast<std::uint64_t>(var));
    request.number(launch.run_if.size());
    for (const auto& [stored_bool, value] : launch.run_if) {
      place(stored_bool);
      request.number(value ? 1 : 0);
    }
    if (!is_inside) return absl::InternalError("runner: a buffer lies in no block");
  }
  WireReader reply;
  if (!request.send(to_) || !reply.receive(from_)) return ended();
  if (reply.number() == 0) return absl::InternalError(std::string(reply.text()));
  for (const RunnerBlock& block : blocks) std::ranges::copy(reply.text(), block.data);
  return absl::OkStatus();
}

std::string runner_program(const std::string& name) {
  const char* folder = std::getenv("HEARTH_BIN_DIR");
  if (folder != nullptr) return absl::StrCat(folder, "/", name);
  char self[4096];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof(self));
  const std::string path(self, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path.substr(0, path.rfind('/') + 1) + name;
}

}  // namespace hearth::conformance
