// Lookups: the look-ups of a RemoteCache that are under way: each asks one server and, where that is slow and the budget
// allows it, another one, too; the first good answer counts. Thread-safe. end() cancels all and waits for them.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "daemon/remote/remote_server.h"
#include "daemon/remote/result_fetch.h"

namespace hearth::daemon {

// What a look-up needs of its cache.
struct LookupServices {
  const Clock& clock;
  std::shared_ptr<const TrustedKeys> trusted;
  // A server that is asked, other than this one (null: any); null when there is none.
  std::function<RemoteServer*(const RemoteServer* except)> server;
  // Whether a second server may be asked, too, and after which time.
  std::function<bool()> takes_hedge;
  std::function<Clock::duration()> hedge_after;
  // The outcome, and how long it took.
  std::function<void(const RemoteAnswer&, Clock::duration)> ended;
};

class Lookups {
 public:
  explicit Lookups(LookupServices services) : services_(std::move(services)) {}

  // `server`: that is asked first. The handle may outlive this.
  std::shared_ptr<ResultFetch> begin(RemoteServer* server, const EntryKey& entry, std::uint64_t most_bytes,
                                     std::function<void(RemoteAnswer)> done);
  void end();

 private:
  class Lookup;
  class Handle;

  const LookupServices services_;
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t alive_ = 0;
  std::set<Lookup*> under_way_;
};

}  // namespace hearth::daemon
