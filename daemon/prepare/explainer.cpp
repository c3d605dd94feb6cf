#include "daemon/prepare/explainer.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "proto/launch_runs.h"

namespace hearth::daemon {
namespace {

class ExplainJob : public Explainer::Job, public std::enable_shared_from_this<ExplainJob> {
 public:
  ExplainJob(Preparer* preparer, const v1::ExplainRequest& request, const ClientId& client, Explainer::Done done)
      : preparer_(preparer),
        services_(preparer->services()),
        request_(request),
        client_(client),
        done_(std::move(done)) {}

  void start() {
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      has_started_ = true;
    }
    const v1::CompileOptions options = without_dump(request_.options());
    const PlanInputs inputs = plan_inputs(services_, request_.graph(), request_.target(), options, client_.uid);
    const std::optional<FoundPlan> found = find_plan(services_, inputs);
    const std::optional<std::string> tuning = services_.plan_reads->find(inputs.materials.front(), *inputs.tuning);
    const cache::KeyMaterial material =
        cache::with_tuning(inputs.materials.front(), tuning.value_or(inputs.tuning->digest));
    response_.set_plan_key(to_bytes(found ? found->key : cache::key(material)));
    for (const cache::KeyPart& part : material.parts()) {
      v1::KeyPart& shown = *response_.add_key_parts();
      shown.set_name(part.name);
      shown.set_digest(to_bytes(part.digest()));
      shown.set_detail(part.detail);
    }
    response_.set_plan_cached(found.has_value());
    if (!found) tell_nearest(inputs);
    if (request_.only_key()) return finish(absl::OkStatus());
    if (services_.sealed) {
      return finish(absl::FailedPreconditionError(
          "this daemon is sealed and compiles nothing: hearth explain --why-miss says what is in its cache"));
    }
    CompileJob job;
    *job.request.mutable_lower() = request_.graph();
    *job.request.mutable_records() = inputs.tuning->records;
    job.request.mutable_blob_libraries()->Assign(inputs.libraries.begin(), inputs.libraries.end());
    job.what = absl::StrCat("a graph of ", request_.graph().nodes_size(), " nodes");
    submit(std::move(job), [](ExplainJob& self, v1::WorkerReply& reply) { self.lowered(*reply.mutable_lowered()); });
  }

  void cancel() override { finish(absl::CancelledError("cancelled")); }

 private:
  using Step = std::function<void(ExplainJob&, v1::WorkerReply&)>;

  void tell_nearest(const PlanInputs& inputs) {
    const std::optional<cache::MissExplanation> nearest = explain_miss(services_, inputs);
    if (!nearest) return;
    response_.set_nearest_plan_key(to_bytes(nearest->nearest_key));
    for (const std::string& name : nearest->differing) response_.add_differing_parts(name);
  }

  // One worker job, with dumps; `step` runs on the executor with its reply.
  void submit(CompileJob job, Step step) {
    job.client = client_;
    *job.request.mutable_target() = request_.target();
    *job.request.mutable_options() = request_.options();
    job.request.mutable_options()->set_dump(true);
    job.done = [self = shared_from_this(), step = std::move(step)](absl::StatusOr<v1::WorkerReply> reply) {
      auto shared = std::make_shared<absl::StatusOr<v1::WorkerReply>>(std::move(reply));
      self->services_.executor->post([self, step, shared] {
        if (!shared->ok()) return self->finish(shared->status());
        step(*self, **shared);
      });
    };
    absl::StatusOr<std::uint64_t> id = services_.pool->submit(std::move(job));
    if (!id.ok()) return finish(id.status());
    bool ended = false;
    {
      std::lock_guard lock(mutex_);
      ended = ended_;
      jobs_.push_back(*id);
    }
    if (ended) services_.pool->cancel(*id);
  }

  void lowered(v1::LoweredPlan& lowered) {
    const int num_kernels = lowered.kernels_size();
    if (lowered.plan().kernels_size() != num_kernels) {
      return finish(absl::InternalError("the compiler returned a plan without its kernels"));
    }
    const absl::StatusOr<std::set<int>> wanted = wanted_kernels(lowered);
    if (!wanted.ok()) return finish(wanted.status());
    std::vector<int> blobs;
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      response_.mutable_passes()->Swap(lowered.mutable_passes());
      response_.mutable_plan()->Swap(lowered.mutable_plan());
      response_.mutable_notes()->Swap(lowered.mutable_notes());
      for (int i = 0; i < num_kernels; ++i) {
        describe(i, lowered);
        if (lowered.kernels(i).has_blob()) blobs.push_back(i);
      }
      count_launches();
      for (int i : *wanted) dumped_[i] = std::move(*lowered.mutable_kernels(i));
    }
    // What the cache has of the blobs is asked before anything is compiled.
    look_up_blobs(std::move(blobs), /*cached=*/true, [](ExplainJob& self) { self.prepare(); });
  }

  // A kernel that some launches of a replay run is not `once`, whatever else it does when the plan is prepared.
  void count_launches() {
    const std::vector<std::uint64_t> runs = launch_runs(response_.plan());
    for (const bool once : {true, false}) {
      for (int i = 0; i < response_.plan().launches_size(); ++i) {
        const v1::Launch& launch = response_.plan().launches(i);
        if (launch.once() != once || launch.kernel() >= static_cast<std::uint32_t>(response_.kernels_size())) continue;
        v1::ExplainedKernel& shown = *response_.mutable_kernels(static_cast<int>(launch.kernel()));
        if (shown.once() != once) shown.set_launches(0);
        shown.set_once(once);
        shown.set_launches(shown.launches() + runs[static_cast<std::size_t>(i)]);
      }
    }
  }

  // The kernels whose passes are wanted; blobs have none.
  absl::StatusOr<std::set<int>> wanted_kernels(const v1::LoweredPlan& lowered) const {
    std::set<int> wanted;
    const int num_kernels = lowered.kernels_size();
    for (const std::string& name : request_.dump_kernels()) {
      int place = -1;
      if (!absl::SimpleAtoi(name, &place)) {
        const auto is_named = [&](const std::string& symbol) { return symbol == name || symbol == "hearth_" + name; };
        for (place = num_kernels - 1; place >= 0 && !is_named(lowered.kernels(place).symbol());) --place;
      }
      if (place < 0 || place >= num_kernels) {
        return absl::NotFoundError(absl::StrCat("the plan has no kernel '", name, "'; it has ", num_kernels,
                                                num_kernels > 0 ? ", numbered from 0" : ""));
      }
      wanted.insert(place);
    }
    for (int i = 0; request_.options().dump() && i < num_kernels; ++i) wanted.insert(i);
    std::erase_if(wanted, [&](int i) { return lowered.kernels(i).has_blob(); });
    return wanted;
  }

  // Kernel `index` as lowering made it, and whether the cache has it.
  void describe(int index, const v1::LoweredPlan& lowered) {
    v1::ExplainedKernel& shown = *response_.add_kernels();
    const v1::KernelSpec& spec = lowered.kernels(index);
    shown.set_symbol(spec.symbol());
    shown.set_ast(spec.has_blob() ? absl::StrCat("blob ", spec.blob().spec().stem(), "\n") : spec.ast());
    if (index < lowered.kernel_sources_size()) shown.set_source(lowered.kernel_sources(index));
    if (index < lowered.kernel_costs_size()) *shown.mutable_cost() = lowered.kernel_costs(index);
    if (spec.has_blob()) return;
    if (index < lowered.choices_size()) {
      *shown.mutable_opts() = lowered.choices(index).opts();
      shown.set_tuned(lowered.choices(index).tuned());
    }
    const cache::KeyMaterial material =
        kernel_key(services_, spec, request_.target(), without_dump(request_.options()), client_.uid);
    shown.set_key(to_bytes(cache::key(material)));
    shown.set_cached(services_.store->find_kernel(material).has_value());
  }

  // Fills in the keys of those of `blobs` that the cache has, and with `cached` that it has them; then goes on.
  void look_up_blobs(std::vector<int> blobs, bool cached, std::function<void(ExplainJob&)> then) {
    auto left = std::make_shared<std::atomic<std::size_t>>(blobs.size() + 1);
    auto one_less = [self = shared_from_this(), left, then = std::move(then)] {
      if (--*left == 0) self->services_.executor->post([self, then] { then(*self); });
    };
    for (int index : blobs) {
      absl::StatusOr<v1::CompileBlobRequest> request =
          services_.blob_libraries->request_for(response_.plan().kernels(index).blob());
      if (!request.ok()) {
        one_less();
        continue;
      }
      request->set_only_if_cached(true);
      auto done = [self = shared_from_this(), index, cached, one_less](const absl::StatusOr<BlobAnswer>& answer) {
        if (answer.ok()) {
          std::lock_guard lock(self->mutex_);
          if (self->ended_) return;
          v1::ExplainedKernel& shown = *self->response_.mutable_kernels(index);
          shown.set_cached(shown.cached() || cached);
          shown.set_key(to_bytes(answer->built->blob.key));
        }
        one_less();
      };
      services_.blobs->compile(*request, {.client = client_, .done = std::move(done), .progress = nullptr});
    }
    one_less();
  }

  // Compiles what is missing and stores it, for everybody; beside it, what is to be shown once more.
  void prepare() {
    std::map<int, v1::KernelSpec> dumped;
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      dumped.swap(dumped_);
      left_ = dumped.size() + 1;
    }
    for (auto& [index, spec] : dumped) {
      CompileJob job;
      job.what = absl::StrCat("kernel '", spec.symbol(), "'");
      *job.request.mutable_compile() = std::move(spec);
      submit(std::move(job), [index = index](ExplainJob& self, v1::WorkerReply& reply) {
        self.compiled_again(index, *reply.mutable_compiled());
      });
    }
    auto request = std::make_shared<v1::PrepareRequest>();
    request->set_model(request_.model());
    request->set_protocol_version(request_.protocol_version());
    *request->mutable_graph() = std::move(*request_.mutable_graph());
    *request->mutable_target() = request_.target();
    *request->mutable_options() = without_dump(request_.options());
    PlanFlights::Ticket ticket = preparer_->prepare(
        std::move(request),
        {.client = client_,
         .done = [self = shared_from_this()](absl::StatusOr<Prepared> plan) { self->prepared(plan); },
         .progress = nullptr});
    std::lock_guard lock(mutex_);
    if (!ended_) ticket_ = std::move(ticket);
  }

  void prepared(const absl::StatusOr<Prepared>& prepared) {
    if (!prepared.ok()) return finish(prepared.status());
    v1::Plan plan;
    std::vector<int> blobs;
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      const bool same =
          plan.ParseFromString(*prepared->built->plan.plan) && plan.kernels_size() == response_.kernels_size();
      if (prepared->outcome == PrepareOutcome::kMiss) response_.set_compiled_kernels(prepared->built->compiled_kernels);
      if (!same) response_.add_notes("the plan was compiled without blobs, one of which failed; these are not shown");
      std::map<std::string, std::uint64_t> sizes;
      for (const cache::ArtifactRef& ref : prepared->built->plan.artifacts)
        sizes[to_bytes(ref.digest)] = ref.size_bytes;
      for (int i = 0; same && i < plan.kernels_size(); ++i) {
        const std::string& artifact = plan.kernels(i).artifact();
        response_.mutable_plan()->mutable_kernels(i)->set_artifact(artifact);
        response_.mutable_kernels(i)->set_artifact_bytes(sizes[artifact]);
        if (plan.kernels(i).has_blob() && !response_.kernels(i).cached()) blobs.push_back(i);
      }
    }
    look_up_blobs(std::move(blobs), /*cached=*/false, [](ExplainJob& self) { self.done_with_one(); });
  }

  void compiled_again(int index, v1::CompiledKernel& kernel) {
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      response_.mutable_kernels(index)->mutable_passes()->Swap(kernel.mutable_passes());
      digests_[index] = kernel.artifact().data().empty() ? "" : to_bytes(sha256(kernel.artifact().data()));
    }
    done_with_one();
  }

  void done_with_one() {
    {
      std::lock_guard lock(mutex_);
      if (ended_ || --left_ > 0) return;
      for (const auto& [index, digest] : digests_) {
        if (response_.plan().kernels(index).artifact() == digest) continue;
        response_.add_notes(
            absl::StrCat("kernel '", response_.kernels(index).symbol(), "', compiled again to be shown,",
                         " came out differently than what is stored; `hearth cache verify` checks that"));
      }
    }
    finish(absl::OkStatus());
  }

  void finish(const absl::Status& status) {
    std::vector<std::uint64_t> jobs;
    Explainer::Done done;
    PlanFlights::Ticket ticket;  // left unlocked
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(ended_, true)) return;
      jobs.swap(jobs_);
      done.swap(done_);
      ticket = std::move(ticket_);
      if (!has_started_)
        request_ = {};  // it may stand in line for long, and its caller no longer answers for its memory
    }
    for (std::uint64_t job : jobs) services_.pool->cancel(job);
    ticket.leave();
    if (!status.ok()) return done(status);
    done(std::move(response_));
  }

  Preparer* const preparer_;
  const BuildServices& services_;
  v1::ExplainRequest request_;  // its graph goes into the Prepare
  const ClientId client_;
  std::mutex mutex_;
  bool has_started_ = false, ended_ = false;
  Explainer::Done done_;
  std::vector<std::uint64_t> jobs_;
  PlanFlights::Ticket ticket_;
  std::map<int, v1::KernelSpec> dumped_;  // kernels whose passes are wanted, by place
  std::map<int, std::string> digests_;    // of their artifacts
  std::size_t left_ = 0;                  // the Prepare, and kernels that are compiled again
  v1::ExplainResponse response_;
};

}  // namespace

std::shared_ptr<Explainer::Job> Explainer::explain(const v1::ExplainRequest& request, const ClientId& client,
                                                   Done done) {
  absl::Status status = preparer_->check(request.protocol_version(), request.graph(), request.target(),
                                         request.options(), request.model());
  if (!status.ok()) {
    done(status);
    return nullptr;
  }
  auto job = std::make_shared<ExplainJob>(preparer_, request, client, std::move(done));
  // It walks over the cache to explain a miss.
  preparer_->services().explanations->post_for(client, [job] { job->start(); });
  return job;
}

}  // namespace hearth::daemon
