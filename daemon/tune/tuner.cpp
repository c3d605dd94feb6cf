#include "daemon/tune/tuner.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "daemon/tune/caller_candidate_runner.h"
#include "daemon/worker/kernel_timer.h"
#include "proto/launch_runs.h"

namespace hearth::daemon {

// One flat kernel of a plan.
struct Tunable {
  v1::KernelChoice choice;
  v1::TunedKernel told;
  double work = 0;
};

namespace {

constexpr std::uint64_t kDefaultBudgetMs = 60'000, kMaxBudgetMs = 24 * 3600 * 1000;
constexpr double kMinShare = 0.01;           // of the work, for a kernel to be worth a search
constexpr double kOpsPerByte = 0.5;          // what moving a byte counts beside an operation
constexpr std::size_t kCandidatesAWave = 2;  // for each worker

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
        bench_(services.pool, caller_.client, request.target(), options_,
               request.caller_times() ? caller_.time : nullptr) {}

  void cancel() override { bench_.cancel(); }
  bool answer(const v1::TimingAnswer& answer) { return bench_.answer(answer); }

  void report_queued() { report(v1::TuneProgress::QUEUED); }

  const ClientId& client() const { return caller_.client; }

  // Goes on until it has ended, which it tells its caller, or until `turn_is_over`; then false.
  bool take_turn(std::function<bool()> turn_is_over) {
    bench_.set_turn(std::move(turn_is_over));
    absl::Status status = is_lowered_ ? absl::OkStatus() : lower();
    const Clock::time_point began = Clock::machine().now();  // what is measured is real
    bench_.set_deadline(began + budget_left_);
    if (status.ok() && !tune()) {
      budget_left_ -= std::min(budget_left_, Clock::machine().now() - began);
      report_queued();
      return false;
    }
    if (bench_.cancelled()) status = absl::CancelledError("the tuning run was cancelled");
    if (!tuned_.empty()) {
      const std::string scope = services_.tuning->scope_of(request_.target(), options_);
      result_.set_changed_plans(static_cast<std::uint32_t>(services_.plan_reads->count_readers(tuned_, scope)));
    }
    caller_.done(status.ok() ? absl::StatusOr<v1::TuneResult>(std::move(result_)) : status);
    return true;
  }
  void refuse(const absl::Status& status) { caller_.done(status); }

 private:
  absl::Status lower() {
    report(v1::TuneProgress::LOWERING);
    v1::WorkerRequest lower;
    *lower.mutable_lower() = request_.graph();
    *lower.mutable_options() = options_;
    lower.mutable_options()->set_dump(true);
    *lower.mutable_records() = services_.tuning->snapshot(request_.target(), options_)->records;
    const std::string what = absl::StrCat("a graph of ", request_.graph().nodes_size(), " nodes");
    HEARTH_ASSIGN_OR_RETURN(v1::WorkerReply reply, bench_.perform(std::move(lower), what));
    tunables_ = tunables_of(reply.lowered());
    progress_.set_kernels_total(static_cast<std::uint32_t>(tunables_.size()));
    is_lowered_ = true;
    return absl::OkStatus();
  }

  // False when the turn ended before the run.
  bool tune() {
    for (; next_ < tunables_.size() && !bench_.cancelled(); ++next_) {
      Tunable& tunable = tunables_[next_];
      if (!tune_one(tunable)) return false;
      is_going_on_ = false;
      *result_.add_kernels() = std::move(tunable.told);
      progress_.set_kernels_done(progress_.kernels_done() + 1);
    }
    return true;
  }

  // False when the turn ended before the search; the next turn goes on with it.
  bool tune_one(Tunable& tunable) {
    v1::TunedKernel& told = tunable.told;
    progress_.set_symbol(told.symbol());
    if (!is_going_on_) {
      progress_.set_candidates(0);
      progress_.set_speedup(1);
    }
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
    } else if (told.share() < kMinShare) {
      told.set_detail(absl::StrCat("has less than ", kMinShare * 100, " % of the work"));
    } else if (has_searched_ && bench_.is_past_deadline()) {
      const double budget_s = std::chrono::duration<double>(budget_).count();
      told.set_detail(absl::StrCat("the budget of ", budget_s, " s was used up before"));
    } else {
      SearchOptions options;
      options.wave = kCandidatesAWave * std::max(1u, num_workers_);
      options.threads = std::max(1u, request_.target().threads());
      const std::uint32_t before = told.candidates();  // in earlier turns
      options.progress = [this, before](std::uint32_t candidates, double speedup) {
        progress_.set_candidates(before + candidates);
        progress_.set_speedup(speedup);
        report(v1::TuneProgress::TUNING);
      };
      if (!request_.again() || is_going_on_) {
        options.from = known.rest();
        *options.best.mutable_opts() = known.opts();
      }
      const SearchResult found = search(tunable.choice.flat(), bench_, options);
      tell(found, known, tunable);
      is_going_on_ = found.status.ok() && !found.finished && !bench_.is_past_deadline();
    }
    return !is_going_on_;
  }

  // `known`: what earlier searches have found.
  void tell(const SearchResult& found, const v1::TuningRecord& known, Tunable& tunable) {
    v1::TunedKernel& told = tunable.told;
    told.set_candidates(told.candidates() + found.candidates);
    told.set_failed_candidates(told.failed_candidates() + found.failed);
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
    tuned_.insert(tunable.choice.digest());
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
  CallerCandidateRunner bench_;
  v1::TuneProgress progress_;
  bool has_searched_ = false;
  bool is_lowered_ = false;
  bool is_going_on_ = false;  // with the search of tunables_[next_]
  std::vector<Tunable> tunables_;
  std::size_t next_ = 0;
  v1::TuneResult result_;
  std::set<std::string> tuned_;  // digests of kernels with other opts than before
  const Clock::duration budget_ =
      std::chrono::milliseconds(request_.budget_ms() ? std::min(request_.budget_ms(), kMaxBudgetMs) : kDefaultBudgetMs);
  Clock::duration budget_left_ = budget_;
};

Tuner::Tuner(const Preparer* preparer, unsigned num_workers, std::chrono::milliseconds turn, const Clock& clock)
    : preparer_(preparer), num_workers_(num_workers), turn_(turn), clock_(clock) {}

std::shared_ptr<Tuner::Job> Tuner::tune(const v1::TuneRequest& request, Caller caller) {
  absl::Status status =
      preparer_->check(request.protocol_version(), request.graph(), request.target(), request.options(), /*model=*/"");
  if (status.ok() && !is_timed(request.target()) && !(request.caller_times() && request.target().has_gpu())) {
    status =
        absl::UnimplementedError(absl::StrCat("no worker has device '", request.target().device(),
                                              "': tuned are kernels of the CPU, and a GPU's that the caller times"));
  }
  std::shared_ptr<Run> run;
  if (status.ok()) {
    run = std::make_shared<Run>(preparer_->services(), num_workers_, request, std::move(caller));
    run->report_queued();
    std::lock_guard lock(mutex_);
    const auto own = std::count_if(waiting_.begin(), waiting_.end(),
                                   [&](const auto& other) { return other->client() == run->client(); });
    if (stopping_) {
      status = absl::UnavailableError("the daemon is shutting down");
    } else if (waiting_.size() >= kMaxWaitingRuns) {
      status = absl::ResourceExhaustedError(
          absl::StrCat(waiting_.size(), " tuning runs wait already, as many as may; try again later"));
    } else if (static_cast<std::size_t>(own) >= kMaxWaitingRuns / 2) {
      status = absl::ResourceExhaustedError(
          absl::StrCat(own, " tuning runs of this ", kind_of(run->client()), " wait already, as many as one may have"));
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

absl::Status Tuner::answer(const v1::TimingAnswer& answer) {
  std::shared_ptr<Run> current;
  {
    std::lock_guard lock(mutex_);
    current = current_;
  }
  if (current && current->answer(answer)) return absl::OkStatus();
  return absl::NotFoundError("no tuning run waits for this timing");
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

bool Tuner::is_awaited_by_others(const ClientId& client) {
  std::lock_guard lock(mutex_);
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& run) { return run->client() != client; });
}

void Tuner::work() {
  std::unique_lock lock(mutex_);
  ClientId last;
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& run) { return run->client() != last; });
    if (next == waiting_.end()) next = waiting_.begin();
    current_ = *next;
    waiting_.erase(next);
    last = current_->client();
    lock.unlock();
    const Clock::time_point end = clock_.now() + turn_;
    const bool has_ended =
        current_->take_turn([this, end, client = last] { return clock_.now() >= end && is_awaited_by_others(client); });
    lock.lock();
    if (!has_ended) waiting_.push_back(current_);
    current_ = nullptr;
  }
}

}  // namespace hearth::daemon
