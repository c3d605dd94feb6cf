#include "daemon/store/result_store.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace hearth::daemon {
namespace {

// What the daemon's own user and root store is for everybody.
cache::EntryOwner owner_of(uid_t user) {
  return user == 0 || user == ::geteuid() ? cache::kNoOwner : static_cast<cache::EntryOwner>(user);
}

}  // namespace

KernelResult ResultStore::kernel_result(cache::ArtifactEntry entry) {
  auto hold = std::make_shared<cache::Pin>(std::move(entry.pin));
  return KernelResult{entry.digest, entry.size_bytes, std::move(hold)};
}

std::optional<KernelResult> ResultStore::find_kernel(const cache::KeyMaterial& material) {
  if (std::optional<cache::ArtifactEntry> entry = cache_->find_kernel(material))
    return kernel_result(std::move(*entry));
  if (Held entry = recall(material)) return KernelResult{entry->digest, entry->bytes.size(), entry};
  return std::nullopt;
}

std::optional<KernelResult> ResultStore::find_blob(const cache::KeyMaterial& material) {
  if (std::optional<cache::ArtifactEntry> entry = cache_->find_blob(material)) return kernel_result(std::move(*entry));
  if (Held entry = recall(material)) return KernelResult{entry->digest, entry->bytes.size(), entry};
  return std::nullopt;
}

PlanResult ResultStore::plan_result(cache::PlanEntry entry) {
  return PlanResult{std::move(entry.plan), std::move(entry.artifacts),
                    std::make_shared<cache::Pin>(std::move(entry.pin))};
}

std::optional<PlanResult> ResultStore::find_recent_plan(const cache::KeyMaterial& material) {
  std::optional<cache::PlanEntry> entry = cache_->find_recent_plan(material);
  if (!entry) return std::nullopt;
  return plan_result(*std::move(entry));
}

std::optional<PlanResult> ResultStore::find_plan(const cache::KeyMaterial& material) {
  if (std::optional<cache::PlanEntry> entry = cache_->find_plan(material)) return plan_result(*std::move(entry));
  Held entry = recall(material);
  if (!entry) return std::nullopt;
  // A plan in memory is whole only while each of its artifacts is on disk or in memory.
  auto hold = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  hold->push_back(entry);
  for (const cache::ArtifactRef& artifact : entry->artifacts) {
    if (Held kept = artifact_in_memory(artifact.digest)) {
      hold->push_back(std::move(kept));
    } else if (std::optional<cache::Pin> pin = cache_->pin({&artifact.digest, 1});
               pin && !artifact_path(artifact.digest).empty()) {
      hold->push_back(std::make_shared<cache::Pin>(std::move(*pin)));
    } else {
      return std::nullopt;
    }
  }
  return PlanResult{std::shared_ptr<const std::string>(entry, &entry->bytes), entry->artifacts, std::move(hold)};
}

KernelResult ResultStore::put_kernel(const cache::KeyMaterial& material, std::string_view artifact, uid_t user) {
  absl::StatusOr<cache::ArtifactEntry> stored = cache_->put_kernel(material, artifact, owner_of(user));
  return stored.ok() ? kernel_result(*std::move(stored)) : keep_artifact(material, artifact, stored.status(), user);
}

bool ResultStore::is_operators_kernel(const cache::KeyMaterial& material, const KernelResult& kernel) {
  if (Held entry = recall(material)) return entry->digest == kernel.digest && entry->is_operators;
  return cache_->is_ownerless(material, kernel.digest);
}

KernelResult ResultStore::put_blob(const cache::KeyMaterial& material, std::string_view artifact) {
  absl::StatusOr<cache::ArtifactEntry> stored = cache_->put_blob(material, artifact);
  return stored.ok() ? kernel_result(*std::move(stored)) : keep_artifact(material, artifact, stored.status());
}

KernelResult ResultStore::keep_artifact(const cache::KeyMaterial& material, std::string_view artifact,
                                        const absl::Status& why, uid_t user) {
  spdlog::warn("keeping a kernel in memory: {}", std::string(why.message()));
  Entry entry;
  entry.bytes = std::string(artifact);
  entry.digest = sha256(artifact);
  entry.is_operators = owner_of(user) == cache::kNoOwner;
  Held held = remember(material, std::move(entry), true);
  return KernelResult{held->digest, held->bytes.size(), held};
}

std::optional<std::string> ResultStore::find_records(const cache::KeyMaterial& material) {
  // What the disk did not take is newer than what it has.
  if (Held entry = recall(material)) return entry->bytes;
  return cache_->find_records(material);
}

void ResultStore::put_records(const cache::KeyMaterial& material, std::string records, uid_t user) {
  const absl::Status stored = cache_->put_records(material, records, owner_of(user));
  if (stored.ok()) return forget(material);
  spdlog::warn("keeping in memory what an entry was made of: {}", std::string(stored.message()));
  Entry entry;
  entry.bytes = std::move(records);
  remember(material, std::move(entry), false);
}

PlanResult ResultStore::put_plan(const cache::KeyMaterial& material, std::string plan,
                                 std::vector<cache::ArtifactRef> artifacts, uid_t user, std::string model) {
  std::vector<Digest> digests;
  bool all_on_disk = true;
  for (const cache::ArtifactRef& artifact : artifacts) {
    digests.push_back(artifact.digest);
    all_on_disk = all_on_disk && !artifact_in_memory(artifact.digest);
  }
  if (all_on_disk) {
    absl::StatusOr<cache::Pin> stored = cache_->put_plan(material, plan, digests, owner_of(user), std::move(model));
    if (stored.ok()) {
      return PlanResult{std::make_shared<const std::string>(std::move(plan)), std::move(artifacts),
                        std::make_shared<cache::Pin>(std::move(*stored))};
    }
    spdlog::warn("keeping a plan in memory: {}", std::string(stored.status().message()));
  }
  Entry entry;
  entry.bytes = std::move(plan);
  entry.artifacts = artifacts;
  Held held = remember(material, std::move(entry), false);
  return PlanResult{std::shared_ptr<const std::string>(held, &held->bytes), std::move(artifacts), held};
}

PlanResult ResultStore::keep_plan(const WholePlan& whole) {
  auto hold = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  Entry entry;
  for (const auto& [material, bytes] : whole.artifacts) {
    Entry artifact;
    artifact.bytes = bytes;
    artifact.digest = sha256(bytes);
    artifact.is_operators = owner_of(whole.user) == cache::kNoOwner;
    entry.artifacts.push_back({artifact.digest, bytes.size()});
    hold->push_back(remember(material, std::move(artifact), true));
  }
  entry.bytes = whole.plan;
  std::vector<cache::ArtifactRef> artifacts = entry.artifacts;
  Held held = remember(whole.material, std::move(entry), false);
  hold->push_back(held);
  return PlanResult{std::shared_ptr<const std::string>(held, &held->bytes), std::move(artifacts), std::move(hold)};
}

void ResultStore::store_plan(const WholePlan& whole) {
  std::vector<Digest> digests;
  std::vector<cache::Pin> pins;  // until the plan has them
  for (const auto& [material, bytes] : whole.artifacts) {
    absl::StatusOr<cache::ArtifactEntry> stored = cache_->put_kernel(material, bytes, owner_of(whole.user));
    if (!stored.ok()) return;  // health() says why
    digests.push_back(stored->digest);
    pins.push_back(std::move(stored->pin));
  }
  if (!cache_->put_plan(whole.material, whole.plan, digests, owner_of(whole.user), whole.model).ok()) return;
  forget(whole.material);
  for (const auto& [material, bytes] : whole.artifacts) forget(material);
}

std::string ResultStore::artifact_path(const Digest& digest) {
  return artifact_in_memory(digest) ? std::string() : cache_->artifact_path(digest);
}

absl::Status ResultStore::no_artifact(const Digest& digest) {
  return absl::NotFoundError(absl::StrCat("artifact ", to_hex(digest), " is not in the cache"));
}

absl::StatusOr<ResultStore::ReadArtifact> ResultStore::open_artifact(const Digest& digest) {
  if (Held entry = artifact_in_memory(digest)) {
    return [entry](std::uint64_t offset, std::uint64_t max_bytes) -> absl::StatusOr<std::string> {
      return entry->bytes.substr(std::min<std::uint64_t>(offset, entry->bytes.size()), max_bytes);
    };
  }
  HEARTH_ASSIGN_OR_RETURN(cache::ArtifactReader opened, cache_->open_artifact(digest));
  auto file = std::make_shared<const cache::ArtifactReader>(std::move(opened));
  return [file](std::uint64_t offset, std::uint64_t max_bytes) { return file->read(offset, max_bytes); };
}

absl::Status ResultStore::health() {
  const cache::CacheHealth health = cache_->health();
  return health.degraded ? absl::UnavailableError(health.reason) : absl::OkStatus();
}

ResultStore::Held ResultStore::remember(const cache::KeyMaterial& material, Entry entry, bool artifact) {
  entry.material = material.encode();
  const Digest key = cache::key(material);
  Held held = std::make_shared<const Entry>(std::move(entry));
  std::vector<Held> dropped;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  if (auto old = entries_.find(key); old != entries_.end()) {
    memory_bytes_ -= old->second.first->bytes.size();
    dropped.push_back(std::move(old->second.first));
    recent_.erase(old->second.second);
    entries_.erase(old);
  }
  recent_.push_front(key);
  entries_.emplace(key, std::make_pair(held, recent_.begin()));
  memory_bytes_ += held->bytes.size();
  if (artifact) artifacts_[held->digest] = held;
  while (memory_bytes_ > memory_limit_bytes_ && entries_.size() > 1) {
    auto oldest = entries_.find(recent_.back());
    memory_bytes_ -= oldest->second.first->bytes.size();
    dropped.push_back(std::move(oldest->second.first));
    entries_.erase(oldest);
    recent_.pop_back();
  }
  uses_memory_ = true;
  return held;
}

void ResultStore::forget(const cache::KeyMaterial& material) {
  if (!uses_memory_) return;
  Held dropped;  // destroyed unlocked
  std::lock_guard lock(mutex_);
  auto it = entries_.find(cache::key(material));
  if (it == entries_.end()) return;
  dropped = std::move(it->second.first);
  memory_bytes_ -= dropped->bytes.size();
  recent_.erase(it->second.second);
  entries_.erase(it);
}

ResultStore::Held ResultStore::recall(const cache::KeyMaterial& material) {
  if (!uses_memory_) return nullptr;
  const Digest key = cache::key(material);
  std::lock_guard lock(mutex_);
  auto it = entries_.find(key);
  if (it == entries_.end() || it->second.first->material != material.encode()) return nullptr;
  recent_.splice(recent_.begin(), recent_, it->second.second);
  return it->second.first;
}

ResultStore::Held ResultStore::artifact_in_memory(const Digest& digest) {
  if (!uses_memory_) return nullptr;
  std::lock_guard lock(mutex_);
  auto it = artifacts_.find(digest);
  if (it == artifacts_.end()) return nullptr;
  Held held = it->second.lock();
  if (!held) artifacts_.erase(it);
  return held;
}

}  // namespace hearth::daemon
