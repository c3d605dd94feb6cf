// CallerCandidateRunner: the CandidateRunner that has workers compile, and whoever asked for the search time the candidates:
// for GPUs, which workers do not have. Where the caller times nothing, workers do. Threads as WorkerCandidateRunner;
// answer() may come from any.
//
//   CallerCandidateRunner bench(pool, client, target, options, ask);
//   SearchResult found = search(kernel, bench, {});   // ask(task) is called; bench.answer(answer) goes on
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/tune/worker_candidate_runner.h"

namespace hearth::daemon {

class CallerCandidateRunner final : public WorkerCandidateRunner {
 public:
  // `ask` may be null: workers time.
  CallerCandidateRunner(WorkerPool* pool, const ClientId& client, v1::Target target, v1::CompileOptions options,
                        std::function<void(const v1::TimingTask&)> ask)
      : WorkerCandidateRunner(pool, client, std::move(target), std::move(options)), ask_(std::move(ask)) {}

  // DEADLINE_EXCEEDED where the caller does not answer, INVALID_ARGUMENT where its times are none.
  absl::StatusOr<v1::Timing> time(const v1::TimeSpec& spec) override;
  // False: nobody waits for it.
  bool answer(const v1::TimingAnswer& answer);
  void cancel() override;

 private:
  const std::function<void(const v1::TimingTask&)> ask_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string awaited_;  // the id of the task that is asked for; empty: none is
  std::optional<v1::TimingAnswer> answer_;
  bool is_cancelled_ = false;
};

}  // namespace hearth::daemon
