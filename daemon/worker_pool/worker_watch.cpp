#include "daemon/worker_pool/worker_watch.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kIdleTicks = 100;  // a second: what goes on after a reply is little

WorkerWatch::Breach over(const std::string& what) {
  return {.is_hang = false, .detail = absl::StrCat("used more than ", what, " and was killed")};
}

}  // namespace

void WorkerWatch::attach(pid_t worker) {
  worker_ = worker;
  if (worker != keeper_) init_ = parent_of(worker);
  end();
}

void WorkerWatch::begin() {
  last_progress_ = clock_.now();
  ticks_ = ticks_of(processes());
}

std::vector<pid_t> WorkerWatch::processes() const {
  if (init_ < 0) return {keeper_};
  std::vector<pid_t> pids = descendants_of(keeper_);
  std::erase(pids, init_);
  for (const ProcessId& process : seen_) {
    if (is_running(process) && std::find(pids.begin(), pids.end(), process.pid) == pids.end())
      pids.push_back(process.pid);
  }
  return pids;
}

std::uint64_t WorkerWatch::ticks_of(const std::vector<pid_t>& pids) const {
  std::uint64_t ticks = 0;
  for (pid_t pid : pids) ticks += processor_ticks(pid);
  return ticks;
}

bool WorkerWatch::is_hung(const std::vector<pid_t>& pids) {
  const std::uint64_t ticks = ticks_of(pids);
  const Clock::time_point now = clock_.now();
  if (ticks != ticks_ || std::any_of(pids.begin(), pids.end(), is_runnable)) {
    ticks_ = ticks;
    last_progress_ = now;
  }
  return now - last_progress_ >= limits_.hang_limit;
}

std::optional<WorkerWatch::Breach> WorkerWatch::look() {
  const std::vector<pid_t> pids = processes();
  std::vector<ProcessId> seen;
  std::uint64_t memory_bytes = folder_->is_in_memory() ? folder_->used_bytes() : 0, tasks = 0;
  for (const pid_t pid : pids) {
    if (const std::optional<ProcessId> process = identify(pid)) seen.push_back(*process);
    memory_bytes += resident_bytes(pid);
    tasks += num_tasks(pid);
  }
  memory_bytes += nameless_bytes(pids);
  seen_ = std::move(seen);
  if (memory_bytes > limits_.memory_bytes) return over(absl::StrCat(limits_.memory_bytes >> 20, " MiB of memory"));
  if (!folder_->is_in_memory() && folder_->used_bytes() > limits_.folder_bytes)
    return over(absl::StrCat(limits_.folder_bytes >> 20, " MiB for its files"));
  if (tasks > limits_.tasks) return over(absl::StrCat(limits_.tasks, " processes and threads"));
  if (!is_hung(pids)) return std::nullopt;
  const double hang_s = std::chrono::duration<double>(limits_.hang_limit).count();
  return Breach{.is_hang = true, .detail = absl::StrCat("hung (no progress for ", hang_s, " s) and was killed")};
}

bool WorkerWatch::is_worn_out() const {
  const std::uint64_t ticks = processor_ticks(worker_);
  const auto ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return ticks > idle_ticks_ + kIdleTicks || ticks / ticks_a_second > limits_.processor_s / 2;
}

}  // namespace hearth::daemon
