// ActionCache: the SQLite (WAL) index, action key → result, with what LRU eviction needs. FORMAT.md has the schema.
//
// Full key material is stored with every action; callers compare it. A put is one durable transaction. touch() only
// notes a use in memory; the next put or flush_touches() writes it. Thread-safe: finds use a reader connection of
// their own and never wait for writers. Errors: DATA_LOSS when the file is damaged (the owner moves it aside),
// RESOURCE_EXHAUSTED, UNAVAILABLE; after those two the object keeps working. Example:
//   auto index = ActionCache::open(dir + "/index.sqlite");
//   absl::Status stored = (*index)->put({key, EntryKind::kKernel, material, {artifact}, now, now});
//   absl::StatusOr<std::optional<ActionRow>> row = (*index)->find(key);
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "kernels_cache/entry.h"

namespace hearth::cache {

class SqliteConnection;

struct ActionRow {
  Digest key{};
  EntryKind kind = EntryKind::kPlan;
  std::string material;            // KeyMaterial::encode()
  std::vector<ArtifactRef> blobs;  // kernel: its artifact; plan: the plan's bytes, then its artifacts
  std::int64_t created_unix_ns = 0;
  std::int64_t last_used_unix_ns = 0;
  bool damaged = false;         // the stored row does not match its check digest
  EntryOwner owner = kNoOwner;  // to be put; read back by describe()
  std::string model = {};       // of a plan: what its client calls it; likewise
};

// An action without what it is made of.
struct ActionSize {
  Digest key{};
  EntryKind kind = EntryKind::kPlan;
  std::uint64_t material_bytes = 0;
  std::int64_t last_used_unix_ns = 0;
};

struct CasFile {
  Digest digest{};
  std::uint64_t size_bytes = 0;
  std::int64_t last_used_unix_ns = 0;
};

struct IndexTotals {
  std::uint64_t bytes = 0;  // disk_bytes() of blobs plus key material
  std::uint64_t actions = 0;
  std::uint64_t blobs = 0;
  std::map<EntryOwner, OwnerTotals> owners;  // without kNoOwner
};

class ActionCache {
 public:
  static absl::StatusOr<std::unique_ptr<ActionCache>> open(const std::string& path);
  ~ActionCache();

  absl::StatusOr<std::optional<ActionRow>> find(const Digest& key);
  absl::StatusOr<bool> contains_blob(const Digest& digest);
  // Inserts or replaces the action, and adds its blobs.
  absl::Status put(const ActionRow& row);

  void touch(const ActionRow& row, std::int64_t now_unix_ns);
  absl::Status flush_touches();

  // Least recently used first, strictly after (`last_used`, `digest`) in that order.
  absl::StatusOr<std::vector<CasFile>> oldest_blobs(const CasFile& after, std::size_t limit);
  // Removes blobs and every action that points to one of them; gives the number of actions removed.
  absl::StatusOr<std::uint64_t> drop_blobs(std::span<const Digest> digests);
  absl::Status drop_action(const Digest& key);
  // One owner's actions, least recently used first, strictly after `after` (null: from the start); without
  // material.
  absl::StatusOr<std::vector<ActionRow>> oldest_actions_of(EntryOwner owner, const ActionRow* after, std::size_t limit);
  // Which of these files no action points to.
  absl::StatusOr<std::vector<CasFile>> unreferenced(std::span<const ArtifactRef> files);
  // A durable write that changes nothing: can the index take a put?
  absl::Status probe();
  // DATA_LOSS where tables and their indexes do not tell the same: a damaged page can leave each row whole and yet make
  // a key be found by one way and not by another. Reads the whole index.
  absl::Status check_consistency();
  // Gives free pages back to the file system, a few at a time.
  absl::Status reclaim();

  // Most recently used first, strictly before `before_last_used`/`before_key` (none: from the start).
  absl::StatusOr<std::vector<ActionRow>> recent_actions(std::size_t limit, const ActionRow* before = nullptr);
  // The same without what takes room.
  absl::StatusOr<std::vector<ActionSize>> recent_sizes(std::size_t limit, const ActionSize* before = nullptr);
  // The keys of kernels and blobs whose artifact this is, ascending.
  absl::StatusOr<std::vector<Digest>> artifact_keys(const Digest& artifact);
  // NOT_FOUND when there is no such action.
  absl::StatusOr<std::string> material_of(const Digest& key);
  // Actions of kind tuning, newest first.
  absl::StatusOr<std::vector<ActionRow>> tuning_actions(std::size_t limit);
  // By digest / key, strictly after it (none: from the start).
  absl::StatusOr<std::vector<CasFile>> blobs_after(const Digest* after, std::size_t limit);

  // Fills in for whom each was made and of which model it is; a kernel's is that of a plan that has it.
  absl::Status describe(std::vector<ActionRow>& rows);
  // Plans of the model of this name, or whose name ends with it behind a '/'; without material.
  absl::StatusOr<std::vector<ActionRow>> plans_of(std::string_view model);
  // Which of these files no plan has.
  absl::StatusOr<std::vector<CasFile>> of_no_plan(std::span<const ArtifactRef> files);

  IndexTotals totals() const;

  // Pending touches are dropped beyond this many.
  static constexpr std::size_t kMaxPendingTouches = 65536;

 private:
  ActionCache() = default;
  absl::Status load_totals();
  absl::Status write_touches();
  absl::Status insert(const ActionRow& row, IndexTotals& totals);
  // action_owners.cpp
  absl::Status load_owners();
  // The bytes that came with an action before it is put again, without material.
  absl::StatusOr<std::uint64_t> owned_file_bytes(const ActionRow& row);
  absl::Status add_owner(const Digest& key, EntryOwner owner, std::uint64_t bytes, IndexTotals& totals);
  absl::Status remove_owner(std::string_view key, IndexTotals& totals);
  // action_models.cpp
  absl::Status sweep_models();
  absl::Status add_model(const ActionRow& row);
  absl::Status remove_model(std::string_view key);
  absl::Status remove_action(std::int64_t row_id, IndexTotals& totals);

  mutable std::mutex writer_mutex_;
  std::unique_ptr<SqliteConnection> writer_;
  std::mutex reader_mutex_;
  std::unique_ptr<SqliteConnection> reader_;
  mutable std::mutex totals_mutex_;
  IndexTotals totals_;
  std::mutex touches_mutex_;
  std::map<Digest, std::int64_t> touched_actions_;
  std::map<Digest, std::int64_t> touched_blobs_;
};

}  // namespace hearth::cache
