#include "daemon/tune/tuner.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "daemon/tune/worker_bench.h"
#include "proto/launch_runs.h"

namespace hearth::daemon {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kDefaultBudgetMs = 60'000, kMostBudgetMs = 24 * 3600 * 1000;
constexpr double kLeastShare = 0.01;         // of the work, for a kernel to be worth a search
constexpr double kOpsPerByte = 0.5;          // what moving a byte counts beside an operation
constexpr std::size_t kCandidatesAWave = 2;  // for each worker

// One flat kernel of a plan.
struct Tunable {
  v1::KernelChoice choice;
  v1::TunedKernel told;
  double work = 0;
};

// Distinct flat kernels that run at every replay, most estimated work first.
std::vector<Tunable> tunables_of(const v1::LoweredPlan& lowered) {
  std::vector<Tunable> all;
  std::map<std::string, std::size_t> place;  // by flat digest
  double total = 0;
  const std::vector<std::uint64_t> runs = launch_runs(lowered.plan());
  for (int i = 0; i < lowered.plan().launches_size(); ++i) {
    const v1::Launch& launch = lowered.plan().launches(i);
    const int kernel = static_cast<int>(launch.kernel());
    if (launch.once() || kernel >= lowered.choices_size() || kernel >= lowered.plan().kernels_size()) continue;
    const v1::KernelChoice& choice = lowered.choices(kernel);
    auto [found, added] = place.emplace(choice.digest(), all.size());
    if (added) {
      Tunable& tunable = all.emplace_back();
      tunable.choice = choice;
      tunable.told.set_symbol(lowered.plan().kernels(kernel).symbol());
      if (kernel < lowered.kernel_sources_size()) tunable.told.set_source(lowered.kernel_sources(kernel));
    }
    double work = static_cast<double>(lowered.plan().kernels(kernel).num_ops());
    for (std::uint32_t buffer : launch.buffers()) {
      if (buffer < static_cast<std::uint32_t>(lowered.plan().buffers_size()))
        work += kOpsPerByte * static_cast<double>(lowered.plan().buffers(static_cast<int>(buffer)).max_bytes());
    }
    work *= static_cast<double>(runs[static_cast<std::size_t>(i)]);
    all[found->second].work += work;
    total += work;
  }
  for (Tunable& tunable : all) tunable.told.set_share(total > 0 ? tunable.work / total : 0);
  std::stable_sort(all.begin(), all.end(), [](const Tunable& a, const Tunable& b) { return a.work > b.work; });
  return all;
}

}  // namespace

class Tuner::Run : public Tuner::Job {
 public:
  Run(const BuildServices& services, unsigned num_workers, const v1::TuneRequest& request, Caller caller)
      : services_(services),
        num_workers_(num_workers),
        request_(request),
        options_(without_dump(request.options())),
        caller_(std::move(caller)),
        bench_(services.pool, request.target(), options_) {}

  void cancel() override { bench_.cancel(); }

  void report_queued() { report(v1::TuneProgress::QUEUED); }

  void perform() {
    absl::StatusOr<v1::TuneResult> result = tune();
    if (bench_.cancelled()) result = absl::CancelledError("the tuning run was cancelled");
    caller_.done(std::move(result));
  }
  void refuse(const absl::Status& status) { caller_.done(status); }

 private:
  absl::StatusOr<v1::TuneResult> tune() {
    report(v1::TuneProgress::LOWERING);
    v1::WorkerRequest lower;
    *lower.mutable_lower() = request_.graph();
    *lower.mutable_options() = options_;
    lower.mutable_options()->set_dump(true);
    *lower.mutable_records() = services_.tuning->snapshot(request_.target(), options_)->records;
    const std::string what = absl::StrCat("a graph of ", request_.graph().nodes_size(), " nodes");
    absl::StatusOr<v1::WorkerReply> reply = bench_.perform(std::move(lower), what);
    if (!reply.ok()) return reply.status();
    std::vector<Tunable> tunables = tunables_of(reply->lowered());
    reply->Clear();
    const std::uint64_t budget_ms =
        request_.budget_ms() ? std::min(request_.budget_ms(), kMostBudgetMs) : kDefaultBudgetMs;
    bench_.set_deadline(Clock::now() + std::chrono::milliseconds(budget_ms));
    progress_.set_kernels_total(static_cast<std::uint32_t>(tunables.size()));
    v1::TuneResult result;
    for (Tunable& tunable : tunables) {
      if (bench_.cancelled()) break;
      tune_one(tunable, budget_ms);
      *result.add_kernels() = std::move(tunable.told);
      progress_.set_kernels_done(progress_.kernels_done() + 1);
    }
    return result;
  }

  void tune_one(Tunable& tunable, std::uint64_t budget_ms) {
    v1::TunedKernel& told = tunable.told;
    progress_.set_symbol(told.symbol());
    progress_.set_candidates(0);
    progress_.set_speedup(1);
    report(v1::TuneProgress::TUNING);
    told.set_outcome(v1::TunedKernel::SKIPPED);
    const v1::TuningRecord known =
        services_.tuning->find(tunable.choice.digest(), request_.target(), options_).value_or(v1::TuningRecord());
    const bool is_done = !request_.again() && !known.has_rest();
    if (is_done && tunable.choice.tuned()) {
      told.set_outcome(v1::TunedKernel::KNOWN);
      *told.mutable_best() = tunable.choice.opts();
    } else if (is_done && known.no_gain()) {
      told.set_outcome(v1::TunedKernel::SEARCHED);
      told.set_heuristic_ns(known.heuristic_ns());
      told.set_best_ns(known.heuristic_ns());
      told.set_detail(absl::StrCat("an earlier search tried ", known.candidates(), " candidates"));
    } else if (told.share() < kLeastShare) {
      told.set_detail(absl::StrCat("has less than ", kLeastShare * 100, " % of the work"));
    } else if (has_searched_ && bench_.is_over()) {
      told.set_detail(absl::StrCat("the budget of ", static_cast<double>(budget_ms) / 1000, " s was used up before"));
    } else {
      SearchOptions options;
      options.wave = kCandidatesAWave * std::max(1u, num_workers_);
      options.threads = std::max(1u, request_.target().threads());
      options.progress = [this](std::uint32_t candidates, double speedup) {
        progress_.set_candidates(candidates);
        progress_.set_speedup(speedup);
        report(v1::TuneProgress::TUNING);
      };
      if (!request_.again()) {
        options.from = known.rest();
        *options.best.mutable_opts() = known.opts();
      }
      tell(search(tunable.choice.flat(), bench_, options), known, tunable);
    }
  }

  // `known`: what earlier searches have found.
  void tell(const SearchResult& found, const v1::TuningRecord& known, Tunable& tunable) {
    v1::TunedKernel& told = tunable.told;
    told.set_candidates(found.candidates);
    told.set_failed_candidates(found.failed);
    told.set_detail(found.detail);
    if (!found.status.ok()) {
      told.set_outcome(v1::TunedKernel::FAILED);
      told.set_detail(std::string(found.status.message()));
      return;
    }
    has_searched_ = true;  // however small the budget, one search of a run gets somewhere
    const v1::TuningRecord record = remembered(found, known, tunable);
    *told.mutable_heuristic() = found.heuristic.opts();
    *told.mutable_best() = record.no_gain() ? found.heuristic.opts() : record.opts();
    told.set_heuristic_ns(record.heuristic_ns());
    told.set_best_ns(found.improved ? found.best_ns : record.heuristic_ns());
    told.set_outcome(found.improved      ? v1::TunedKernel::TUNED
                     : !record.no_gain() ? v1::TunedKernel::KNOWN
                     : record.has_rest() ? v1::TunedKernel::UNFINISHED
                                         : v1::TunedKernel::HEURISTIC);
    if (record.has_rest()) {
      told.set_detail(absl::StrCat("the budget ended the search after ", record.candidates(),
                                   " candidates; the next run goes on with it"));
    }
    if (bench_.cancelled()) return;
    const absl::Status kept = services_.tuning->put(tunable.choice.flat(), request_.target(), options_, record);
    if (!kept.ok()) {
      told.set_outcome(v1::TunedKernel::SKIPPED);
      told.set_detail(std::string(kept.message()));
      return;
    }
    if (!found.improved) return;
    spdlog::info("tuned kernel '{}': {:.2f} times as fast", told.symbol(), found.heuristic_ns / found.best_ns);
  }

  // The record that follows from a search: a search that goes on, or begins again, loses nothing that was found before.
  static v1::TuningRecord remembered(const SearchResult& found, const v1::TuningRecord& known, const Tunable& tunable) {
    v1::TuningRecord record = known;
    record.set_kernel(tunable.choice.digest());
    record.set_candidates(known.candidates() + found.candidates);
    record.clear_rest();
    if (!found.finished) *record.mutable_rest() = found.rest;
    if (found.improved) {
      *record.mutable_opts() = found.best.opts();
      record.set_tuned_ns(found.best_ns);
    } else if (record.opts_size() == 0 && tunable.choice.tuned()) {
      *record.mutable_opts() = tunable.choice.opts();
    }
    record.set_no_gain(record.opts_size() == 0);
    // A run that ended before anything was timed knows no better.
    const bool is_news = found.improved || (record.no_gain() && found.heuristic_ns > 0);
    if (is_news) record.set_heuristic_ns(found.heuristic_ns);
    return record;
  }

  void report(v1::TuneProgress::State state) {
    progress_.set_state(state);
    if (caller_.progress) caller_.progress(progress_);
  }

  const BuildServices& services_;
  const unsigned num_workers_;
  const v1::TuneRequest request_;
  const v1::CompileOptions options_;
  const Caller caller_;
  WorkerBench bench_;
  v1::TuneProgress progress_;
  bool has_searched_ = false;
};

Tuner::Tuner(const Preparer* preparer, unsigned num_workers) : preparer_(preparer), num_workers_(num_workers) {}

std::shared_ptr<Tuner::Job> Tuner::tune(const v1::TuneRequest& request, Caller caller) {
  absl::Status status = preparer_->check(request.protocol_version(), request.graph(), request.target());
  if (status.ok() && request.target().device() != "cpu") {
    status =
        absl::UnimplementedError(absl::StrCat("device '", request.target().device(), "' is not tuned for; use cpu"));
  }
  std::shared_ptr<Run> run;
  if (status.ok()) {
    run = std::make_shared<Run>(preparer_->services(), num_workers_, request, std::move(caller));
    run->report_queued();
    std::lock_guard lock(mutex_);
    if (stopping_) {
      status = absl::UnavailableError("the daemon is shutting down");
    } else if (waiting_.size() >= kMaxWaitingRuns) {
      status = absl::ResourceExhaustedError(
          absl::StrCat(waiting_.size(), " tuning runs wait already, as many as may; try again later"));
    } else {
      waiting_.push_back(run);
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
      changed_.notify_one();
      return run;
    }
  }
  run ? run->refuse(status) : caller.done(status);
  return nullptr;
}

void Tuner::stop() {
  std::deque<std::shared_ptr<Run>> waiting;
  std::shared_ptr<Run> current;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting.swap(waiting_);
    current = current_;
  }
  changed_.notify_all();
  if (current) current->cancel();
  for (const auto& run : waiting) run->refuse(absl::UnavailableError("the daemon is shutting down"));
  if (thread_.joinable()) thread_.join();
}

void Tuner::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    current_->perform();
    lock.lock();
    current_ = nullptr;
  }
}

}  // namespace hearth::daemon
