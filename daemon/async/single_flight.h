// SingleFlight: concurrent requests for one key share one piece of work.
//
// The first caller starts the work, later ones join it. The work outlives its first caller as long as anybody waits;
// when the last waiter leaves it is cancelled, and a newcomer starts afresh. Callbacks run outside every lock of this
// class, on the thread that completes. Thread-safe; must outlive its tickets and flights. Example:
//   auto ticket = flights.join(key, {.done = reply, .progress = nullptr}, [&](std::shared_ptr<Flight> flight) {
//     flight->on_cancel([job] { job->cancel(); });
//     job->start([flight](auto result) { flight->complete(std::move(result)); });
//   });
#pragma once
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/sha256.h"

namespace hearth::daemon {

template <class Result, class Progress>
class SingleFlight {
 public:
  using Outcome = absl::StatusOr<std::shared_ptr<const Result>>;
  struct Waiter {
    // Called at most once; `first` for the caller that started the work.
    std::function<void(const Outcome& outcome, bool first)> done;
    std::function<void(const Progress&)> progress;  // may be null
  };

  class Flight {
   public:
    // Gives the result to every waiter; the first call wins, later ones are ignored.
    void complete(Outcome outcome) { owner_->complete(*this, outcome); }
    void report(const Progress& progress) { owner_->report(*this, progress); }
    // `cancel` runs once when the last waiter leaves before completion; at once if that has happened.
    void on_cancel(std::function<void()> cancel) { owner_->on_cancel(*this, std::move(cancel)); }
    bool cancelled() const {
      std::lock_guard lock(owner_->mutex_);
      return cancelled_;
    }

   private:
    friend class SingleFlight;
    Flight(SingleFlight* owner, const Digest& key) : owner_(owner), key_(key) {}

    SingleFlight* const owner_;
    const Digest key_;
    // All guarded by owner_->mutex_.
    std::map<std::uint64_t, Waiter> waiters_;
    std::uint64_t first_ = 0;
    std::optional<Progress> reported_;  // the last
    std::function<void()> cancel_;
    bool finished_ = false;
    bool cancelled_ = false;
  };

  // A caller's place in a flight; destroying it leaves.
  class Ticket {
   public:
    Ticket() = default;
    ~Ticket() { leave(); }
    Ticket(Ticket&& other) noexcept : flight_(std::move(other.flight_)), id_(other.id_) {}
    Ticket& operator=(Ticket&& other) noexcept {
      if (this != &other) {
        leave();
        flight_ = std::move(other.flight_);
        id_ = other.id_;
      }
      return *this;
    }
    void leave() {
      if (std::shared_ptr<Flight> flight = std::move(flight_)) flight->owner_->leave(*flight, id_);
    }

   private:
    friend class SingleFlight;
    Ticket(std::shared_ptr<Flight> flight, std::uint64_t id) : flight_(std::move(flight)), id_(id) {}
    std::shared_ptr<Flight> flight_;
    std::uint64_t id_ = 0;
  };

  // `start` runs on this thread, unlocked, when no flight for `key` is under way; who joins one is told, likewise, what
  // was reported last.
  Ticket join(const Digest& key, Waiter waiter, absl::FunctionRef<void(std::shared_ptr<Flight>)> start) {
    std::shared_ptr<Flight> flight;
    std::uint64_t id = 0;
    bool first = false;
    std::optional<Progress> reported;
    const std::function<void(const Progress&)> progress = waiter.progress;
    {
      std::lock_guard lock(mutex_);
      id = ++last_id_;
      std::shared_ptr<Flight>& slot = flights_[key];
      first = slot == nullptr;
      if (first) {
        slot = std::shared_ptr<Flight>(new Flight(this, key));
        slot->first_ = id;
      }
      flight = slot;
      flight->waiters_.emplace(id, std::move(waiter));
      reported = flight->reported_;
    }
    if (progress && reported) progress(*reported);
    Ticket ticket(flight, id);
    if (first) start(std::move(flight));
    return ticket;
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return flights_.size();
  }

 private:
  void forget(Flight& flight) {
    auto it = flights_.find(flight.key_);
    if (it != flights_.end() && it->second.get() == &flight) flights_.erase(it);
  }

  void complete(Flight& flight, const Outcome& outcome) {
    std::map<std::uint64_t, Waiter> waiters;
    std::function<void()> cancel;
    std::uint64_t first = 0;
    {
      std::lock_guard lock(mutex_);
      if (flight.finished_) return;
      flight.finished_ = true;
      first = flight.first_;
      waiters.swap(flight.waiters_);
      cancel.swap(flight.cancel_);  // may own the work: destroyed unlocked
      forget(flight);
    }
    for (auto& [id, waiter] : waiters) waiter.done(outcome, id == first);
  }

  void report(Flight& flight, const Progress& progress) {
    std::vector<std::function<void(const Progress&)>> listeners;
    {
      std::lock_guard lock(mutex_);
      flight.reported_ = progress;
      for (const auto& [id, waiter] : flight.waiters_) {
        if (waiter.progress) listeners.push_back(waiter.progress);
      }
    }
    for (const auto& listener : listeners) listener(progress);
  }

  void on_cancel(Flight& flight, std::function<void()> cancel) {
    {
      std::lock_guard lock(mutex_);
      if (!flight.cancelled_) {
        if (!flight.finished_) flight.cancel_.swap(cancel);
        return;
      }
    }
    cancel();
  }

  void leave(Flight& flight, std::uint64_t id) {
    Waiter waiter;  // destroyed unlocked
    std::function<void()> cancel;
    {
      std::lock_guard lock(mutex_);
      auto it = flight.waiters_.find(id);
      if (it == flight.waiters_.end()) return;
      waiter = std::move(it->second);
      flight.waiters_.erase(it);
      if (!flight.waiters_.empty() || flight.finished_) return;
      flight.cancelled_ = true;
      cancel.swap(flight.cancel_);
      forget(flight);
    }
    if (cancel) cancel();
  }

  mutable std::mutex mutex_;
  std::map<Digest, std::shared_ptr<Flight>> flights_;
  std::uint64_t last_id_ = 0;
};

}  // namespace hearth::daemon
