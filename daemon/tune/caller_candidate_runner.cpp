#include "daemon/tune/caller_candidate_runner.h"

#include <absl/strings/str_cat.h>
#include <sys/random.h>

#include <cmath>

namespace hearth::daemon {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr std::size_t kIdBytes = 16;
constexpr int kMostRounds = 64;

// Empty: the system gives none.
std::string random_id() {
  std::string id(kIdBytes, '\0');
  return ::getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()) ? id : "";
}

bool are_times(const google::protobuf::RepeatedField<double>& times) {
  if (times.size() > kMostRounds) return false;
  for (const double time : times) {
    if (!std::isfinite(time) || !(time > 0)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<v1::Timing> CallerCandidateRunner::time(const v1::TimeSpec& spec) {
  if (!ask_) return WorkerCandidateRunner::time(spec);
  v1::TimingTask task;
  task.set_id(random_id());
  if (task.id().empty()) return absl::UnavailableError("the system has no random numbers");
  *task.mutable_spec() = spec;
  {
    const std::lock_guard lock(mutex_);
    awaited_ = task.id();
    answer_.reset();
  }
  ask_(task);
  std::unique_lock lock(mutex_);
  const bool is_there = changed_.wait_for(lock, kPatience, [&] { return answer_ || is_cancelled_; });
  awaited_.clear();
  if (is_cancelled_) return absl::CancelledError("the tuning run was cancelled");
  if (!is_there) return absl::DeadlineExceededError("the caller of Tune did not time a candidate");
  if (!answer_->error().empty()) return absl::InternalError(answer_->error());
  if (!are_times(answer_->timing().baseline_ns()) || !are_times(answer_->timing().candidate_ns()))
    return absl::InvalidArgumentError("the caller of Tune gives times that are none");
  return answer_->timing();
}

bool CallerCandidateRunner::answer(const v1::TimingAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (awaited_.empty() || answer.id() != awaited_) return false;
  answer_ = answer;
  changed_.notify_all();
  return true;
}

void CallerCandidateRunner::cancel() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  changed_.notify_all();
  WorkerCandidateRunner::cancel();
}

}  // namespace hearth::daemon
