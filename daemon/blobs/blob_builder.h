// BlobBuilder: what CompileBlob means, without gRPC: check the request, look the blob up by what it is made of, else
// compile it once for all callers in a worker of the blob class.
//
// Nothing runs on the caller's thread but the checks. A job lives until it is answered; cancel() leaves it, and a
// compile that nobody waits for any more is stopped. Thread-safe; what it uses outlives it. Errors: blob_check.h's,
// INVALID_ARGUMENT for a source that cannot be read, the worker's (blobs/tools/blob_compiler.h, worker_pool.h), of a
// failure a moment ago (blob_failures.h); NOT_FOUND with only_if_cached; after close() UNAVAILABLE. Example:
//   auto job = builder.compile(request, {.client = client, .done = on_done, .progress = on_stage});
//   job->cancel();   // the caller hung up
#pragma once
#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_digest/file_digest_cache.h"
#include "daemon/async/executor.h"
#include "daemon/async/single_flight.h"
#include "daemon/blobs/blob_failures.h"
#include "daemon/blobs/blob_records.h"
#include "daemon/blobs/blob_toolchains.h"
#include "daemon/metrics.h"
#include "daemon/store/key_namespace.h"
#include "daemon/worker_pool/worker_pool.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

class RemoteEntries;

struct BuiltBlob {
  FoundBlob blob;
  bool found = false;  // in the store after all
  double seconds = 0;  // of the compile
  std::string log;
};
enum class BlobStage { kQueued, kCompiling };
using BlobFlights = SingleFlight<BuiltBlob, BlobStage>;

struct BlobAnswer {
  std::shared_ptr<const BuiltBlob> built;
  BlobOutcome outcome = BlobOutcome::kHit;
};

struct BlobServices {
  ResultStore* store = nullptr;
  WorkerPool* pool = nullptr;  // of the blob class
  Executor* executor = nullptr;
  Metrics* metrics = nullptr;
  const Clock* clock = &Clock::machine();  // of what failed a moment ago
  RemoteEntries* remote = nullptr;         // null: there is no cache beyond this node
  KeyNamespace key_namespace = {};
};

// What a request that may only look is told when there is nothing: an answer, no failure.
bool is_absence(const absl::Status& status);

class BlobBuilder {
 public:
  struct Caller {
    ClientId client;
    std::function<void(absl::StatusOr<BlobAnswer>)> done;  // at most once; not after cancel()
    std::function<void(BlobStage)> progress;               // may be null
  };
  class Job;

  BlobBuilder(const BlobServices& services, std::chrono::milliseconds retry_after);
  ~BlobBuilder();

  std::shared_ptr<Job> compile(const v1::CompileBlobRequest& request, Caller caller);
  // From now on nothing new is accepted.
  void close() { closed_ = true; }
  ResultStore& store() const { return *services_.store; }

 private:
  const BlobServices services_;
  std::atomic<bool> closed_{false};
  files::FileDigestCache files_;
  BlobRecords records_;
  BlobFailures failures_;
  BlobToolchains toolchains_;
  BlobFlights flights_;
};

class BlobBuilder::Job : public std::enable_shared_from_this<Job> {
 public:
  Job(BlobBuilder* builder, const v1::CompileBlobRequest& request, Caller caller)
      : builder_(*builder),
        spec_(request.blob()),
        only_if_cached_(request.only_if_cached()),
        caller_(std::move(caller)) {}

  void cancel();
  // Another client waits for it, too.
  void share(const ClientId& client);

 private:
  friend class BlobBuilder;
  // The steps, in their order; each on the executor.
  void read_source();
  void look_up(const Digest& source, const BlobToolchains::Outcome& toolchain);
  void join();
  void build(const std::shared_ptr<BlobFlights::Flight>& flight);
  // Asks the cache beyond this node, and compiles where that takes long or has nothing (blob_remote.cpp).
  void race_remote(const std::shared_ptr<BlobFlights::Flight>& flight);
  void send(const FoundBlob& blob);
  // The job's number; 0 where there is none. `sends`: beyond this node, too. `compiled` may be null.
  std::uint64_t compile(const std::shared_ptr<BlobFlights::Flight>& flight, bool sends,
                        std::function<void()> compiled = nullptr);
  void store(v1::CompiledBlob& compiled, bool sends, const std::shared_ptr<BlobFlights::Flight>& flight);

  void answer(absl::StatusOr<BlobAnswer> answer);
  bool ended() {
    std::lock_guard lock(mutex_);
    return ended_;
  }
  // Keeps the ticket unless the job has ended; then it is left.
  template <class Ticket>
  void keep(Ticket ticket, Ticket* place) {
    std::lock_guard lock(mutex_);
    if (!ended_) *place = std::move(ticket);
  }

  BlobBuilder& builder_;
  const v1::BlobSpec spec_;
  const bool only_if_cached_;
  Caller caller_;
  // Written by look_up() before the flight begins.
  std::string toolchain_digest_;
  cache::KeyMaterial request_{""};
  Digest flight_key_{};
  std::chrono::system_clock::time_point began_;
  std::mutex mutex_;
  bool ended_ = false;  // answered or cancelled
  std::vector<ClientId> others_;
  BlobToolchains::Flights::Ticket toolchain_ticket_;
  BlobFlights::Ticket ticket_;
};

}  // namespace hearth::daemon
