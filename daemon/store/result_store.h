// ResultStore: compiled kernels and plans, on disk when the disk takes them, else in bounded memory.
//
// Puts never fail: what cannot be written is kept in memory (least recently used goes first) and served from there, and
// health() gives the reason. Returned results keep their files from eviction while they live (`hold`).
// Thread-safe; does not own the cache. Example:
//   if (auto plan = store.find_plan(material)) return answer(*plan);
//   KernelResult kernel = store.put_kernel(material, artifact.data());
#pragma once
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

struct KernelResult {
  Digest digest{};
  std::uint64_t size_bytes = 0;
  std::shared_ptr<const void> hold;
};

struct PlanResult {
  std::shared_ptr<const std::string> plan;    // serialized v1::Plan
  std::vector<cache::ArtifactRef> artifacts;  // distinct, in first-use order
  std::shared_ptr<const void> hold;
};

// A plan with all its artifacts, as another node has made them.
struct WholePlan {
  cache::KeyMaterial material{""};
  std::string plan;
  std::vector<std::pair<cache::KeyMaterial, std::string>> artifacts;  // distinct, in first-use order
  uid_t user = 0;
  std::string model;
};

class ResultStore {
 public:
  ResultStore(cache::KernelsCache* cache, std::size_t memory_limit_bytes)
      : cache_(cache), memory_limit_bytes_(memory_limit_bytes) {}

  std::optional<KernelResult> find_kernel(const cache::KeyMaterial& material);
  std::optional<PlanResult> find_plan(const cache::KeyMaterial& material);
  // Without reading a file; nothing does not mean a miss.
  std::optional<PlanResult> find_recent_plan(const cache::KeyMaterial& material);
  // The stored plan most like one that is missing, and in which parts of the key it differs; nothing when none is
  // stored.
  std::optional<cache::MissExplanation> explain_miss(const cache::KeyMaterial& material) {
    return cache_->explain_miss(material);
  }
  // `user`: for whom it was made, to whose account it goes unless that is root or this process's own.
  KernelResult put_kernel(const cache::KeyMaterial& material, std::string_view artifact, uid_t user);
  PlanResult put_plan(const cache::KeyMaterial& material, std::string plan, std::vector<cache::ArtifactRef> artifacts,
                      uid_t user, std::string model = {});

  // Whether this result is what the cache has for the key, made for root or this process's own user.
  bool is_operators_kernel(const cache::KeyMaterial& material, const KernelResult& kernel);

  // In memory, for who waits: a disk takes a millisecond to keep a file for good, and there is one a kernel.
  PlanResult keep_plan(const WholePlan& whole);
  // Then on disk, where that takes it, and in memory no longer.
  void store_plan(const WholePlan& whole);

  // Kernel blobs.
  std::optional<KernelResult> find_blob(const cache::KeyMaterial& material);
  KernelResult put_blob(const cache::KeyMaterial& material, std::string_view artifact);
  // What blobs (blob_records.h) and plans (daemon/store/plan_reads.h) were made of.
  std::optional<std::string> find_records(const cache::KeyMaterial& material);
  std::vector<std::string> records_of(std::string_view domain, std::size_t limit) {
    return cache_->records_of(domain, limit);
  }
  void put_records(const cache::KeyMaterial& material, std::string records, uid_t user = 0);

  // Where a same-host client may open the artifact; empty when it must be fetched.
  std::string artifact_path(const Digest& digest);
  // Gives the bytes of an artifact from `offset` on, `max_bytes` at most; none at its end.
  using ReadArtifact = std::function<absl::StatusOr<std::string>(std::uint64_t offset, std::uint64_t max_bytes)>;
  // What is said of an artifact that is not there, and of one that a client may not know of.
  static absl::Status no_artifact(const Digest& digest);
  // NOT_FOUND when neither tier has it; DATA_LOSS when it was damaged.
  absl::StatusOr<ReadArtifact> open_artifact(const Digest& digest);

  // OK, or UNAVAILABLE with the reason why results are kept in memory only.
  absl::Status health();

 private:
  struct Entry {
    std::string material;                       // compared in full
    std::string bytes;                          // artifact or plan
    Digest digest{};                            // of an artifact
    std::vector<cache::ArtifactRef> artifacts;  // of a plan
    bool is_operators = true;
  };
  using Held = std::shared_ptr<const Entry>;

  static KernelResult kernel_result(cache::ArtifactEntry entry);
  static PlanResult plan_result(cache::PlanEntry entry);
  KernelResult keep_artifact(const cache::KeyMaterial& material, std::string_view artifact, const absl::Status& why,
                             uid_t user = 0);
  Held remember(const cache::KeyMaterial& material, Entry entry, bool artifact);
  void forget(const cache::KeyMaterial& material);
  Held recall(const cache::KeyMaterial& material);
  Held artifact_in_memory(const Digest& digest);

  cache::KernelsCache* const cache_;
  const std::size_t memory_limit_bytes_;
  std::atomic<bool> uses_memory_{false};
  std::mutex mutex_;
  std::list<Digest> recent_;  // keys in memory, newest first
  std::map<Digest, std::pair<Held, std::list<Digest>::iterator>> entries_;
  std::map<Digest, std::weak_ptr<const Entry>> artifacts_;  // digest -> entry, while stored or held by anybody
  std::size_t memory_bytes_ = 0;
};

}  // namespace hearth::daemon
