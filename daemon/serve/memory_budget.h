// MemoryBudget: memory that calls of all clients share: each takes its charge before it holds the bytes, or waits in
// line until others have given theirs back. Clients take turns, whatever each has waiting, and none holds more than its
// part (one charge of any size excepted). Holders that say how to be cancelled are, when nothing moves for kPatience,
// or for kHastyPatience while others, or more of the same client, wait.
//
// Thread-safe; outlives its charges. Callbacks run unlocked: `go` on the executor, `cancel` in cancel_stalled().
// Example:
//   charge_ = budget.take(client, bytes, go);    // has_room(): at once, go is not called; else go() is, when there is
//   charge_.touch();                             // something moved
//   charge_ = {};                                // gives it back, or leaves the line
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "base/clock.h"
#include "daemon/async/executor.h"
#include "daemon/client_id.h"

namespace hearth::daemon {

class MemoryBudget {
  struct Entry;

 public:
  static constexpr std::chrono::seconds kPatience{30};
  static constexpr std::chrono::seconds kHastyPatience{1};

  struct Limits {
    std::uint64_t total_bytes = 0;
    std::uint64_t of_client_bytes = 0;
  };
  struct Usage {
    std::uint64_t bytes = 0;
    std::size_t holders = 0;
    std::size_t waiting = 0;
  };

  class Charge {
   public:
    Charge() = default;
    ~Charge() { release(); }
    Charge(Charge&& other) noexcept : budget_(other.budget_), entry_(std::move(other.entry_)) {}
    Charge& operator=(Charge&& other) noexcept {
      if (this == &other) return *this;
      release();
      budget_ = other.budget_;
      entry_ = std::move(other.entry_);
      return *this;
    }
    bool has_room() const;
    void touch();

   private:
    friend class MemoryBudget;
    Charge(MemoryBudget* budget, std::shared_ptr<Entry> entry) : budget_(budget), entry_(std::move(entry)) {}
    void release();
    MemoryBudget* budget_ = nullptr;
    std::shared_ptr<Entry> entry_;
  };

  MemoryBudget(Limits limits, Executor* executor, const Clock& clock = Clock::machine())
      : limits_(limits), executor_(executor), clock_(clock) {}

  // `bytes` are at most total_bytes: what is more would wait for ever, the caller refuses it.
  Charge take(const ClientId& client, std::uint64_t bytes, std::function<void()> go,
              std::function<void()> cancel = nullptr);
  // The same for who does not wait: without room nothing is taken and has_room() is false.
  Charge try_take(const ClientId& client, std::uint64_t bytes, std::function<void()> cancel = nullptr);
  std::uint64_t total_bytes() const { return limits_.total_bytes; }
  Usage usage() const;

  // To be called about once a second.
  void cancel_stalled() { cancel_stalled(clock_.now()); }
  void cancel_stalled(Clock::time_point now);

 private:
  struct Entry {
    ClientId client;
    std::uint64_t bytes = 0;
    std::function<void()> go, cancel;
    Clock::time_point moved;
    bool holds = false;
    bool cancelled = false;
  };
  struct Client {
    std::uint64_t bytes = 0;  // held
    std::size_t holders = 0;
    std::deque<std::shared_ptr<Entry>> waiting;
  };

  bool fits_client(const Client& client, std::uint64_t bytes) const;
  bool room_is_wanted() const;
  bool fits_total(std::uint64_t bytes) const { return used_ + bytes <= limits_.total_bytes; }
  void hold(Client& client, const std::shared_ptr<Entry>& entry);
  void give_back(const std::shared_ptr<Entry>& entry);
  void forget_if_unused(const ClientId& client);
  void admit_waiting();

  const Limits limits_;
  Executor* const executor_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
  std::map<ClientId, Client> clients_;
  std::deque<ClientId> turns_;  // of those that have somebody waiting
  std::size_t num_waiting_ = 0;
  std::set<std::shared_ptr<Entry>> holders_;
};

}  // namespace hearth::daemon
