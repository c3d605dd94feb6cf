// KernelsCache::Impl: the state behind the facade. Internal; kernels_cache.cpp has finds and puts, maintenance.cpp
// eviction, verification and health, index_recovery.cpp opening and rebuilding the index.
//
// Locks, in this order: owner_mutex_ (shared by publishing, exclusive while the directory is handed over) →
// write_mutex_ (commit, eviction, quarantine; never taken by a hit) → index_mutex_ (shared by every use of the index,
// exclusive while it is rebuilt or closed) → the leaf mutexes of the members.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/status_macros.h"
#include "kernels_cache/action_cache.h"
#include "kernels_cache/cas_store.h"
#include "kernels_cache/directory_lock.h"
#include "kernels_cache/kernels_cache.h"
#include "kernels_cache/recent_plans.h"

namespace hearth::cache {

class KernelsCache::Impl {
 public:
  Impl(Options options, FileSystem& file_system, DirectoryLock lock, std::unique_ptr<CasStore> cas);
  ~Impl();

  // index_recovery.cpp
  absl::Status open_index();

  // kernels_cache.cpp; an artifact is a kernel's or a blob's
  bool is_ownerless(const KeyMaterial& material, const Digest& artifact);
  std::optional<ArtifactEntry> find_artifact(const KeyMaterial& material, EntryKind kind);
  absl::StatusOr<ArtifactEntry> put_artifact(const KeyMaterial& material, EntryKind kind, std::string_view artifact,
                                             EntryOwner owner = kNoOwner);
  std::optional<PlanEntry> find_plan(const KeyMaterial& material);
  std::optional<PlanEntry> find_recent_plan(const KeyMaterial& material);
  absl::StatusOr<Pin> put_plan(const KeyMaterial& material, std::string_view plan, std::span<const Digest> digests,
                               EntryOwner owner, std::string model);
  absl::StatusOr<ArtifactReader> open_artifact(const Digest& digest);  // artifact_reader.cpp

  // tuning_entries.cpp
  absl::StatusOr<Pin> put_tuning(const KeyMaterial& material, std::string_view record);
  std::vector<TuningEntry> tuning_records(std::size_t limit);
  void drop_tuning(const KeyMaterial& material);

  // blob_entries.cpp
  std::optional<std::string> find_records(const KeyMaterial& material);
  std::vector<std::string> records_of(std::string_view domain, std::size_t limit);
  ClearReport remove_blobs(const std::function<bool(const KeyMaterial&)>& matches);

  // stored_entries.cpp
  std::optional<StoredEntry> find_entry(const Digest& key);
  std::vector<Digest> artifact_keys(const Digest& artifact);

  // maintenance.cpp
  std::vector<CacheEntryInfo> list(std::size_t limit, std::string_view model);
  ClearReport remove_model(std::string_view model);
  VerifyReport verify();
  ClearReport clear(bool keep_tuning);
  CacheStats stats() const;
  CacheHealth health();
  std::optional<MissExplanation> explain_miss(const KeyMaterial& material);
  void flush();

  // handover.cpp
  void begin_leaving();
  bool hand_over_if_wanted();
  void hand_over();

  const CasStore& cas() const { return *cas_; }
  const std::shared_ptr<PinTable>& pins() const { return pins_; }

 private:
  struct KeyedMaterial {
    Digest key{};
    std::string bytes;
  };

  KeyedMaterial keyed(const KeyMaterial& material) const;
  // The row of an entry whose own blob is `bytes`; no times yet.
  ActionRow new_row(EntryKind kind, const KeyMaterial& material, std::string_view bytes) const;
  std::int64_t now();  // strictly increasing
  void warn(const std::string& text) const;
  void warn_of_overlay() const;

  // A row for exactly this material and kind.
  std::optional<ActionRow> find_row(const KeyedMaterial& wanted, EntryKind kind);
  // OK when the file is there with the right bytes: hashes it unless it is known and unchanged; quarantines a damaged
  // one. NOT_FOUND, DATA_LOSS, UNAVAILABLE.
  absl::Status check(const Digest& digest);
  bool sound(const Digest& digest) { return check(digest).ok(); }
  // Whether it was hashed before and is unchanged.
  bool known_sound(const Digest& digest);
  // Pins the files of `row`; nothing when one of them is not sound.
  std::optional<Pin> pin_sound(const ActionRow& row);
  PlanEntry found_plan(const RecentPlans::Entry& entry, Pin pin);
  void touch(const ActionRow& row);
  void remember(const Digest& digest);
  void forget(const Digest& digest);
  // Writes the file if it is not there soundly, then commits the row. `fresh`: digest = row.blobs[0].
  absl::StatusOr<Pin> publish(ActionRow row, std::string_view fresh_bytes);
  absl::StatusOr<Pin> commit(const ActionRow& row, std::string_view fresh_bytes);
  void abandon(const Digest& digest);

  // These hold write_mutex_ (`locked`: the caller does).
  void evict_locked();
  void evict_beyond_shares_locked(std::uint64_t target);
  void drop_unpinned_locked(const std::vector<CasFile>& rows, std::uint64_t enough_bytes);
  std::uint64_t sweep_orphans_locked();
  void quarantine(const Digest& digest);
  void drop_missing(const Digest& digest);
  absl::Status note_write(absl::Status status);

  // Runs `use` on the index; if that finds damage the index is rebuilt and the call fails with UNAVAILABLE.
  template <typename Use>
  auto with_index(Use use) -> decltype(use(std::declval<ActionCache&>()));
  absl::Status status_of(const absl::Status& status) const { return status; }
  template <typename T>
  absl::Status status_of(const absl::StatusOr<T>& result) const {
    return result.status();
  }
  void rebuild_index(std::uint64_t seen_generation);
  absl::Status open_or_create_index(bool starting);
  absl::Status set_index_aside();
  std::string index_path() const { return options_.dir + "/index.sqlite"; }
  // UNAVAILABLE once the directory is another daemon's.
  absl::Status check_owned() const;

  const Options options_;
  FileSystem& file_system_;
  DirectoryLock lock_;                    // guarded by owner_mutex_
  std::atomic<bool> handed_over_{false};  // set with owner_mutex_ and write_mutex_ held
  const std::unique_ptr<CasStore> cas_;
  const std::shared_ptr<PinTable> pins_ = std::make_shared<PinTable>();

  std::shared_mutex owner_mutex_;
  std::mutex write_mutex_;
  mutable std::shared_mutex index_mutex_;
  std::unique_ptr<ActionCache> index_;  // null while it cannot be opened
  std::atomic<std::uint64_t> index_generation_{0};
  std::atomic<bool> sweep_wanted_{false};

  RecentPlans recent_plans_;

  std::mutex verified_mutex_;
  std::map<Digest, FileId> verified_;

  std::mutex health_mutex_;
  std::mutex explain_mutex_;  // before index_mutex_: one explain_miss() at a time
  absl::Status last_write_;
  std::int64_t last_probe_ns_ = 0;

  std::atomic<std::int64_t> last_now_ns_{0};
  std::atomic<std::uint64_t> quarantined_{0};
  std::atomic<std::uint64_t> evicted_{0};
};

template <typename Use>
auto KernelsCache::Impl::with_index(Use use) -> decltype(use(std::declval<ActionCache&>())) {
  std::uint64_t generation;
  {
    std::shared_lock lock(index_mutex_);
    generation = index_generation_;
    if (index_) {
      auto result = use(*index_);
      if (!absl::IsDataLoss(status_of(result))) return result;
    }
  }
  HEARTH_RETURN_IF_ERROR(check_owned());
  rebuild_index(generation);
  return absl::UnavailableError("the cache index was damaged and is being rebuilt");
}

}  // namespace hearth::cache
