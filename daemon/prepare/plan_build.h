// PlanBuild: everything a plan miss does, once for all callers of its key.
//
//   lower in a worker -> kernel keys -> find or compile each kernel (shared between plans) -> fill in digests -> store
//
// Kernels that are blobs are the BlobBuilder's. A stored plan with blobs is only right while their sources are what
// they were; one that is not is built again. Where a blob cannot be compiled, the graph is lowered without libraries: a
// broken blob costs speed, not serving.
//
// A state machine on the executor and pool threads; no thread waits. It lives as long as its flight or a step of it.
// cancel() stops queued and running jobs nobody else waits for. Example:
//   auto build = std::make_shared<PlanBuild>(services, graph, target, options, inputs, flight);
//   flight->on_cancel([build] { build->cancel(); });
//   build->start();
#pragma once
#include <absl/status/statusor.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "daemon/async/executor.h"
#include "daemon/async/job_list.h"
#include "daemon/async/single_flight.h"
#include "daemon/blobs/blob_builder.h"
#include "daemon/blobs/blob_libraries.h"
#include "daemon/metrics.h"
#include "daemon/prepare/build_trace.h"
#include "daemon/prepare/ptx_assembler.h"
#include "daemon/store/key_namespace.h"
#include "daemon/store/plan_reads.h"
#include "daemon/store/result_store.h"
#include "daemon/store/tuning_table.h"
#include "daemon/store/user_accounts.h"
#include "daemon/worker_pool/worker_pool.h"
#include "hearth/v1/worker.pb.h"

namespace hearth::daemon {

class RemoteRace;
class RemoteTier;

struct BuildProgress {
  bool lowering = false;  // else compiling
  std::uint32_t kernels_done = 0;
  std::uint32_t kernels_total = 0;
};

struct BuiltPlan {
  PlanResult plan;
  Digest key{};        // that it is stored under
  bool found = false;  // in the store after all
  std::uint32_t compiled_kernels = 0;
  std::uint32_t kernel_hits = 0;
  BuildTrace trace;
};

struct BuiltKernel {
  KernelResult kernel;
  bool found = false;  // in the store, or beyond this node
  uid_t user = 0;      // for whom it was compiled, where it was not found
  bool empty = false;  // its device needs no artifact
  BuildTrace trace;    // of its compile
};

// Another node compiles the kernel: it is waited for.
struct KernelWaits {};
using PlanFlights = SingleFlight<BuiltPlan, BuildProgress>;
using KernelFlights = SingleFlight<BuiltKernel, KernelWaits>;

// What builds share; everything outlives every build.
struct BuildServices {
  std::string build_id;
  ResultStore* store = nullptr;
  WorkerPool* pool = nullptr;
  Executor* executor = nullptr;
  Metrics* metrics = nullptr;
  KernelFlights* kernel_flights = nullptr;
  TuningTable* tuning = nullptr;
  PlanReads* plan_reads = nullptr;
  BlobBuilder* blobs = nullptr;
  BlobLibraries* blob_libraries = nullptr;
  KeyNamespace key_namespace = {};
  UserAccounts* accounts = nullptr;
  bool sealed = false;                    // nothing is compiled for clients
  bool sealed_takes_older_tuning = true;  // what is sealed may have been lowered with other tuning records
  const PtxAssembler* ptx = nullptr;
  RemoteTier* remote = nullptr;      // null: there is no cache beyond this node
  Executor* explanations = nullptr;  // walks over the cache, of clients in turns: no other step waits for one
};

// What a plan is made of besides graph, target and options, and the keys that follow.
struct PlanInputs {
  std::shared_ptr<const TuningSnapshot> tuning;
  BlobLibraryRefs libraries;
  // Keys but for tuning: that which the user's builds are stored under, then, where that is the user's own, that of
  // what the operator had built for everybody.
  std::vector<cache::KeyMaterial> materials;
  bool is_private = false;  // never asked for beyond this node, nor sent

  // The key of builds that are one: all tuning records count, since it is not known yet which ones lowering will read.
  cache::KeyMaterial flight() const { return cache::with_tuning(materials.front(), tuning->digest); }
};
PlanInputs plan_inputs(const BuildServices& services, const v1::Graph& graph, const v1::Target& target,
                       const v1::CompileOptions& options, uid_t user, bool with_libraries = true);
// A stored plan that is right for these inputs: the user's own, else everybody's.
struct FoundPlan {
  Digest key{};
  PlanResult plan;
};
std::optional<FoundPlan> find_plan(const BuildServices& services, const PlanInputs& inputs);
// The same without reading a file; nothing does not mean that there is none.
std::optional<FoundPlan> find_recent_plan(const BuildServices& services, const PlanInputs& inputs);
// Also one that was lowered with other tuning records, the newest: as right, but perhaps slower.
std::optional<FoundPlan> find_plan_of_any_tuning(const BuildServices& services, const PlanInputs& inputs);
// The stored plan most like one that is missing, of those that the user may know of.
std::optional<cache::MissExplanation> explain_miss(const BuildServices& services, const PlanInputs& inputs);

// The key of a generated kernel.
cache::KeyMaterial kernel_key(const BuildServices& services, const v1::KernelSpec& spec, const v1::Target& target,
                              const v1::CompileOptions& options, uid_t user);

// Blobs among a stored plan's kernels; looked for only where `libraries` may have given some.
std::vector<v1::PlanKernel> blobs_of(const std::string& plan, const BlobLibraryRefs& libraries);

class PlanBuild : public std::enable_shared_from_this<PlanBuild> {
 public:
  PlanBuild(const BuildServices& services, const v1::Graph& graph, const v1::Target& target,
            const v1::CompileOptions& options, std::string model, PlanInputs inputs, const ClientId& client,
            std::shared_ptr<PlanFlights::Flight> flight);

  void start();
  void cancel();

 private:
  // Another client waits for this build: its jobs also take that client's turns.
  void share(const ClientId& client);
  void look_up();
  void found(FoundPlan plan);
  // One blob of the stored plan `stored_` is still what it was, or not.
  void blob_checked(bool same);
  // Asks the cache beyond this node, and lowers here where that takes long or has nothing.
  void race_remote();
  void remote_found(FoundPlan plan);
  void lower();
  void lowered(absl::StatusOr<v1::WorkerReply> reply);
  // The next of those that are not begun: all at once, or a few where each is asked for beyond this node just before
  // it would be compiled, when another node may have sent it.
  void begin_kernels();
  void find_or_compile(std::size_t index);
  // Sends the plan beyond this node, where all of it is the operator's: a worker that compiled for somebody else may
  // have been taken over by his graph.
  void send(const PlanResult& plan);
  bool is_operators() const;
  void build_blob(std::size_t index);
  void blob_failed(const v1::PlanBlob& blob, const absl::Status& why);
  void lower_without_blobs();
  // One more kernel is there or has failed; the last one publishes. With mutex_ held.
  BuildProgress settle_one();
  void kernel_waits(std::size_t index);
  void kernel_ready(std::size_t index, const KernelFlights::Outcome& outcome, bool first);
  void publish();
  void fail(const absl::Status& status);
  // Leaves every kernel flight and lower job; call unlocked. False where the build had ended before.
  bool leave_all();

  const BuildServices services_;
  PlanInputs inputs_;
  v1::WorkerRequest request_;  // the graph is moved out when it is sent, unless there are blob libraries
  const v1::Target target_;
  const v1::CompileOptions options_;
  const std::string model_;  // what the client calls it
  const ClientId client_;    // who began it
  const std::shared_ptr<PlanFlights::Flight> flight_;

  v1::LoweredPlan lowered_;  // written before the kernel flights start, then read only until publish()
  std::mutex mutex_;
  bool ended_ = false;
  std::uint64_t lower_job_ = 0;
  std::vector<ClientId> others_;  // who wait for it, too
  std::vector<KernelFlights::Ticket> tickets_;
  JobList<BlobBuilder::Job> blob_jobs_;
  std::shared_ptr<RemoteRace> race_;
  bool asks_remote_ = false;            // kernels are asked for beyond this node, and results sent
  std::vector<std::size_t> not_begun_;  // kernels, the next one last
  std::set<std::size_t> waiting_;       // kernels that another node compiles
  bool is_beginning_ = false;           // begin_kernels() is under way
  FoundPlan stored_;                    // a stored plan whose blobs are being checked
  std::size_t num_checks_ = 0;          // still to be answered
  bool is_stale_ = false;
  std::string failed_blob_;  // why a blob was not made: the plan is lowered again once all kernels have settled
  std::vector<std::shared_ptr<const BuiltKernel>> kernels_;
  std::uint32_t num_ready_ = 0;
  std::uint32_t num_compiled_ = 0;
  std::uint32_t num_hits_ = 0;
  BuildTrace trace_;
};

// The options that enter keys and worker requests of a build: `dump` off, and what only dumps read.
v1::CompileOptions without_dump(const v1::CompileOptions& options);
// The graph's part of it: errors of a build that users share name no user's sources (daemon/prepare/node_sources.h).
void clear_provenance(v1::Graph* graph);

// One kernel, found or compiled: the body of a kernel flight.
// `asks_remote`: it is asked for beyond this node, too, and sent.
void build_kernel(const BuildServices& services, const v1::KernelSpec& spec, const v1::Target& target,
                  const v1::CompileOptions& options, const ClientId& client, cache::KeyMaterial material,
                  bool asks_remote, std::shared_ptr<KernelFlights::Flight> flight);

}  // namespace hearth::daemon
