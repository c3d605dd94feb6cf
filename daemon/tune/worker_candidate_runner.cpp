#include "daemon/tune/worker_candidate_runner.h"

#include <utility>

#include "base/status_macros.h"

namespace hearth::daemon {
namespace {

// The last answer and what is still to come; shared with the pool's callbacks.
struct Gathering {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<absl::StatusOr<v1::WorkerReply>> replies;
  std::size_t left = 0;
};

}  // namespace

void WorkerCandidateRunner::cancel() {
  std::set<std::uint64_t> jobs;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    jobs = jobs_;
  }
  for (std::uint64_t job : jobs) pool_->cancel(job);
}

bool WorkerCandidateRunner::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

std::vector<absl::StatusOr<v1::WorkerReply>> WorkerCandidateRunner::perform_all(std::vector<Work> work) {
  auto all = std::make_shared<Gathering>();
  all->replies.assign(work.size(), absl::CancelledError("the tuning run was cancelled"));
  all->left = work.size();
  auto put = [all](std::size_t index, absl::StatusOr<v1::WorkerReply> reply) {
    std::lock_guard lock(all->mutex);
    all->replies[index] = std::move(reply);
    if (--all->left == 0) all->changed.notify_all();
  };
  for (std::size_t i = 0; i < work.size(); ++i) {
    CompileJob job;
    job.client = client_;
    job.request.Swap(&work[i].request);
    *job.request.mutable_target() = target_;
    if (!job.request.has_options()) *job.request.mutable_options() = options_;
    job.what = std::move(work[i].what);
    job.done = [put, i](absl::StatusOr<v1::WorkerReply> reply) { put(i, std::move(reply)); };
    absl::StatusOr<std::uint64_t> id = absl::CancelledError("the tuning run was cancelled");
    if (!cancelled()) id = pool_->submit(std::move(job));
    if (!id.ok()) {
      put(i, id.status());
      continue;
    }
    bool late = false;
    {
      std::lock_guard lock(mutex_);
      jobs_.insert(*id);
      late = cancelled_;
    }
    if (late) pool_->cancel(*id);
  }
  std::unique_lock lock(all->mutex);
  all->changed.wait(lock, [&] { return all->left == 0; });
  {
    std::lock_guard own(mutex_);
    jobs_.clear();
  }
  return std::move(all->replies);
}

absl::StatusOr<v1::WorkerReply> WorkerCandidateRunner::perform(v1::WorkerRequest request, const std::string& what) {
  std::vector<Work> work;
  work.push_back({std::move(request), what});
  return std::move(perform_all(std::move(work)).front());
}

std::vector<absl::StatusOr<v1::Candidate>> WorkerCandidateRunner::compile(std::span<const v1::CandidateSpec> specs) {
  std::vector<Work> work;
  for (const v1::CandidateSpec& spec : specs) {
    Work& added = work.emplace_back();
    *added.request.mutable_candidate() = spec;
    added.what = "a candidate of the tuner";
  }
  std::vector<absl::StatusOr<v1::Candidate>> candidates;
  for (absl::StatusOr<v1::WorkerReply>& reply : perform_all(std::move(work))) {
    if (reply.ok()) {
      candidates.emplace_back(std::move(*reply->mutable_candidate()));
    } else {
      candidates.emplace_back(reply.status());
    }
  }
  return candidates;
}

absl::StatusOr<v1::Neighbours> WorkerCandidateRunner::neighbours(const v1::NeighboursSpec& spec) {
  v1::WorkerRequest request;
  *request.mutable_neighbours() = spec;
  HEARTH_ASSIGN_OR_RETURN(v1::WorkerReply reply, perform(std::move(request), "the neighbours of a candidate"));
  return std::move(*reply.mutable_neighbours());
}

absl::StatusOr<v1::Timing> WorkerCandidateRunner::time(const v1::TimeSpec& spec) {
  v1::WorkerRequest request;
  *request.mutable_time() = spec;
  HEARTH_ASSIGN_OR_RETURN(v1::WorkerReply reply, perform(std::move(request), "a timing of the tuner"));
  return std::move(*reply.mutable_timing());
}

}  // namespace hearth::daemon
