#include "daemon/prepare/plan_build.h"

#include <absl/strings/str_cat.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "daemon/prepare/remote_tier.h"
#include "daemon/remote/remote_race.h"
#include "proto/versions.h"

namespace hearth::daemon {
namespace {

std::string serialize_deterministically(const v1::Plan& plan) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    plan.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// What a worker says is believed only as far as this: a plan that would make a client misbehave is refused there too.
absl::Status check_lowered(const v1::LoweredPlan& lowered) {
  const v1::Plan& plan = lowered.plan();
  const bool is_known = plan.version() >= kPlanVersion && plan.version() <= kConditionalPlanVersion;
  if (!is_known || plan.kernels_size() != lowered.kernels_size()) {
    return absl::InternalError(absl::StrCat("the compiler returned a plan of version ", plan.version(), " with ",
                                            plan.kernels_size(), " kernels and ", lowered.kernels_size(),
                                            " kernel specifications"));
  }
  for (const v1::Launch& launch : plan.launches()) {
    if (launch.kernel() >= static_cast<std::uint32_t>(plan.kernels_size())) {
      return absl::InternalError(
          absl::StrCat("the compiler returned a launch of kernel ", launch.kernel(), " of ", plan.kernels_size()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

v1::CompileOptions without_dump(const v1::CompileOptions& options) {
  v1::CompileOptions result = options;
  result.clear_dump();
  result.clear_pass_times();
  result.clear_var_values();
  return result;
}

void clear_provenance(v1::Graph* graph) {
  graph->clear_provenance();
  for (v1::Loop& loop : *graph->mutable_loops()) loop.mutable_body()->clear_provenance();
}

cache::KeyMaterial kernel_key(const BuildServices& services, const v1::KernelSpec& spec, const v1::Target& target,
                              const v1::CompileOptions& options, uid_t user) {
  cache::KeyMaterial material = cache::kernel_key_material(spec, target, options, services.build_id);
  if (services.ptx->makes(target)) material.add("ptxas", services.ptx->identity());
  services.key_namespace.add_to_kernel(material, user);
  return material;
}

PlanBuild::PlanBuild(const BuildServices& services, const v1::Graph& graph, const v1::Target& target,
                     const v1::CompileOptions& options, std::string model, PlanInputs inputs, const ClientId& client,
                     std::shared_ptr<PlanFlights::Flight> flight)
    : services_(services),
      inputs_(std::move(inputs)),
      target_(target),
      options_(without_dump(options)),
      model_(std::move(model)),
      client_(client),
      flight_(std::move(flight)) {
  *request_.mutable_lower() = graph;
  clear_provenance(request_.mutable_lower());
  *request_.mutable_target() = target_;
  *request_.mutable_options() = options_;
  request_.mutable_options()->set_pass_times(true);  // whoever joins may want a trace
  *request_.mutable_records() = inputs_.tuning->records;
  request_.mutable_blob_libraries()->Assign(inputs_.libraries.begin(), inputs_.libraries.end());
}

void PlanBuild::start() {
  flight_->on_join([self = shared_from_this()](const ClientId& client) { self->share(client); });
  services_.executor->post([self = shared_from_this()] { self->look_up(); });
}

void PlanBuild::share(const ClientId& client) {
  std::uint64_t lower_job = 0;
  std::vector<std::shared_ptr<KernelFlights::Flight>> flights;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    others_.push_back(client);
    lower_job = lower_job_;
    for (const KernelFlights::Ticket& ticket : tickets_) flights.push_back(ticket.flight());
  }
  if (lower_job != 0) services_.pool->share(lower_job, client);
  for (const auto& flight : flights) {
    if (flight) flight->share(client);
  }
  blob_jobs_.for_each([&](BlobBuilder::Job& job) { job.share(client); });
}

void PlanBuild::look_up() {
  // Another flight may have stored it between the caller's look-up and this flight's start.
  if (std::optional<FoundPlan> stored = find_plan(services_, inputs_)) return found(*std::move(stored));
  if (services_.remote != nullptr && !inputs_.is_private && services_.remote->is_asked()) return race_remote();
  lower();
}

void PlanBuild::lower() {
  // The other workers start while this one lowers.
  services_.pool->warm(~0u);
  CompileJob job;
  const int num_nodes = request_.lower().nodes_size();
  job.request = inputs_.libraries.empty() ? std::move(request_) : request_;
  job.client = client_;
  job.what = absl::StrCat("a graph of ", num_nodes, " nodes");
  job.done = [self = shared_from_this()](absl::StatusOr<v1::WorkerReply> reply) {
    auto shared = std::make_shared<absl::StatusOr<v1::WorkerReply>>(std::move(reply));
    self->services_.executor->post([self, shared] { self->lowered(std::move(*shared)); });
  };
  flight_->report({.lowering = true, .kernels_done = 0, .kernels_total = 0});
  absl::StatusOr<std::uint64_t> id = services_.pool->submit(std::move(job));
  if (!id.ok()) return fail(id.status());
  bool ended = false;
  std::vector<ClientId> others;
  {
    std::lock_guard lock(mutex_);
    lower_job_ = *id;
    ended = ended_;
    others = others_;
  }
  if (ended) return services_.pool->cancel(*id);
  for (const ClientId& client : others) services_.pool->share(*id, client);
}

void PlanBuild::lowered(absl::StatusOr<v1::WorkerReply> reply) {
  {
    std::lock_guard lock(mutex_);
    lower_job_ = 0;
    if (ended_) return;
  }
  if (!reply.ok()) return fail(reply.status());
  lowered_.Swap(reply->mutable_lowered());
  for (const std::string& warning : lowered_.warnings()) spdlog::warn("{}", warning);
  if (absl::Status status = check_lowered(lowered_); !status.ok()) return fail(status);
  const auto num_kernels = static_cast<std::size_t>(lowered_.kernels_size());
  {
    std::lock_guard lock(mutex_);
    kernels_.resize(num_kernels);
    // In any order beside other nodes, so that they compile different ones and find each other's.
    not_begun_.resize(num_kernels);
    std::iota(not_begun_.rbegin(), not_begun_.rend(), std::size_t{0});
    if (asks_remote_) std::ranges::shuffle(not_begun_, std::minstd_rand(std::random_device{}()));
    add_job_spans("the graph", "lower", reply->times(), lowered_.passes(), &trace_);
  }
  flight_->report({.lowering = false, .kernels_done = 0, .kernels_total = static_cast<std::uint32_t>(num_kernels)});
  if (num_kernels == 0) return publish();
  begin_kernels();
}

void PlanBuild::find_or_compile(std::size_t index) {
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
  }
  const v1::KernelSpec& spec = lowered_.kernels(static_cast<int>(index));
  if (spec.has_blob()) return build_blob(index);
  cache::KeyMaterial material = kernel_key(services_, spec, target_, options_, client_.uid);
  KernelFlights::Waiter waiter;
  waiter.done = [self = shared_from_this(), index](const KernelFlights::Outcome& outcome, bool first) {
    self->kernel_ready(index, outcome, first);
  };
  waiter.progress = [self = shared_from_this(), index](const KernelWaits&) { self->kernel_waits(index); };
  waiter.client = client_;
  waiter.again = [self = shared_from_this(), index](std::shared_ptr<KernelFlights::Flight> flight) {
    const v1::KernelSpec& own = self->lowered_.kernels(static_cast<int>(index));
    build_kernel(self->services_, own, self->target_, self->options_, self->client_,
                 kernel_key(self->services_, own, self->target_, self->options_, self->client_.uid), self->asks_remote_,
                 std::move(flight));
  };
  KernelFlights::Ticket ticket = services_.kernel_flights->join(
      cache::key(material), std::move(waiter), [&](std::shared_ptr<KernelFlights::Flight> flight) {
        build_kernel(services_, spec, target_, options_, client_, std::move(material), asks_remote_, std::move(flight));
      });
  const std::shared_ptr<KernelFlights::Flight> flight = ticket.flight();
  std::vector<ClientId> others;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    tickets_.push_back(std::move(ticket));
    others = others_;
  }
  for (const ClientId& client : others) flight->share(client);
}

void PlanBuild::kernel_ready(std::size_t index, const KernelFlights::Outcome& outcome, bool first) {
  if (!outcome.ok()) return fail(outcome.status());
  BuildProgress progress;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    kernels_[index] = *outcome;
    waiting_.erase(index);
    const bool found = (*outcome)->found;
    if (found) {
      services_.metrics->kernel_hit();
      ++num_hits_;
    } else if (first) {
      ++num_compiled_;
    } else {
      services_.metrics->kernel_joined();
    }
    for (const v1::TraceSpan& span : (*outcome)->trace) {
      if (trace_.size() < kMaxTraceSpans) trace_.push_back(span);
    }
    progress = settle_one();
  }
  flight_->report(progress);
  begin_kernels();
}

BuildProgress PlanBuild::settle_one() {
  const auto total = static_cast<std::uint32_t>(kernels_.size());
  if (++num_ready_ == total) {
    const bool complete = failed_blob_.empty();
    services_.executor->post(
        [self = shared_from_this(), complete] { complete ? self->publish() : self->lower_without_blobs(); });
  }
  return {.lowering = false, .kernels_done = num_ready_, .kernels_total = total};
}

void PlanBuild::publish() {
  BuiltPlan built;
  std::shared_ptr<RemoteRace> race;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    race.swap(race_);
    built.compiled_kernels = num_compiled_;
    built.kernel_hits = num_hits_;
    built.trace.swap(trace_);
  }
  if (race) race->finish();
  std::vector<cache::ArtifactRef> artifacts;
  std::set<Digest> seen;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i]->empty) continue;
    const KernelResult& kernel = kernels_[i]->kernel;
    lowered_.mutable_plan()->mutable_kernels(static_cast<int>(i))->set_artifact(to_bytes(kernel.digest));
    if (seen.insert(kernel.digest).second) artifacts.push_back({kernel.digest, kernel.size_bytes});
  }
  const cache::KeyMaterial& stored_as = inputs_.materials.front();
  const std::string tuning = services_.plan_reads->put(stored_as, lowered_.tuning_reads(), *inputs_.tuning,
                                                       services_.tuning->scope_of(target_, options_), client_.uid);
  const cache::KeyMaterial material = cache::with_tuning(stored_as, tuning);
  built.key = cache::key(material);
  built.plan = services_.store->put_plan(material, serialize_deterministically(lowered_.plan()), std::move(artifacts),
                                         client_.uid, model_);
  if (asks_remote_) send(built.plan);
  // Artifacts that are only in memory stay as long as the plan's holders need them.
  auto hold = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  hold->push_back(built.plan.hold);
  for (const auto& kernel : kernels_) hold->push_back(kernel->kernel.hold);
  built.plan.hold = std::move(hold);
  flight_->complete(std::make_shared<const BuiltPlan>(std::move(built)));
}

void PlanBuild::fail(const absl::Status& status) {
  leave_all();
  flight_->complete(status);
}

void PlanBuild::cancel() { leave_all(); }

bool PlanBuild::leave_all() {
  std::vector<KernelFlights::Ticket> tickets;
  std::uint64_t job = 0;
  std::shared_ptr<RemoteRace> race;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return false;
    tickets.swap(tickets_);
    job = std::exchange(lower_job_, 0);
    race.swap(race_);
  }
  if (race) race->finish();
  blob_jobs_.cancel_all();
  if (job != 0) services_.pool->cancel(job);
  return true;
}

}  // namespace hearth::daemon
