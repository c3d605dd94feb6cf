// SingleFlight: concurrent requests for one key share one piece of work.
//
// The first caller starts the work, later ones join it. The work outlives its first caller as long as anybody waits;
// when the last waiter leaves it is cancelled, and a newcomer starts afresh. Who joins another client's work is told to
// it (on_join), so that it need not wait for that client's turns; and an error that may be the doing of who began the
// work is not told to other users: the work is done once more for each of them. Callbacks run outside every lock of this
// class, on the thread that completes. Thread-safe; must outlive its tickets and flights. Example:
//   auto ticket = flights.join(key, {.done = reply, .client = client}, [&](std::shared_ptr<Flight> flight) {
//     flight->on_cancel([job] { job->cancel(); });
//     flight->on_join([job](const ClientId& client) { job->share(client); });
//     job->start([flight](auto result) { flight->complete(std::move(result)); });
//   });
#pragma once
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "daemon/client_id.h"

namespace hearth::daemon {

template <class Result, class Progress>
class SingleFlight {
 public:
  using Outcome = absl::StatusOr<std::shared_ptr<const Result>>;
  class Flight;
  struct Waiter {
    // Called at most once; `first` for the caller that started the work.
    std::function<void(const Outcome& outcome, bool first)> done;
    std::function<void(const Progress&)> progress = nullptr;  // may be null
    ClientId client = {};
    // Starts the work once more, for this user alone; null: errors are told whoever began the work.
    std::function<void(std::shared_ptr<Flight>)> again = nullptr;
  };

  class Flight {
   public:
    // Gives the result to every waiter; the first call wins, later ones are ignored.
    void complete(Outcome outcome) { owner_->complete(*this, outcome); }
    void report(const Progress& progress) { owner_->report(*this, progress); }
    // `cancel` runs once when the last waiter leaves before completion; at once if that has happened.
    void on_cancel(std::function<void()> cancel) { owner_->on_cancel(*this, std::move(cancel)); }
    // `share` is told of the clients that wait beside the one that began: those that do already, then each that comes.
    void on_join(std::function<void(const ClientId&)> share) { owner_->on_join(*this, std::move(share)); }
    // As if this client had joined; it waits elsewhere.
    void share(const ClientId& client) { owner_->add_client(*this, client); }
    bool cancelled() const {
      std::lock_guard lock(owner_->mutex_);
      return cancelled_;
    }

   private:
    friend class SingleFlight;
    Flight(SingleFlight* owner, const Digest& key, const ClientId& starter)
        : owner_(owner), key_(key), starter_(starter) {}

    SingleFlight* const owner_;
    const Digest key_;
    const ClientId starter_;
    // All guarded by owner_->mutex_.
    std::map<std::uint64_t, Waiter> waiters_;
    std::uint64_t first_ = 0;
    std::optional<Progress> reported_;  // the last
    std::function<void()> cancel_;
    std::vector<ClientId> others_;  // beside the starter; the first few
    std::function<void(const ClientId&)> share_;
    std::map<std::uint64_t, std::shared_ptr<Flight>> moved_;  // waiters whose work is done again
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
    // Null for a ticket of nothing.
    const std::shared_ptr<Flight>& flight() const { return flight_; }

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
    const ClientId client = waiter.client;
    {
      std::lock_guard lock(mutex_);
      id = ++last_id_;
      std::shared_ptr<Flight>& slot = flights_[key];
      first = slot == nullptr;
      if (first) {
        slot = std::shared_ptr<Flight>(new Flight(this, key, client));
        slot->first_ = id;
      }
      flight = slot;
      flight->waiters_.emplace(id, std::move(waiter));
      reported = flight->reported_;
    }
    if (progress && reported) progress(*reported);
    Ticket ticket(flight, id);
    if (first) {
      start(std::move(flight));
    } else {
      add_client(*flight, client);
    }
    return ticket;
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return flights_.size();
  }

 private:
  // Clients that a flight tells of; a storm of one user's processes needs no turn of each.
  static constexpr std::size_t kMaxOthers = 64;
  static constexpr std::ptrdiff_t kMaxOfOneUser = 4;

  void forget(Flight& flight) {
    auto it = flights_.find(flight.key_);
    if (it != flights_.end() && it->second.get() == &flight) flights_.erase(it);
  }

  void complete(Flight& flight, const Outcome& outcome) {
    std::map<std::uint64_t, Waiter> waiters;
    std::vector<std::shared_ptr<Flight>> again;
    std::function<void()> cancel;
    std::function<void(const ClientId&)> share;
    std::uint64_t first = 0;
    {
      std::lock_guard lock(mutex_);
      if (flight.finished_) return;
      flight.finished_ = true;
      first = flight.first_;
      waiters.swap(flight.waiters_);
      cancel.swap(flight.cancel_);  // may own the work: destroyed unlocked
      share.swap(flight.share_);
      forget(flight);
      if (!outcome.ok() && !is_of_the_work(outcome.status())) again = move_others(flight, waiters);
    }
    for (auto& [id, waiter] : waiters) waiter.done(outcome, id == first);
    for (std::shared_ptr<Flight>& flight_again : again) begin_again(std::move(flight_again));
  }

  // What anybody's work of this key would end with.
  static bool is_of_the_work(const absl::Status& status) {
    return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  }

  // Takes the waiters of other users than who began `flight` out of `waiters`, into a flight of each user's.
  std::vector<std::shared_ptr<Flight>> move_others(Flight& flight, std::map<std::uint64_t, Waiter>& waiters) {
    std::map<uid_t, std::shared_ptr<Flight>> by_user;
    for (auto it = waiters.begin(); it != waiters.end();) {
      const ClientId client = it->second.client;
      if (client.uid == flight.starter_.uid || !it->second.again) {
        ++it;
        continue;
      }
      std::shared_ptr<Flight>& own = by_user[client.uid];
      if (own == nullptr) {
        own = std::shared_ptr<Flight>(new Flight(this, flight.key_, client));
        own->first_ = it->first;
      }
      flight.moved_[it->first] = own;
      own->waiters_.insert(waiters.extract(it++));
    }
    std::vector<std::shared_ptr<Flight>> all;
    for (auto& [uid, own] : by_user) all.push_back(std::move(own));
    return all;
  }

  void begin_again(std::shared_ptr<Flight> flight) {
    std::function<void(std::shared_ptr<Flight>)> again;
    {
      std::lock_guard lock(mutex_);
      if (flight->waiters_.empty()) return;  // all have left
      again = flight->waiters_.begin()->second.again;
    }
    again(std::move(flight));
  }

  void on_join(Flight& flight, std::function<void(const ClientId&)> share) {
    std::vector<ClientId> there;
    {
      std::lock_guard lock(mutex_);
      if (flight.finished_ || flight.cancelled_) return;
      flight.share_ = share;
      there = flight.others_;
    }
    for (const ClientId& client : there) share(client);
  }

  void add_client(Flight& flight, const ClientId& client) {
    std::function<void(const ClientId&)> share;
    {
      std::lock_guard lock(mutex_);
      std::vector<ClientId>& others = flight.others_;
      if (flight.finished_ || flight.cancelled_ || client == flight.starter_) return;
      if (std::find(others.begin(), others.end(), client) != others.end() || others.size() >= kMaxOthers) return;
      const auto is_same_user = [&](const ClientId& other) { return other.uid == client.uid; };
      if (std::count_if(others.begin(), others.end(), is_same_user) >= kMaxOfOneUser) return;
      others.push_back(client);
      share = flight.share_;
    }
    if (share) share(client);
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
    std::function<void(const ClientId&)> share;
    std::shared_ptr<Flight> moved;
    {
      std::lock_guard lock(mutex_);
      auto it = flight.waiters_.find(id);
      if (it == flight.waiters_.end()) {
        const auto place = flight.moved_.find(id);
        if (place == flight.moved_.end()) return;
        moved = place->second;
      } else {
        waiter = std::move(it->second);
        flight.waiters_.erase(it);
        if (!flight.waiters_.empty() || flight.finished_) return;
        flight.cancelled_ = true;
        cancel.swap(flight.cancel_);
        share.swap(flight.share_);
        forget(flight);
      }
    }
    if (moved) return leave(*moved, id);
    if (cancel) cancel();
  }

  mutable std::mutex mutex_;
  std::map<Digest, std::shared_ptr<Flight>> flights_;
  std::uint64_t last_id_ = 0;
};

}  // namespace hearth::daemon
