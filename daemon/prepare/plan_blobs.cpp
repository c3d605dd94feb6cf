// The blobs of a PlanBuild: compiled by the BlobBuilder, checked when the plan was stored, done without when they fail.
#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "daemon/prepare/plan_build.h"

namespace hearth::daemon {

std::vector<v1::PlanKernel> blobs_of(const std::string& plan, const BlobLibraryRefs& libraries) {
  std::vector<v1::PlanKernel> blobs;
  v1::Plan parsed;
  if (libraries.empty() || !parsed.ParseFromString(plan)) return blobs;
  for (v1::PlanKernel& kernel : *parsed.mutable_kernels())
    if (kernel.has_blob()) blobs.push_back(std::move(kernel));
  return blobs;
}

void PlanBuild::found(FoundPlan found) {
  const std::vector<v1::PlanKernel> blobs = blobs_of(*found.plan.plan, inputs_.libraries);
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    stored_ = std::move(found);
    num_checks_ = blobs.size() + 1;  // one is ours: no answer is the last before all are asked
  }
  for (const v1::PlanKernel& kernel : blobs) {
    absl::StatusOr<v1::CompileBlobRequest> request = services_.blob_libraries->request_for(kernel.blob());
    if (!request.ok()) {
      blob_checked(false);
      continue;
    }
    request->set_only_if_cached(true);
    auto done = [self = shared_from_this(), artifact = kernel.artifact()](const absl::StatusOr<BlobAnswer>& answer) {
      self->blob_checked(answer.ok() && to_bytes(answer->built->blob.artifact.digest) == artifact);
    };
    blob_jobs_.add(
        services_.blobs->compile(*request, {.client = client_, .done = std::move(done), .progress = nullptr}));
  }
  blob_checked(true);
}

void PlanBuild::blob_checked(bool same) {
  BuiltPlan built;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    is_stale_ |= !same;
    if (--num_checks_ > 0) return;
    built.plan = std::move(stored_.plan);
    built.key = stored_.key;
    built.found = true;
    ended_ = !is_stale_;
    blob_jobs_.clear();
  }
  if (is_stale_) return lower();
  flight_->complete(std::make_shared<const BuiltPlan>(std::move(built)));
}

void PlanBuild::build_blob(std::size_t index) {
  const v1::PlanBlob& blob = lowered_.kernels(static_cast<int>(index)).blob();
  const absl::StatusOr<v1::CompileBlobRequest> request = services_.blob_libraries->request_for(blob);
  if (!request.ok()) return blob_failed(blob, request.status());
  auto done = [self = shared_from_this(), index, blob](const absl::StatusOr<BlobAnswer>& answer) {
    if (absl::IsUnavailable(answer.status()) || absl::IsCancelled(answer.status())) return self->fail(answer.status());
    if (!answer.ok()) return self->blob_failed(blob, answer.status());
    auto kernel = std::make_shared<BuiltKernel>();
    kernel->kernel = answer->built->blob.artifact;
    kernel->found = answer->outcome == BlobOutcome::kHit;
    self->kernel_ready(index, std::shared_ptr<const BuiltKernel>(std::move(kernel)),
                       answer->outcome == BlobOutcome::kMiss);
  };
  blob_jobs_.add(services_.blobs->compile(*request, {.client = client_, .done = std::move(done), .progress = nullptr}));
}

void PlanBuild::blob_failed(const v1::PlanBlob& blob, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  failed_blob_ = absl::StrCat("blob '", blob.spec().stem(), "': ", why.message());
  settle_one();
}

// Nothing is under way any more.
void PlanBuild::lower_without_blobs() {
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    spdlog::warn("our own kernels instead of {}", failed_blob_);
    failed_blob_.clear();
    tickets_.clear();
    blob_jobs_.clear();
    kernels_.clear();
    num_ready_ = num_compiled_ = num_hits_ = 0;
  }
  request_.clear_blob_libraries();
  inputs_ = plan_inputs(services_, request_.lower(), target_, options_, client_.uid, /*with_libraries=*/false);
  *request_.mutable_records() = inputs_.tuning->records;
  look_up();
}

}  // namespace hearth::daemon
