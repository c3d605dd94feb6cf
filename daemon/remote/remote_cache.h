// RemoteCache: a cache that nodes share, in front of which each node's own lies: verified results of one or two servers
// of the Remote Execution API v2, and results of this node's for others. It never makes anything fail: what cannot be
// had is a miss, counted by its reason, and a server that does not answer is not asked for a while (CircuitBreaker).
// Where a second server is configured it is asked when the first is gone or, for a few calls, slow.
// Owns connections and what is under way; starts no thread of its own. `done` is called once, on a thread of gRPC's or
// before fetch() returns; it must not destroy the cache. Thread-safe. No errors.
//
//   RemoteCache remote(settings, clock);
//   remote.begin();
//   std::shared_ptr<ResultFetch> fetch = remote.fetch(entry, most_bytes, [](RemoteAnswer answer) { … });
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/remote/answer_times.h"
#include "daemon/remote/compile_leases.h"
#include "daemon/remote/hedge_budget.h"
#include "daemon/remote/remote_server.h"
#include "daemon/remote/remote_settings.h"
#include "daemon/remote/result_fetch.h"
#include "daemon/remote/upload_queue.h"

namespace hearth::daemon {

class Lookups;

struct RemoteCounters {
  std::array<std::uint64_t, kNumRemoteOutcomes> lookups{};  // by RemoteOutcome
  std::uint64_t hedges = 0;
  std::uint64_t breaker_openings = 0;
  UploadCounters uploads;
};

class RemoteCache {
 public:
  RemoteCache(const RemoteSettings& settings, const Clock& clock);
  ~RemoteCache();

  const RemoteSettings& settings() const { return settings_; }
  // Connects, and asks the servers what they can do.
  void begin();
  // Now and then: tries servers again that have not answered for a while.
  void maintain();

  // True while look-ups are sent.
  bool is_asked() const;
  AnswerTimes::Duration head_start() const { return times_.head_start(); }
  // Where no server is asked, `done` gets kError at once and nothing is counted.
  std::shared_ptr<ResultFetch> fetch(const EntryKey& entry, std::uint64_t most_bytes,
                                     std::function<void(RemoteAnswer)> done);

  // True where results are sent: a writer key is configured and could be read.
  bool is_writer() const { return writer_ != nullptr; }
  // Signs the files and sends them, some time.
  void publish(const EntryKey& entry, std::vector<RemoteFile> files);
  // Decides between this node and the others which of them compiles what none has (CompileLeases); writers only.
  void lease(const EntryKey& entry, CompileLeases::Waiter waiter) { leases_.begin(entry, std::move(waiter)); }
  // Waits for what is being sent, no longer than that; then nothing more is.
  void drain(std::chrono::milliseconds limit);
  // Cancels all look-ups and waits for them; from now on nothing is asked for or sent.
  void end();

  RemoteCounters counters() const;
  // OK, or what is wrong with the servers and keys, one line.
  absl::Status health() const;

 private:
  void ended(const RemoteAnswer& answer, Clock::duration took);
  // One whose breaker is closed, other than `except`; the first is preferred. Null when there is none.
  RemoteServer* server_to_ask(const RemoteServer* except) const;

  const RemoteSettings settings_;
  const std::shared_ptr<const TrustedKeys> trusted_;
  AnswerTimes times_;
  HedgeBudget hedges_;
  std::atomic<bool> has_ended_{false};
  mutable std::mutex mutex_;
  std::array<std::uint64_t, kNumRemoteOutcomes> lookups_{};
  std::set<std::string> alerts_;  // that were logged
  absl::Status writer_problem_;
  std::unique_ptr<const Ed25519Secret> writer_;
  UploadQueue uploads_;
  std::unique_ptr<Lookups> lookup_;
  CompileLeases leases_;
  std::vector<std::unique_ptr<RemoteServer>> servers_;
};

}  // namespace hearth::daemon
