#include "runtime/hal/vulkan/pipeline_trials.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/find_program.h"
#include "base/memory_file.h"
#include "base/program_path.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "runtime/hal/vulkan/cache_file.h"
#include "runtime/hal/vulkan/pipeline_cache.h"
#include "runtime/hal/vulkan/vulkan_context.h"

extern char** environ;

namespace hearth::runtime {
namespace {

constexpr const char* kProgram = "hearth-vulkan-trial";
constexpr const char* kKind = "trials";
// How long one module may take, the driver's start included.
constexpr std::chrono::seconds kPatience{60};

const char* wish() {
  const char* const wanted = ::secure_getenv("HEARTH_VULKAN_TRIAL");
  return wanted == nullptr ? "" : wanted;
}

// Empty: there is none. A relative path would be of the current folder, which may be anybody's.
std::string trial_program() {
  const std::string named = wish();
  if (named.empty()) return find_program(kProgram).value_or("");
  return is_absolute_program(named) ? named : "";
}

// The modules, each behind its length, at the beginning of a memory file.
UniqueFd written(const std::vector<std::string_view>& modules, std::size_t first) {
  std::string bytes;
  for (std::size_t i = first; i < modules.size(); ++i) {
    const std::uint64_t size = modules[i].size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes.append(modules[i]);
  }
  absl::StatusOr<UniqueFd> file = create_memory_file("hearth-modules", bytes.size());
  if (!file.ok()) return UniqueFd();
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pwrite(file->get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return UniqueFd();
    done += static_cast<std::size_t>(count);
  }
  return *std::move(file);
}

// How many modules a child answered, and what came of the one after them.
struct Trial {
  std::size_t answered = 0;
  bool has_crashed = false;  // or hung; ended by anything else, nothing is known of what was not answered
};

Trial try_in_child(const std::string& program, const std::string& uuid, const UniqueFd& input) {
  Trial trial;
  int ends[2];
  if (!input || ::pipe2(ends, O_CLOEXEC) != 0) return trial;
  UniqueFd answers(ends[0]), answering(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, answering.get(), 1);
  std::string name = kProgram, argument = uuid;
  char* const arguments[] = {name.data(), argument.data(), nullptr};
  pid_t child = -1;
  const int spawned = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  answering.reset();
  if (spawned != 0) return trial;
  for (;;) {
    pollfd waiting = {.fd = answers.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      trial.has_crashed = true;
      ::kill(child, SIGKILL);
      break;
    }
    char bytes[256];
    const ssize_t count = ::read(answers.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    trial.answered += static_cast<std::size_t>(count);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  trial.has_crashed |= WIFSIGNALED(status) && std::ranges::find(kCrashes, WTERMSIG(status)) != std::end(kCrashes);
  return trial;
}

}  // namespace

void PipelineTrials::read() {
  if (is_read_) return;
  is_read_ = true;
  const std::string data = CacheFile(info_, kKind).read();
  constexpr std::size_t kRecord = sizeof(Digest) + 1;
  for (std::size_t at = 0; at + kRecord <= data.size(); at += kRecord) {
    Digest digest;
    std::memcpy(digest.data(), data.data() + at, digest.size());
    verdicts_[digest] = static_cast<Verdict>(data[at + digest.size()]);
  }
}

void PipelineTrials::save() const {
  std::string data;
  for (const auto& [digest, verdict] : verdicts_) {
    data += to_bytes(digest);
    data += static_cast<char>(verdict);
  }
  (void)CacheFile(info_, kKind).write(data);
}

void PipelineTrials::run(const std::vector<std::string_view>& modules) {
  const std::lock_guard lock(mutex_);
  if (std::strcmp(wish(), "0") == 0) return;
  read();
  const std::string program = trial_program();
  if (program.empty()) return;
  std::vector<std::string_view> untried;
  std::vector<Digest> digests;
  for (const std::string_view module : modules) {
    const Digest digest = sha256(module);
    if (verdicts_.count(digest) > 0 || std::find(digests.begin(), digests.end(), digest) != digests.end()) continue;
    untried.push_back(module);
    digests.push_back(digest);
  }
  bool is_changed = false;
  for (std::size_t next = 0; next < untried.size();) {
    const Trial trial = try_in_child(program, to_hex(info_.uuid), written(untried, next));
    const std::size_t end = std::min(untried.size(), next + trial.answered);
    for (; next < end; ++next) verdicts_[digests[next]] = Verdict::kSurvived;
    is_changed |= trial.answered > 0 || trial.has_crashed;
    if (next == untried.size() || !trial.has_crashed) break;
    verdicts_[digests[next++]] = Verdict::kEnded;
  }
  if (is_changed) save();
}

bool PipelineTrials::are_missing() { return std::strcmp(wish(), "0") != 0 && trial_program().empty(); }

absl::Status PipelineTrials::check(std::string_view module) {
  const std::lock_guard lock(mutex_);
  const Digest digest = sha256(module);
  const auto known = verdicts_.find(digest);
  if (known == verdicts_.end() || known->second == Verdict::kSurvived) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(
      info_.name, ": its driver (", info_.driver, " ", info_.driver_version,
      ") crashes or hangs while it compiles the module ", to_hex(digest),
      ", as a trial in a child process found out; update the driver, or use another device. To try again, remove ",
      CacheFile(info_, kKind).path()));
}

int run_trial(std::string_view uuid) {
  const int answers = ::dup(1);
  ::dup2(2, 1);  // drivers may print to standard output
  const absl::StatusOr<std::vector<VulkanDeviceInfo>> devices = vulkan_devices();
  if (!devices.ok()) return 1;
  for (const VulkanDeviceInfo& info : *devices) {
    if (to_hex(info.uuid) != uuid || !info.unusable.empty()) continue;
    const absl::StatusOr<std::shared_ptr<VulkanContext>> context = VulkanContext::open(info, nullptr);
    if (!context.ok()) return 1;
    PipelineCache cache(*context);
    const absl::StatusOr<std::string> input = read_input("-");
    if (!input.ok()) return 1;
    std::uint64_t size = 0;
    for (std::size_t at = 0; at + sizeof size <= input->size(); at += size) {
      std::memcpy(&size, input->data() + at, sizeof size);
      at += sizeof size;
      if (size > input->size() - at) return 1;
      (void)cache.make_pipeline(std::string_view(*input).substr(at, size));  // its error is for who uses it
      if (::write(answers, "+", 1) != 1) return 1;
    }
    cache.save();
    return 0;
  }
  return 1;
}

}  // namespace hearth::runtime
