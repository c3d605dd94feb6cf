#include "daemon/prepare/remote_tier.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/remote/remote_timer.h"
#include "daemon/store/sound_plan.h"

namespace hearth::daemon {
namespace {

// More than any plan or kernel has; what lists more is not read.
constexpr std::uint64_t kMaxPlanBytes = std::uint64_t{256} << 20, kMaxKernelBytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds kMissingFor(2);
constexpr std::size_t kMaxMissing = 4096;
constexpr char kKernelFolder[] = "k/";

// A kernel that came with a plan, by its content: its own key's material is larger than itself and was not sent.
cache::KeyMaterial content_material(const Digest& digest) {
  cache::KeyMaterial material("hearth.remote_artifact.v1");
  material.add("digest", to_bytes(digest), to_hex(digest));
  return material;
}

}  // namespace

RemoteTier::Fetch RemoteTier::find_kernel(const cache::KeyMaterial& material, uid_t user, Done<KernelResult> done) {
  return entries().find(
      material, "kernel", kMaxKernelBytes, [this, material, user, done = std::move(done)](RemoteAnswer answer) {
        auto shared = std::make_shared<RemoteAnswer>(std::move(answer));
        services_.executor->post([this, material, user, done, shared] {
          std::string* artifact = shared->file("kernel");
          if (artifact == nullptr || artifact->empty()) return done({shared->outcome, shared->status, {}});
          done({RemoteOutcome::kHit, absl::OkStatus(), services_.store->put_kernel(material, *artifact, user)});
        });
      });
}

RemoteTier::Fetch RemoteTier::find_plan(const PlanQuery& query, Done<FoundPlan> done) {
  return entries().find(
      plan_material(query.inputs), "plan", kMaxPlanBytes, [this, query, done = std::move(done)](RemoteAnswer answer) {
        auto shared = std::make_shared<RemoteAnswer>(std::move(answer));
        services_.executor->post([this, query, done, shared] { done(take_plan(query, std::move(*shared))); });
      });
}

RemoteFound<FoundPlan> RemoteTier::take_plan(const PlanQuery& query, RemoteAnswer answer) {
  if (answer.outcome != RemoteOutcome::kHit) return {answer.outcome, answer.status, std::nullopt};
  const auto unusable = [](const char* what) {
    return RemoteFound<FoundPlan>{RemoteOutcome::kMiss, absl::DataLossError(absl::StrCat("its plan ", what)),
                                  std::nullopt};
  };
  std::string* plan = answer.file("plan");
  std::string* reads = answer.file("reads");
  v1::Plan parsed;
  v1::PlanReads::Variant variant;
  if (plan == nullptr || reads == nullptr || !parsed.ParseFromString(*plan) || !variant.ParseFromString(*reads))
    return unusable("cannot be read");
  auto whole = std::make_shared<WholePlan>();
  std::set<std::string> artifacts;
  for (RemoteFile& file : answer.files) {
    if (!file.path.starts_with(kKernelFolder)) continue;
    const Digest digest = sha256(file.bytes);
    artifacts.insert(to_bytes(digest));
    whole->artifacts.emplace_back(content_material(digest), std::move(file.bytes));
  }
  if (!is_sound(parsed, artifacts)) return unusable("lacks a kernel");
  const cache::KeyMaterial& base = query.inputs.materials.back();
  const std::string tuning =
      services_.plan_reads->put(base, variant.kernels(), *query.inputs.tuning,
                                services_.tuning->scope_of(query.target, query.options), query.user);
  whole->material = cache::with_tuning(base, tuning);
  whole->plan = std::move(*plan);
  whole->user = query.user;
  whole->model = query.model;
  FoundPlan found{cache::key(whole->material), services_.store->keep_plan(*whole)};
  services_.disk->post([store = services_.store, whole] { store->store_plan(*whole); });
  return {RemoteOutcome::kHit, absl::OkStatus(), std::move(found)};
}

RemoteTier::Fetch RemoteTier::find_sealed_plan(const PlanQuery& query, Done<FoundPlan> done) {
  const Digest key = cache::key(plan_material(query.inputs));
  {
    const std::lock_guard lock(mutex_);
    const auto place = missing_.find(key);
    if (place != missing_.end() && services_.clock->now() < place->second.first) {
      services_.executor->post(
          [done, status = place->second.second] { done({RemoteOutcome::kMiss, status, std::nullopt}); });
      return nullptr;
    }
  }
  auto limit = std::make_shared<std::optional<RemoteTimer>>();  // until the answer
  Fetch fetch = find_plan(query, [this, key, limit, done = std::move(done)](RemoteFound<FoundPlan> found) {
    if (!found.result) {
      const std::lock_guard lock(mutex_);
      if (missing_.size() >= kMaxMissing) missing_.clear();
      missing_[key] = {services_.clock->now() + kMissingFor, found.status};
    }
    done(std::move(found));
  });
  // Where no worker has ever started, the flavour stays unknown.
  limit->emplace(2 * entries().cache().settings().call_limit, [weak = std::weak_ptr(fetch)] {
    if (const Fetch fetch = weak.lock()) fetch->cancel();
  });
  return fetch;
}

void RemoteTier::send_kernel(const cache::KeyMaterial& material, std::string artifact) {
  entries().send(material, "kernel", {{"kernel", std::move(artifact)}});
}

void RemoteTier::send_plan(const PlanInputs& inputs, const PlanResult& plan,
                           const google::protobuf::RepeatedPtrField<std::string>& tuning_reads) {
  v1::PlanReads::Variant reads;
  *reads.mutable_kernels() = tuning_reads;
  std::vector<RemoteFile> files{{"plan", *plan.plan}, {"reads", reads.SerializeAsString()}};
  for (const cache::ArtifactRef& artifact : plan.artifacts) {
    absl::StatusOr<ResultStore::ReadArtifact> read = services_.store->open_artifact(artifact.digest);
    if (!read.ok()) return;
    absl::StatusOr<std::string> bytes = (*read)(0, artifact.size_bytes);
    if (!bytes.ok() || sha256(*bytes) != artifact.digest) return;
    files.push_back({absl::StrCat(kKernelFolder, to_hex(artifact.digest)), *std::move(bytes)});
  }
  entries().send(plan_material(inputs), "plan", std::move(files));
}

}  // namespace hearth::daemon
