#include "daemon/remote/remote_race.h"

#include <utility>

namespace hearth::daemon {
namespace {

RemoteRace::Reason reason_of(RemoteOutcome outcome) {
  switch (outcome) {
    case RemoteOutcome::kMiss:
      return RemoteRace::Reason::kMissing;
    case RemoteOutcome::kIncomplete:
    case RemoteOutcome::kUnsigned:
      return RemoteRace::Reason::kUnusable;
    default:
      return RemoteRace::Reason::kNotAnswered;
  }
}

}  // namespace

void RemoteRace::begin(std::chrono::steady_clock::duration head_start) {
  const std::shared_ptr<RemoteRace> self = shared_from_this();
  std::function<std::shared_ptr<ResultFetch>(std::function<void(RemoteOutcome)>)> ask;
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    ask = std::move(runner_.ask);  // owns whoever asks
    timer_.emplace(head_start, [weak = weak_from_this()] {
      if (const std::shared_ptr<RemoteRace> race = weak.lock()) race->head_start_over();
    });
  }
  std::shared_ptr<ResultFetch> fetch = ask([self](RemoteOutcome outcome) { self->ended(outcome); });
  {
    const std::lock_guard lock(mutex_);
    if (!finished_) {
      fetch_ = std::move(fetch);
      return;
    }
  }
  if (fetch) fetch->cancel();
}

void RemoteRace::head_start_over() {
  std::shared_ptr<ResultFetch> unsent;
  {
    const std::lock_guard lock(mutex_);
    if (fetch_ && !fetch_->is_sent()) unsent = std::move(fetch_);
  }
  work(unsent ? Reason::kMissing : Reason::kNotAnswered);
  if (unsent) unsent->cancel();
}

void RemoteRace::ended(RemoteOutcome outcome) {
  if (outcome == RemoteOutcome::kHit) return finish();
  work(reason_of(outcome));
}

void RemoteRace::work(Reason reason) {
  std::function<void(Reason)> work;
  {
    const std::lock_guard lock(mutex_);
    if (finished_ || std::exchange(works_, true)) return;
    work = std::move(runner_.work);
  }
  runner_.post([work = std::move(work), reason] { work(reason); });
}

void RemoteRace::finish() {
  std::shared_ptr<ResultFetch> fetch;
  std::function<void(Reason)> work;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finished_, true)) return;
    fetch = std::move(fetch_);
    work = std::move(runner_.work);  // may own whoever asks: destroyed unlocked
    if (timer_) timer_->cancel();
  }
  if (fetch) fetch->cancel();
}

}  // namespace hearth::daemon
