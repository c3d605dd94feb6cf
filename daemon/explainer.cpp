#include "daemon/explainer.h"

#include <absl/strings/str_cat.h>

#include <map>
#include <mutex>
#include <utility>

namespace hearth::daemon {
namespace {

class ExplainJob : public Explainer::Job, public std::enable_shared_from_this<ExplainJob> {
 public:
  ExplainJob(const BuildServices& services, const v1::ExplainRequest& request, Explainer::Done done)
      : services_(services), request_(request), done_(std::move(done)) {
    request_.mutable_options()->set_dump(true);
  }

  void start() {
    const v1::CompileOptions options = without_dump(request_.options());
    const PlanInputs inputs = plan_inputs(services_, request_.graph(), request_.target(), options);
    const cache::KeyMaterial& material = inputs.material;
    response_.set_plan_key(to_bytes(cache::key(material)));
    for (const cache::KeyPart& part : material.parts()) {
      v1::KeyPart& shown = *response_.add_key_parts();
      shown.set_name(part.name);
      shown.set_digest(to_bytes(part.digest()));
      shown.set_detail(part.detail);
    }
    response_.set_plan_cached(services_.store->find_plan(material).has_value());
    if (!response_.plan_cached()) explain_miss(material);
    CompileJob job;
    *job.request.mutable_lower() = request_.graph();
    *job.request.mutable_records() = inputs.tuning->records;
    job.request.mutable_blob_libraries()->Assign(inputs.libraries.begin(), inputs.libraries.end());
    job.key = cache::key(material);
    job.what = absl::StrCat("a graph of ", request_.graph().nodes_size(), " nodes");
    submit(std::move(job), [](ExplainJob& self, v1::WorkerReply& reply) { self.lowered(*reply.mutable_lowered()); });
  }

  void cancel() override { finish(absl::CancelledError("cancelled")); }

 private:
  using Step = std::function<void(ExplainJob&, v1::WorkerReply&)>;

  void explain_miss(const cache::KeyMaterial& material) {
    const std::optional<cache::MissExplanation> nearest = services_.store->explain_miss(material);
    if (!nearest) return;
    response_.set_nearest_plan_key(to_bytes(nearest->nearest_key));
    for (const std::string& name : nearest->differing) response_.add_differing_parts(name);
  }

  // One worker job; `step` runs on the executor with its reply.
  void submit(CompileJob job, Step step) {
    *job.request.mutable_target() = request_.target();
    *job.request.mutable_options() = request_.options();
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
    std::vector<CompileJob> jobs;
    std::vector<int> compiled;
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      response_.mutable_passes()->Swap(lowered.mutable_passes());
      response_.mutable_plan()->Swap(lowered.mutable_plan());
      response_.mutable_notes()->Swap(lowered.mutable_notes());
      for (int i = 0; i < num_kernels; ++i) {
        CompileJob job;
        if (!describe(i, lowered, &job)) continue;
        jobs.push_back(std::move(job));
        compiled.push_back(i);
      }
      for (const v1::Launch& launch : response_.plan().launches()) {
        if (launch.once() && launch.kernel() < static_cast<std::uint32_t>(num_kernels))
          response_.mutable_kernels(static_cast<int>(launch.kernel()))->set_once(true);
      }
      left_ = jobs.size() + blobs_.size() + 1;  // one is ours: no answer is the last before all are asked
    }
    for (int index : blobs_) look_up_blob(index);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      submit(std::move(jobs[i]), [index = compiled[i]](ExplainJob& self, v1::WorkerReply& reply) {
        self.kernel_compiled(index, *reply.mutable_compiled());
      });
    }
    done_with_one();
  }

  // Fills in whether blob `index` is in the cache; it is not compiled to be explained.
  void look_up_blob(int index) {
    absl::StatusOr<v1::CompileBlobRequest> request =
        services_.blob_libraries->request_for(response_.plan().kernels(index).blob());
    if (!request.ok()) return done_with_one();
    request->set_only_if_cached(true);
    auto done = [self = shared_from_this(), index](const absl::StatusOr<BlobAnswer>& answer) {
      if (answer.ok()) {
        const FoundBlob& blob = answer->built->blob;
        std::lock_guard lock(self->mutex_);
        if (self->ended_) return;
        v1::ExplainedKernel& shown = *self->response_.mutable_kernels(index);
        shown.set_cached(true);
        shown.set_key(to_bytes(blob.key));
        shown.set_artifact_bytes(blob.artifact.size_bytes);
        self->response_.mutable_plan()->mutable_kernels(index)->set_artifact(to_bytes(blob.artifact.digest));
      }
      self->done_with_one();
    };
    services_.blobs->compile(*request, {.done = std::move(done), .progress = nullptr});
  }

  // Fills in kernel `index`; true, with its job, when it is not in the cache.
  bool describe(int index, v1::LoweredPlan& lowered, CompileJob* job) {
    v1::ExplainedKernel& shown = *response_.add_kernels();
    const v1::KernelSpec& spec = lowered.kernels(index);
    if (spec.has_blob()) {
      shown.set_symbol(spec.symbol());
      shown.set_ast(absl::StrCat("blob ", spec.blob().spec().stem(), "\n"));
      if (index < lowered.kernel_sources_size()) shown.set_source(lowered.kernel_sources(index));
      blobs_.push_back(index);
      return false;
    }
    cache::KeyMaterial material =
        cache::kernel_key_material(spec, request_.target(), without_dump(request_.options()), services_.build_id);
    shown.set_symbol(spec.symbol());
    shown.set_key(to_bytes(cache::key(material)));
    shown.set_ast(spec.ast());
    if (index < lowered.kernel_sources_size()) shown.set_source(lowered.kernel_sources(index));
    if (index < lowered.choices_size()) {
      *shown.mutable_opts() = lowered.choices(index).opts();
      shown.set_tuned(lowered.choices(index).tuned());
    }
    if (std::optional<KernelResult> found = services_.store->find_kernel(material)) {
      shown.set_cached(true);
      shown.set_artifact_bytes(found->size_bytes);
      response_.mutable_plan()->mutable_kernels(index)->set_artifact(to_bytes(found->digest));
      return false;
    }
    *job->request.mutable_compile() = spec;
    job->key = cache::key(material);
    job->what = absl::StrCat("kernel '", spec.symbol(), "'");
    return true;
  }

  void kernel_compiled(int index, v1::CompiledKernel& kernel) {
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      v1::ExplainedKernel& shown = *response_.mutable_kernels(index);
      shown.mutable_passes()->Swap(kernel.mutable_passes());
      shown.set_artifact_bytes(kernel.artifact().data().size());
    }
    done_with_one();
  }

  void done_with_one() {
    {
      std::lock_guard lock(mutex_);
      if (ended_ || --left_ > 0) return;
    }
    finish(absl::OkStatus());
  }

  void finish(const absl::Status& status) {
    std::vector<std::uint64_t> jobs;
    Explainer::Done done;
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(ended_, true)) return;
      jobs.swap(jobs_);
      done.swap(done_);
    }
    for (std::uint64_t job : jobs) services_.pool->cancel(job);
    if (!status.ok()) return done(status);
    done(std::move(response_));
  }

  const BuildServices services_;
  v1::ExplainRequest request_;
  std::mutex mutex_;
  bool ended_ = false;
  Explainer::Done done_;
  std::vector<std::uint64_t> jobs_;
  std::vector<int> blobs_;  // kernels that are blobs
  std::size_t left_ = 0;
  v1::ExplainResponse response_;
};

}  // namespace

std::shared_ptr<Explainer::Job> Explainer::explain(const v1::ExplainRequest& request, Done done) {
  absl::Status status = preparer_->check(request.protocol_version(), request.graph(), request.target());
  if (!status.ok()) {
    done(status);
    return nullptr;
  }
  auto job = std::make_shared<ExplainJob>(preparer_->services(), request, std::move(done));
  job->start();
  return job;
}

}  // namespace hearth::daemon
