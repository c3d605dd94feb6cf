#include "daemon/remote/remote_lookup.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/remote/answer_times.h"
#include "daemon/remote/remote_timer.h"

namespace hearth::daemon {
namespace {

bool is_answer(RemoteOutcome outcome) { return outcome == RemoteOutcome::kHit || outcome == RemoteOutcome::kMiss; }

}  // namespace

class Lookups::Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  Lookup(Lookups* owner, const EntryKey& entry, std::uint64_t most_bytes, std::function<void(RemoteAnswer)> done)
      : owner_(*owner),
        began_(owner->services_.clock.now()),
        entry_(entry),
        most_bytes_(most_bytes),
        done_(std::move(done)) {
    const std::lock_guard lock(owner_.mutex_);
    ++owner_.alive_;
    owner_.under_way_.insert(this);
  }
  ~Lookup() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.under_way_.erase(this);
    if (--owner_.alive_ == 0) owner_.none_left_.notify_all();
  }

  void begin(RemoteServer* server) {
    ask(server);
    if (owner_.services_.server(server) == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (has_ended_) return;
    timer_.emplace(owner_.services_.hedge_after(), [self = weak_from_this(), server] {
      if (const std::shared_ptr<Lookup> lookup = self.lock()) lookup->hedge(server);
    });
  }

  // Local work was first, or nobody waits any more.
  void cancel() {
    const Clock::duration took = owner_.services_.clock.now() - began_;
    // A server that does not answer is not let off because local work is quicker than a call's limit.
    if (took > AnswerTimes::kMostHeadStart) {
      for (const Asked& asked : unanswered())
        asked.server->note(absl::DeadlineExceededError(
            str_cat(asked.server->address().text, ": no answer before the work was done here")));
    }
    end({RemoteOutcome::kLate, absl::CancelledError("local work was first"), {}});
  }

 private:
  struct Asked {
    RemoteServer* server = nullptr;
    std::shared_ptr<ResultFetch> fetch;
    bool has_answered = false;
  };

  std::vector<Asked> unanswered() {
    const std::lock_guard lock(mutex_);
    std::vector<Asked> result;
    std::ranges::copy_if(asked_, std::back_inserter(result), [](const Asked& asked) { return !asked.has_answered; });
    return result;
  }

  void hedge(RemoteServer* slow) {
    RemoteServer* other = owner_.services_.server(slow);
    {
      const std::lock_guard lock(mutex_);
      if (has_ended_ || other == nullptr) return;
    }
    if (owner_.services_.takes_hedge()) ask(other);
  }

  void ask(RemoteServer* server) {
    std::size_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      index = asked_.size();
      asked_.push_back({server, nullptr, false});
    }
    std::shared_ptr<ResultFetch> fetch = fetch_result(
        server->endpoint(), entry_, most_bytes_, server->abilities().batch_bytes, owner_.services_.trusted,
        [self = shared_from_this(), index](RemoteAnswer answer) { self->answered(index, std::move(answer)); });
    {
      const std::lock_guard lock(mutex_);
      if (!has_ended_) {
        asked_[index].fetch = std::move(fetch);
        return;
      }
    }
    fetch->cancel();
  }

  void answered(std::size_t index, RemoteAnswer answer) {
    RemoteServer* server = nullptr;
    bool is_last = false;
    {
      const std::lock_guard lock(mutex_);
      if (asked_[index].has_answered) return;
      asked_[index].has_answered = true;
      asked_[index].fetch.reset();
      server = asked_[index].server;
      is_last = std::ranges::all_of(asked_, &Asked::has_answered);
      if (has_ended_) return;
    }
    // What is gone or unsigned is an answer all the same.
    const bool is_of_server = answer.outcome == RemoteOutcome::kLate || answer.outcome == RemoteOutcome::kError;
    server->note(is_of_server ? answer.status : absl::OkStatus());
    if (is_answer(answer.outcome) || is_last) end(std::move(answer));
  }

  // The first end counts.
  void end(RemoteAnswer answer) {
    std::vector<std::shared_ptr<ResultFetch>> others;
    std::optional<RemoteTimer> timer;
    std::function<void(RemoteAnswer)> done;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(has_ended_, true)) return;
      for (Asked& asked : asked_) {
        if (asked.fetch) others.push_back(std::move(asked.fetch));
      }
      timer_.swap(timer);
      done.swap(done_);
    }
    for (const std::shared_ptr<ResultFetch>& other : others) other->cancel();
    owner_.services_.ended(answer, owner_.services_.clock.now() - began_);
    done(std::move(answer));
  }

  Lookups& owner_;
  const Clock::time_point began_;
  const EntryKey entry_;
  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::function<void(RemoteAnswer)> done_;
  std::vector<Asked> asked_;
  std::optional<RemoteTimer> timer_;
  bool has_ended_ = false;
};

// For whoever asked: keeps nothing alive.
class Lookups::Handle : public ResultFetch {
 public:
  explicit Handle(std::weak_ptr<Lookup> lookup) : lookup_(std::move(lookup)) {}
  void cancel() override {
    if (const std::shared_ptr<Lookup> lookup = lookup_.lock()) lookup->cancel();
  }

 private:
  const std::weak_ptr<Lookup> lookup_;
};

std::shared_ptr<ResultFetch> Lookups::begin(RemoteServer* server, const EntryKey& entry, std::uint64_t most_bytes,
                                            std::function<void(RemoteAnswer)> done) {
  auto lookup = std::make_shared<Lookup>(this, entry, most_bytes, std::move(done));
  lookup->begin(server);
  return std::make_shared<Handle>(lookup);
}

void Lookups::end() {
  std::unique_lock lock(mutex_);
  std::vector<std::shared_ptr<Lookup>> lookups;
  for (Lookup* lookup : under_way_) {
    if (std::shared_ptr<Lookup> alive = lookup->weak_from_this().lock()) lookups.push_back(std::move(alive));
  }
  lock.unlock();
  for (const std::shared_ptr<Lookup>& lookup : lookups) lookup->cancel();
  lookups.clear();
  lock.lock();
  none_left_.wait(lock, [this] { return alive_ == 0; });
}

}  // namespace hearth::daemon
