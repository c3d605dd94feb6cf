// KernelsCache: the daemon's disk cache of compiled kernels, blobs, plans and tuning records. FORMAT.md describes the
// directory.
//
// Ownership: one cache a directory (a kernel-released lock); returned entries hold a Pin, which keeps their files from
// being evicted until it is destroyed. Threads: every method is thread-safe; finds never wait for puts or eviction.
// Errors: a find never fails, damage is a miss (quarantined); a put that returns OK survives kill -9 and power loss,
// one that fails leaves nothing visible (RESOURCE_EXHAUSTED: no space; UNAVAILABLE: I/O error) and the cache goes on.
// Example:
//   auto cache = KernelsCache::open({.dir = dir, .limit_bytes = 10ull << 30});
//   if (auto hit = (*cache)->find_plan(material)) return reply(*hit->plan, hit->artifacts);
//   absl::Status stored = (*cache)->put_plan(material, plan_bytes, digests).status();
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "kernels_cache/action_key.h"
#include "kernels_cache/artifact_reader.h"
#include "kernels_cache/entry.h"
#include "kernels_cache/file_system.h"
#include "kernels_cache/pin_table.h"

namespace hearth::cache {

struct Options {
  std::string dir = {};    // created 0700 if missing
  std::string below = {};  // a cache that is only read: its entries are found, too; of this user or root
  std::uint64_t limit_bytes = 10ull << 30;  // 0: unlimited
  bool allow_network_fs = false;
  // How long open() waits for a daemon that holds the directory and has said that it leaves.
  std::chrono::milliseconds lock_patience{0};
  FileSystem* file_system = nullptr;                            // null: posix_file_system(); must outlive the cache
  std::size_t recent_plan_bytes = 64u << 20;                    // of plans found last, kept in memory
  std::function<void(const std::string&)> on_warning = {};      // null: one line on stderr
  std::function<std::int64_t()> now_unix_ns = {};               // null: the system clock
  std::function<Digest(const KeyMaterial&)> key_function = {};  // null: key(); tests force collisions with it
};

struct ArtifactEntry {
  Digest digest{};
  std::uint64_t size_bytes = 0;
  Pin pin;
};

struct PlanEntry {
  std::shared_ptr<const std::string> plan;  // exactly the bytes that were put
  std::vector<ArtifactRef> artifacts;       // in the order of put_plan's digests
  Pin pin;                                  // the plan and all its artifacts
};

struct TuningEntry {
  KeyMaterial material;
  std::string record;  // exactly the bytes that were put
  Pin pin;
};

struct StoredEntry {
  EntryKind kind = EntryKind::kPlan;
  KeyMaterial material;
  std::vector<ArtifactRef> files;  // plan: the plan's bytes, then its artifacts; else its one file
  EntryOwner owner = kNoOwner;
  std::string model;  // CacheEntryInfo's
  Pin pin;
};

struct CacheEntryInfo {
  Digest key{};
  EntryKind kind = EntryKind::kPlan;
  std::uint64_t bytes = 0;  // plan: its bytes without artifacts; kernel: its artifact; tuning: the record
  std::int64_t created_unix_s = 0;
  std::int64_t last_used_unix_s = 0;
  bool leased = false;
  EntryOwner owner = kNoOwner;
  std::string model;  // what the client calls it that had the plan built; of a kernel, that of a plan that has it
};

struct VerifyReport {
  std::uint64_t checked = 0;      // files hashed
  std::uint64_t quarantined = 0;  // files moved away
  std::vector<std::string> problems;
};

struct ClearReport {
  std::uint64_t removed = 0;      // entries (plans, kernels, tuning records, blobs and their records)
  std::uint64_t kept_leased = 0;  // entries kept because pinned; without kept_tuning
  std::uint64_t freed_bytes = 0;
  std::uint64_t kept_tuning = 0;  // tuning records kept because they were to be
};

struct CacheStats {
  std::uint64_t bytes = 0;  // files rounded up to 4 KiB blocks, plus key material
  std::uint64_t limit_bytes = 0;
  std::uint64_t entries = 0;      // plans, kernels and tuning records
  std::uint64_t artifacts = 0;    // distinct files in the CAS
  std::uint64_t pinned = 0;       // distinct pinned files
  std::uint64_t quarantined = 0;  // since open
  std::uint64_t evicted = 0;      // files, since open
  // By user. Beyond the limit the entries of who has most go first, down to an equal share of what all may take
  // together; then the least recently used of all.
  std::map<EntryOwner, OwnerTotals> owners = {};
};

struct CacheHealth {
  bool degraded = false;
  std::string reason;  // one line, empty when not degraded
};

struct MissExplanation {
  Digest nearest_key{};                // the most similar stored entry of the same model
  std::vector<std::string> differing;  // names of key parts, see differing_parts()
  std::vector<std::string> values;     // of each, part_values()
};

class KernelsCache {
 public:
  // FAILED_PRECONDITION: another daemon owns the directory (named by pid), it is not private, not a directory, or on a
  // network file system; PERMISSION_DENIED, RESOURCE_EXHAUSTED: it cannot be written. A damaged index is moved to
  // quarantine/ and rebuilt empty with a warning.
  static absl::StatusOr<std::unique_ptr<KernelsCache>> open(Options options);
  ~KernelsCache();
  KernelsCache(const KernelsCache&) = delete;
  KernelsCache& operator=(const KernelsCache&) = delete;

  // Hits are verified: an artifact's digest is checked before its first hand-out in this process and whenever its
  // file has changed since. A plan is a hit only if all its artifacts are there and sound.
  std::optional<ArtifactEntry> find_kernel(const KeyMaterial& material);
  std::optional<PlanEntry> find_plan(const KeyMaterial& material);
  // The same of a plan that was found a moment ago and whose files have not changed since: for threads that must not
  // wait, since it looks at the files (stat) and reads none. Nothing does not mean a miss.
  std::optional<PlanEntry> find_recent_plan(const KeyMaterial& material);

  // Whether the kernel or blob under this key is this artifact, made for nobody in particular (kNoOwner).
  bool is_ownerless(const KeyMaterial& material, const Digest& artifact);

  // Atomic and durable before they return OK. The returned pin lets a caller finish its plan before eviction.
  // `owner`: for whom it was made; see CacheStats::owners.
  absl::StatusOr<ArtifactEntry> put_kernel(const KeyMaterial& material, std::string_view artifact,
                                           EntryOwner owner = kNoOwner);
  // `digests`: the plan's artifacts, all put before (FAILED_PRECONDITION otherwise).
  // `model`: what the client calls it, for people.
  absl::StatusOr<Pin> put_plan(const KeyMaterial& material, std::string_view plan, std::span<const Digest> digests,
                               EntryOwner owner = kNoOwner, std::string model = {});

  // One record a key; a new one replaces the old.
  absl::StatusOr<Pin> put_tuning(const KeyMaterial& material, std::string_view record);
  // All that are sound, newest first; damaged ones are quarantined.
  std::vector<TuningEntry> tuning_records(std::size_t limit);
  // Drops a record whose bytes are sound and mean nothing.
  void drop_tuning(const KeyMaterial& material);

  // Kernel blobs (blob_key.h).
  std::optional<ArtifactEntry> find_blob(const KeyMaterial& material);
  absl::StatusOr<ArtifactEntry> put_blob(const KeyMaterial& material, std::string_view artifact);
  // The newest of those under keys of `domain`, at most `limit`.
  std::vector<std::string> records_of(std::string_view domain, std::size_t limit);
  // What blobs or plans of one request were made of (EntryKind::kRecords); a put replaces.
  std::optional<std::string> find_records(const KeyMaterial& material);
  absl::Status put_records(const KeyMaterial& material, std::string_view records, EntryOwner owner = kNoOwner);
  // Removes blobs and records whose material `matches` wants to go, but none that is pinned. Counts stems of blobs, a
  // stem of which something is pinned as kept.
  ClearReport remove_blobs(const std::function<bool(const KeyMaterial&)>& matches);

  // The entry under a key, whatever it is; its files are sound.
  std::optional<StoredEntry> find_entry(const Digest& key);
  // The keys of kernels and blobs whose artifact this is, ascending.
  std::vector<Digest> artifact_keys(const Digest& artifact);

  // Where an artifact's file is if it is in the cache. Does not check it: use entries from a find or put.
  std::string artifact_path(const Digest& digest) const;
  // Verified bytes. NOT_FOUND; DATA_LOSS when damaged (quarantined); UNAVAILABLE when the disk cannot be read.
  absl::StatusOr<ArtifactReader> open_artifact(const Digest& digest);

  // Keeps these files from eviction; nothing when one of them is just being evicted. Drop the Pin to unpin.
  std::optional<Pin> pin(std::span<const Digest> digests);

  // Most recently used first; 0: all. `model`: only entries of it, as remove_model() takes it.
  std::vector<CacheEntryInfo> list(std::size_t limit = 0, std::string_view model = {});
  // Removes plans of the model of this name, or whose name ends with it behind a '/', and kernels that only they have;
  // none that is pinned.
  ClearReport remove_model(std::string_view model);
  // Hashes every file, quarantines bad ones, drops entries that point to them, removes files nothing points to.
  VerifyReport verify();
  // Removes all that is not pinned; with `keep_tuning` no tuning record.
  ClearReport clear(bool keep_tuning = false);
  CacheStats stats() const;
  // Degraded after a failed write until one succeeds; probes the disk itself at most every 5 s.
  CacheHealth health();
  // The stored entry of the same model (same_model.h) that is most like `material`, and what differs; nothing when the
  // entries used last have none.
  std::optional<MissExplanation> explain_miss(const KeyMaterial& material);

  // Writes batched last-used times; call now and then (a hit itself never writes). Also done by puts and on close.
  void flush();

  // For a daemon that ends: begin_leaving() tells other processes that the directory is about to be free; hand_over()
  // gives it up, hand_over_if_wanted() when one of them waits for it (true once it is given up). From then on this
  // cache changes nothing in the directory: finds miss, puts fail with UNAVAILABLE, and open_artifact() serves the
  // files that are still there.
  void begin_leaving();
  bool hand_over_if_wanted();
  void hand_over();

 private:
  class Impl;
  explicit KernelsCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::cache
