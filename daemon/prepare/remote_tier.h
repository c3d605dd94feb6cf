// RemoteTier: plans, kernels and blobs in a cache beyond this node (daemon/remote): under which entry each lies, which
// files it has, and how one becomes an entry of this node's own cache. A plan's entry holds all that a node needs to run
// it: the plan, which tuning records its lowering looks at, and all its kernels. Tuning records themselves are not sent.
// Look-ups are asynchronous: `done` is called once, on the executor; what is found is in the store by then. Thread-safe;
// borrows what it uses. No errors: what cannot be used is a miss that is counted.
//
//   auto fetch = tier.find_plan({inputs, target, options, user, model}, [](RemoteFound<FoundPlan> found) { … });
//   fetch->cancel();
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/prepare/plan_build.h"
#include "daemon/remote/remote_entries.h"

namespace hearth::daemon {

// How a look-up ended, and what it found.
template <class Result>
struct RemoteFound {
  RemoteOutcome outcome = RemoteOutcome::kMiss;
  absl::Status status;           // why nothing was found
  std::optional<Result> result;  // of a hit
};

// What a plan is looked up by.
struct PlanQuery {
  PlanInputs inputs;
  v1::Target target;
  v1::CompileOptions options;
  uid_t user = 0;     // whose account it goes to
  std::string model;  // what the client calls it
};

class RemoteTier {
 public:
  struct Services {
    RemoteEntries* entries = nullptr;
    ResultStore* store = nullptr;
    PlanReads* plan_reads = nullptr;
    TuningTable* tuning = nullptr;
    Executor* executor = nullptr;
    Executor* disk = nullptr;  // of what nobody waits for
    unsigned workers = 1;
    const Clock* clock = &Clock::machine();
  };
  template <class Result>
  using Done = std::function<void(RemoteFound<Result>)>;
  using Fetch = std::shared_ptr<ResultFetch>;

  explicit RemoteTier(Services services) : services_(std::move(services)) {}

  RemoteEntries& entries() const { return *services_.entries; }
  bool is_asked() const { return entries().cache().is_asked(); }
  absl::Status health() const { return entries().cache().health(); }
  bool sends_private() const { return entries().cache().settings().sends_private; }
  AnswerTimes::Duration head_start() const { return entries().cache().head_start(); }
  // How many kernels of a build are under way at once: one more than are compiled, so that each is asked for just
  // before.
  unsigned kernels_at_once() const { return services_.workers + 1; }

  Fetch find_plan(const PlanQuery& query, Done<FoundPlan> done);
  // The same where nothing can be compiled, so that the caller waits for the answer: a miss of a moment ago is one still.
  Fetch find_sealed_plan(const PlanQuery& query, Done<FoundPlan> done);
  Fetch find_kernel(const cache::KeyMaterial& material, uid_t user, Done<KernelResult> done);
  // True where what was built for this user is sent (RemoteEntries).
  bool is_writer(uid_t user) const { return entries().is_writer(user); }
  void send_kernel(const cache::KeyMaterial& material, std::string artifact);
  // `tuning_reads`: LoweredPlan's. The kernels must be the operator's, too.
  void send_plan(const PlanInputs& inputs, const PlanResult& plan,
                 const google::protobuf::RepeatedPtrField<std::string>& tuning_reads);

 private:
  // All tuning records count, since it is not known before a lowering which ones it reads.
  static cache::KeyMaterial plan_material(const PlanInputs& inputs) {
    return cache::with_tuning(inputs.materials.back(), inputs.tuning->digest);
  }
  RemoteFound<FoundPlan> take_plan(const PlanQuery& query, RemoteAnswer answer);

  const Services services_;
  std::mutex mutex_;
  std::map<Digest, std::pair<Clock::time_point, absl::Status>> missing_;  // of a moment ago
};

}  // namespace hearth::daemon
