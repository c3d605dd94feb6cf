#include "daemon/worker_pool/worker_pool.h"

#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "daemon/operator.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::milliseconds kLongSleep{3'600'000};

std::int64_t milliseconds_of(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

absl::Status from_worker_error(const CompileJob& job, const v1::WorkerError& error) {
  const int code =
      error.code() >= 1 && error.code() <= 16 ? error.code() : static_cast<int>(absl::StatusCode::kInternal);
  return absl::Status(static_cast<absl::StatusCode>(code),
                      error.message().empty() ? job.what + " failed" : error.message());
}

bool answers(const v1::WorkerRequest& request, const v1::WorkerReply& reply) {
  switch (request.work_case()) {
    case v1::WorkerRequest::kLower:
      return reply.has_lowered();
    case v1::WorkerRequest::kCompile:
      return reply.has_compiled();
    case v1::WorkerRequest::kCandidate:
      return reply.has_candidate();
    case v1::WorkerRequest::kNeighbours:
      return reply.has_neighbours();
    case v1::WorkerRequest::kTime:
      return reply.has_timing();
    case v1::WorkerRequest::kBlob:
      return reply.has_blob();
    case v1::WorkerRequest::kToolchain:
      return reply.has_toolchain();
    case v1::WorkerRequest::kAssemble:
      return reply.has_assembled();
    case v1::WorkerRequest::WORK_NOT_SET:
      return false;
  }
  return false;
}

// What others wait for; not the tuner's work.
std::optional<Timed> timed_as(const v1::WorkerRequest& request) {
  if (request.has_lower()) return Timed::kLower;
  if (request.has_compile()) return Timed::kCompile;
  if (request.has_blob()) return Timed::kBlob;
  return std::nullopt;
}

std::uint64_t nanoseconds_of(Clock::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

}  // namespace

WorkerPool::WorkerPool(WorkerPoolOptions options, PoisonList* poison, Metrics* metrics)
    : options_(std::move(options)),
      poison_(poison),
      metrics_(metrics),
      queue_(options_.max_queued_lowerings, *options_.clock) {
  const unsigned num_slots = std::max(1u, options_.num_workers), num_all = num_slots + options_.num_spare;
  // A quarter of all is there for others than who has long jobs; one regular worker at least keeps what it has begun.
  const unsigned num_shared = options_.num_spare > 0 ? (num_all + 3) / 4 : 0;
  const unsigned num_reserved = std::min(num_slots - 1, num_shared - std::min(num_shared, options_.num_spare));
  for (unsigned i = 0; i < num_all; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->role = i < num_slots - num_reserved ? WorkerRole::kRegular
                          : i < num_slots              ? WorkerRole::kReserved
                                                       : WorkerRole::kSpare;
    slots_.back()->wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  for (auto& slot : slots_) slot->thread = std::thread([this, &slot = *slot] { run(slot); });
}

WorkerPool::~WorkerPool() {
  stopping_ = true;
  queue_.close();
  for (auto& slot : slots_) ::eventfd_write(slot->wake_fd, 1);
  for (auto& slot : slots_) {
    slot->thread.join();
    ::close(slot->wake_fd);
  }
  while (std::optional<CompileJob> job = queue_.pop(std::chrono::milliseconds(0))) {
    job->done(absl::UnavailableError("the daemon is shutting down"));
  }
}

absl::StatusOr<std::uint64_t> WorkerPool::submit(CompileJob job) {
  job.request.clear_id();
  job.digest = sha256(to_bytes(job.key) + job.request.SerializeAsString());
  HEARTH_RETURN_IF_ERROR(poison_->check(job.digest, job.client.uid, options_.clock->now()));
  {
    std::lock_guard lock(mutex_);
    job.id = ++last_id_;
    active_.insert(job.id);
  }
  const std::uint64_t id = job.id;
  job.request.set_id(id);
  absl::Status status = queue_.push(job);
  if (status.ok()) return id;
  {
    std::lock_guard lock(mutex_);
    active_.erase(id);
  }
  if (absl::IsResourceExhausted(status)) {
    const std::string retry_ms = absl::StrCat(retry_after_ms());
    status = absl::ResourceExhaustedError(absl::StrCat(status.message(), "; try again in ", retry_ms, " ms"));
    status.SetPayload(kRetryAfterMsPayload, absl::Cord(retry_ms));
  }
  return status;
}

void WorkerPool::cancel(std::uint64_t id) {
  std::optional<CompileJob> queued = queue_.remove(id);
  {
    std::lock_guard lock(mutex_);
    if (active_.count(id) == 0) return;
    if (queued) {
      active_.erase(id);
      cancelled_.erase(id);
    } else {
      auto slot = std::find_if(slots_.begin(), slots_.end(), [id](const auto& slot) { return slot->job == id; });
      if (slot != slots_.end()) {
        ::eventfd_write((*slot)->wake_fd, 1);
      } else {
        cancelled_.insert(id);
      }
    }
  }
  if (queued) queued->done(absl::CancelledError("cancelled before it was compiled"));
}

void WorkerPool::warm(unsigned num_workers) {
  {
    std::lock_guard lock(mutex_);
    for (auto& slot : slots_) {
      if (num_workers == 0) break;
      if (slot->role == WorkerRole::kSpare) continue;
      if (slot->pid < 0) slot->warm = true;
      --num_workers;
    }
  }
  queue_.wake();
}

std::vector<pid_t> WorkerPool::worker_pids() const {
  std::lock_guard lock(mutex_);
  std::vector<pid_t> pids;
  for (const auto& slot : slots_) {
    if (slot->pid > 0) pids.push_back(slot->pid);
  }
  return pids;
}

void WorkerPool::run(Slot& slot) {
  Clock::time_point idle_since = options_.clock->now();
  while (!stopping_) {
    if (take_warm_request(slot)) {
      if (absl::Status status = slot.worker ? absl::OkStatus() : start_worker(slot, {}); !status.ok()) {
        spdlog::warn("cannot start a compiler worker ahead of need: {}", std::string(status.message()));
      }
      idle_since = options_.clock->now();
    }
    std::optional<CompileJob> job = queue_.pop(slot.worker ? options_.idle_limit : kLongSleep, slot.role);
    if (!job) {
      idle(slot, idle_since);
      continue;
    }
    const Clock::time_point begin = options_.clock->now();
    absl::StatusOr<v1::WorkerReply> reply = absl::CancelledError("cancelled before it was compiled");
    bool has_yielded = false;
    if (begin_job(slot, job->id)) reply = perform(slot, *job, &has_yielded);
    const Clock::duration took = options_.clock->now() - begin;
    if (has_yielded) {
      put_back(slot, *std::move(job), took);
      continue;
    }
    end_job(slot, job->id, took);
    queue_.ended(job->turn, took, slot.role);
    if (options_.one_job_a_worker) drop_worker(slot);
    spdlog::debug("{}: {} after {} ms", job->what, reply.ok() ? "done" : std::string(reply.status().message()),
                  milliseconds_of(options_.clock->now() - begin));
    job->done(std::move(reply));
    idle_since = options_.clock->now();
  }
  drop_worker(slot);
}

void WorkerPool::idle(Slot& slot, Clock::time_point idle_since) {
  if (slot.worker && options_.clock->now() - idle_since >= options_.idle_limit) drop_worker(slot);
}

bool WorkerPool::take_warm_request(Slot& slot) {
  std::lock_guard lock(mutex_);
  return std::exchange(slot.warm, false);
}

absl::Status WorkerPool::ensure_worker(Slot& slot, const CompileJob& job) {
  const bool is_others = slot.uid != job.client.uid && slot.uid != static_cast<uid_t>(-1);
  if (slot.worker && (is_others || !slot.worker->idle_and_alive() || !slot.worker->may_read(job.trees)))
    drop_worker(slot);
  absl::Status status = slot.worker ? absl::OkStatus() : start_worker(slot, job.trees);
  slot.uid = job.client.uid;
  return status;
}

absl::Status WorkerPool::start_worker(Slot& slot, const std::vector<ReadableTree>& trees) {
  WorkerCommand command = options_.command;
  command.trees = trees;
  command.clock = options_.clock;
  const Clock::time_point begin = options_.clock->now();
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::spawn(command, slot.wake_fd);
  if (absl::IsAborted(worker.status())) worker = WorkerProcess::spawn(command, slot.wake_fd);
  absl::Status started = worker.status();
  if (options_.on_start && !absl::IsCancelled(started)) started = options_.on_start(std::move(started), begin);
  if (!started.ok()) return started;
  slot.worker = std::move(*worker);
  ++live_workers_;
  spdlog::debug("worker {} started in {} ms", slot.worker->pid(), milliseconds_of(options_.clock->now() - begin));
  std::lock_guard lock(mutex_);
  slot.pid = slot.worker->pid();
  return absl::OkStatus();
}

void WorkerPool::drop_worker(Slot& slot) {
  if (!slot.worker) return;
  {
    std::lock_guard lock(mutex_);
    slot.pid = -1;
  }
  spdlog::debug("worker {} ends", slot.worker->pid());
  slot.worker.reset();
  slot.uid = static_cast<uid_t>(-1);
  --live_workers_;
}

void WorkerPool::put_back(Slot& slot, CompileJob job, std::chrono::nanoseconds took) {
  spdlog::debug("{}: gave way to others after {} ms", job.what, milliseconds_of(took));
  queue_.ended(job.turn, took);
  {
    std::lock_guard lock(mutex_);
    slot.job = 0;
    eventfd_t wakes = 0;
    // Somebody may have cancelled it meanwhile.
    if (!stopping_ && ::eventfd_read(slot.wake_fd, &wakes) == 0) cancelled_.insert(job.id);
  }
  job.is_long = true;
  const std::uint64_t id = job.id;
  queue_.put_back(std::move(job));
  bool is_cancelled = false;
  {
    std::lock_guard lock(mutex_);
    is_cancelled = cancelled_.count(id) > 0;
  }
  if (is_cancelled) cancel(id);
}

absl::StatusOr<v1::WorkerReply> WorkerPool::perform(Slot& slot, const CompileJob& job, bool* has_yielded) {
  // Identical jobs that were queued before it was refused.
  HEARTH_RETURN_IF_ERROR(poison_->check(job.digest, job.client.uid, options_.clock->now()));
  HEARTH_RETURN_IF_ERROR(ensure_worker(slot, job));
  if (job.started) job.started();
  const Clock::time_point started = options_.clock->now();
  metrics_->took(Timed::kQueue, started - job.queued_at);
  std::function<bool()> must_yield;
  if (slot.role != WorkerRole::kRegular) {
    must_yield = [&] {
      return options_.clock->now() - started >= CompileQueue::kSlice && queue_.others_wait(job.turn);
    };
  }
  Exchange exchange = slot.worker->exchange(job.request, slot.wake_fd, must_yield);
  if (exchange.end == WorkerEnd::kKilled) {
    // Killed from outside: most likely not this job's doing. Once more; a second time counts against it.
    drop_worker(slot);
    metrics_->worker_crashed();
    spdlog::warn("a compiler worker {} while compiling {}: trying once more", exchange.detail, job.what);
    HEARTH_RETURN_IF_ERROR(ensure_worker(slot, job));
    exchange = slot.worker->exchange(job.request, slot.wake_fd, must_yield);
  }
  *has_yielded = exchange.end == WorkerEnd::kYielded;
  if (exchange.end != WorkerEnd::kReply) {
    drop_worker(slot);
    return *has_yielded ? absl::CancelledError(exchange.detail) : describe_failure(job, exchange);
  }
  if (exchange.reply.has_error()) {
    poison_->record_success(job.digest, job.client.uid);
    return from_worker_error(job, exchange.reply.error());
  }
  if (!answers(job.request, exchange.reply)) {
    drop_worker(slot);
    exchange.end = WorkerEnd::kGarbage;
    exchange.detail = "answered with another kind of result";
    return describe_failure(job, exchange);
  }
  poison_->record_success(job.digest, job.client.uid);
  if (const std::optional<Timed> work = timed_as(job.request)) metrics_->took(*work, options_.clock->now() - started);
  v1::JobTimes& times = *exchange.reply.mutable_times();
  times.set_queued_ns(nanoseconds_of(job.queued_at));
  times.set_started_ns(nanoseconds_of(started));
  times.set_ended_ns(nanoseconds_of(options_.clock->now()));
  times.set_worker(static_cast<std::uint32_t>(slot.worker->pid()));
  return std::move(exchange.reply);
}

absl::Status WorkerPool::describe_failure(const CompileJob& job, const Exchange& exchange) {
  if (exchange.end == WorkerEnd::kCancelled) {
    return stopping_ ? absl::UnavailableError("the daemon is shutting down") : absl::CancelledError("cancelled");
  }
  std::string message = absl::StrCat("the compiler worker ", exchange.detail, " while compiling ", job.what);
  absl::StatusCode code = absl::StatusCode::kInternal;
  if (exchange.end == WorkerEnd::kTimedOut) {
    metrics_->worker_timed_out();
    code = absl::StatusCode::kDeadlineExceeded;
  } else {
    metrics_->worker_crashed();
    if (exchange.end == WorkerEnd::kOverLimit) code = absl::StatusCode::kResourceExhausted;
  }
  const std::optional<PoisonList::Refusal> refused = poison_->record_death(
      job.digest, job.client.uid, job.what, job.request.SerializeAsString(), options_.clock->now());
  const bool over_limit = exchange.end == WorkerEnd::kTimedOut || exchange.end == WorkerEnd::kOverLimit;
  if (over_limit) {
    const std::string& setting = exchange.end == WorkerEnd::kTimedOut ? options_.time_setting : options_.memory_setting;
    absl::StrAppend(&message, "; what it may use is the daemon's setting ", setting, " (hearthd --help)");
  }
  if (refused) {
    absl::StrAppend(&message, "; ", refused->sentence);
  } else if (!over_limit) {
    absl::StrAppend(&message, "; a new worker stands by: try again, `hearth stats` counts such ends");
  }
  const std::string with_bundle = absl::StrCat(message, refused ? "; " + refused->bundle : "");
  spdlog::error("{}", with_bundle);
  return absl::Status(code, is_operator(job.client.uid) ? with_bundle : message);
}

bool WorkerPool::begin_job(Slot& slot, std::uint64_t id) {
  std::lock_guard lock(mutex_);
  if (cancelled_.erase(id) > 0) return false;
  slot.job = id;
  return true;
}

void WorkerPool::end_job(Slot& slot, std::uint64_t id, std::chrono::nanoseconds took) {
  std::lock_guard lock(mutex_);
  active_.erase(id);
  cancelled_.erase(id);
  slot.job = 0;
  eventfd_t ignored;
  if (!stopping_) ::eventfd_read(slot.wake_fd, &ignored);
  mean_job_ns_ = (mean_job_ns_ * 7 + static_cast<std::uint64_t>(took.count())) / 8;
}

std::uint64_t WorkerPool::retry_after_ms() const {
  const std::uint64_t wait_ms = queue_.size() * mean_job_ns_ / slots_.size() / 1'000'000;
  return std::clamp<std::uint64_t>(wait_ms, 100, 30'000);
}

}  // namespace hearth::daemon
