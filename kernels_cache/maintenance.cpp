// KernelsCache::Impl: eviction, quarantine, verification, listing and health.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels_cache/kernels_cache_impl.h"
#include "kernels_cache/same_model.h"

namespace hearth::cache {
namespace {

constexpr std::size_t kEvictionBatch = 64;
constexpr std::size_t kPage = 256;
constexpr std::size_t kMaxCompared = 256;           // plans that explain_miss() looks at
constexpr std::size_t kMaxRead = 8192;              // entries of all kinds that it finds them among
constexpr std::uint64_t kMaxMaterial = 1u << 20;    // bytes of one plan's key material
constexpr std::uint64_t kMaxMaterials = 32u << 20;  // of all that it reads
constexpr std::size_t kOtherGraphDistance = 1000;   // more than keys have parts
constexpr std::int64_t kProbePeriod_ns = 5'000'000'000;
constexpr std::int64_t kSecond_ns = 1'000'000'000;

}  // namespace

void KernelsCache::Impl::evict_locked() {
  if (options_.limit_bytes == 0 || stats().bytes <= options_.limit_bytes) return;
  // A little below the limit, so that a full cache does not evict at every put.
  std::uint64_t target = options_.limit_bytes - options_.limit_bytes / 32;
  with_index([](ActionCache& index) { return index.flush_touches(); }).IgnoreError();
  evict_beyond_shares_locked(target);
  CasFile cursor;
  cursor.last_used_unix_ns = std::numeric_limits<std::int64_t>::min();
  while (stats().bytes > target) {
    auto rows = with_index([&](ActionCache& index) { return index.oldest_blobs(cursor, kEvictionBatch); });
    if (!rows.ok() || rows->empty()) return;
    cursor = rows->back();
    drop_unpinned_locked(*rows, stats().bytes - target);
  }
}

// One user cannot put out what others use: the entries of who has most go first, the least recently used of them, down
// to an equal share for each user and for what is nobody's (kNoOwner). A file that another entry needs stays.
void KernelsCache::Impl::evict_beyond_shares_locked(std::uint64_t target) {
  std::map<EntryOwner, ActionRow> last_seen;
  std::set<EntryOwner> done;
  for (CacheStats now = stats(); now.bytes > target; now = stats()) {
    const std::uint64_t share = target / (now.owners.size() + 1);
    const auto has_less = [&done](const auto& a, const auto& b) {
      return std::pair(!done.contains(a.first), a.second.bytes) < std::pair(!done.contains(b.first), b.second.bytes);
    };
    const auto most = std::max_element(now.owners.begin(), now.owners.end(), has_less);
    if (most == now.owners.end() || done.contains(most->first) || most->second.bytes <= share) return;
    const EntryOwner owner = most->first;
    const auto after = last_seen.find(owner);
    const ActionRow* const start = after == last_seen.end() ? nullptr : &after->second;
    auto rows = with_index([&](ActionCache& index) { return index.oldest_actions_of(owner, start, kEvictionBatch); });
    if (!rows.ok()) return;
    if (rows->empty()) done.insert(owner);
    std::uint64_t excess = std::min(now.bytes - target, most->second.bytes - share);
    for (const ActionRow& row : *rows) {
      last_seen[owner] = row;
      if (excess == 0) break;
      if (row.blobs.empty() || pins_->pinned(row.blobs[0].digest)) continue;
      const std::uint64_t before = stats().bytes;
      auto files = with_index([&](ActionCache& index) -> absl::StatusOr<std::vector<CasFile>> {
        HEARTH_RETURN_IF_ERROR(index.drop_action(row.key));
        return index.unreferenced(row.blobs);
      });
      if (!files.ok()) return;
      drop_unpinned_locked(*files, std::numeric_limits<std::uint64_t>::max());
      excess -= std::min(excess, before - std::min(before, stats().bytes));
    }
  }
}

void KernelsCache::Impl::drop_unpinned_locked(const std::vector<CasFile>& rows, std::uint64_t enough_bytes) {
  std::vector<Digest> victims;
  std::uint64_t freed = 0;
  for (const CasFile& row : rows) {
    if (freed >= enough_bytes) break;
    if (!pins_->begin_eviction(row.digest)) continue;
    victims.push_back(row.digest);
    freed += disk_bytes(row.size_bytes);
  }
  if (victims.empty()) return;
  auto dropped = with_index([&](ActionCache& index) { return index.drop_blobs(victims); });
  for (const Digest& digest : victims) {
    if (dropped.ok()) {
      cas_->remove(digest).IgnoreError();
      forget(digest);
      ++evicted_;
    }
    pins_->cancel_eviction(digest);
  }
  if (dropped.ok()) with_index([](ActionCache& index) { return index.reclaim(); }).IgnoreError();
}

std::uint64_t KernelsCache::Impl::sweep_orphans_locked() {
  std::uint64_t removed = 0;
  for (unsigned shard = 0; shard < CasStore::kNumShards; ++shard) {
    absl::StatusOr<std::vector<Digest>> digests = cas_->list_shard(shard);
    if (!digests.ok()) continue;
    for (const Digest& digest : *digests) {
      auto known = with_index([&](ActionCache& index) { return index.contains_blob(digest); });
      if (!known.ok() || *known || !pins_->begin_eviction(digest)) continue;
      if (cas_->remove(digest).ok()) ++removed;
      forget(digest);
      pins_->cancel_eviction(digest);
    }
  }
  return removed;
}

void KernelsCache::Impl::quarantine(const Digest& digest) {
  std::lock_guard lock(write_mutex_);
  if (handed_over_) return;
  absl::StatusOr<std::string> bytes = cas_->read(digest);
  if (bytes.ok()) return;  // a put has replaced it meanwhile
  forget(digest);
  absl::Status moved = cas_->quarantine(digest, now());
  // A file that cannot be moved away must still never be handed out.
  if (!moved.ok()) cas_->remove(digest).IgnoreError();
  with_index([&](ActionCache& index) { return index.drop_blobs({&digest, 1}); }).status().IgnoreError();
  ++quarantined_;
  warn(absl::StrCat("cache file ", cas_->path_of(digest), " is damaged; it was moved to quarantine and its kernel or",
                    " plan will be compiled again"));
}

void KernelsCache::Impl::drop_missing(const Digest& digest) {
  std::lock_guard lock(write_mutex_);
  if (handed_over_) return;
  if (!absl::IsNotFound(cas_->identify(digest).status())) return;
  forget(digest);
  with_index([&](ActionCache& index) { return index.drop_blobs({&digest, 1}); }).status().IgnoreError();
}

namespace {

bool is_of(std::string_view model, std::string_view wanted) {
  if (wanted.empty() || model == wanted) return true;
  return model.size() > wanted.size() && model.ends_with(wanted) && model[model.size() - wanted.size() - 1] == '/';
}

}  // namespace

std::vector<CacheEntryInfo> KernelsCache::Impl::list(std::size_t limit, std::string_view model) {
  flush();
  std::vector<CacheEntryInfo> entries;
  ActionRow last;
  for (const ActionRow* before = nullptr; limit == 0 || entries.size() < limit; before = &last) {
    auto rows = with_index([&](ActionCache& index) {
      absl::StatusOr<std::vector<ActionRow>> page = index.recent_actions(kPage, before);
      if (page.ok()) index.describe(*page).IgnoreError();  // a list without names is one, too
      return page;
    });
    if (!rows.ok() || rows->empty()) break;
    for (const ActionRow& row : *rows) {
      if (!is_of(row.model, model)) continue;
      if (limit != 0 && entries.size() == limit) break;
      const ArtifactRef main = row.blobs.empty() ? ArtifactRef{} : row.blobs[0];
      entries.push_back({row.key, row.kind, main.size_bytes, row.created_unix_ns / kSecond_ns,
                         row.last_used_unix_ns / kSecond_ns, pins_->pinned(main.digest), row.owner, row.model});
    }
    last = rows->back();
  }
  return entries;
}

ClearReport KernelsCache::Impl::remove_model(std::string_view model) {
  ClearReport report;
  flush();
  std::lock_guard lock(write_mutex_);
  if (handed_over_) return report;
  const CacheStats before = stats();
  const std::uint64_t evicted_before = evicted_;
  auto plans = with_index([&](ActionCache& index) { return index.plans_of(model); });
  if (!plans.ok()) return report;
  for (const ActionRow& plan : *plans) {
    if (!plan.blobs.empty() && pins_->pinned(plan.blobs[0].digest)) {
      ++report.kept_leased;
      continue;
    }
    recent_plans_.forget(plan.key);
    auto files = with_index([&](ActionCache& index) -> absl::StatusOr<std::vector<CasFile>> {
      HEARTH_RETURN_IF_ERROR(index.drop_action(plan.key));
      return index.of_no_plan(plan.blobs);
    });
    if (files.ok()) drop_unpinned_locked(*files, std::numeric_limits<std::uint64_t>::max());
  }
  evicted_ = evicted_before;  // removed on request is not evicted
  const CacheStats after = stats();
  report.removed = before.entries - std::min(before.entries, after.entries);
  report.freed_bytes = before.bytes - std::min(before.bytes, after.bytes);
  return report;
}

VerifyReport KernelsCache::Impl::verify() {
  VerifyReport report;
  const auto consistent = [](ActionCache& index) { return index.check_consistency(); };
  if (absl::Status checked = with_index(consistent); !checked.ok()) {
    report.problems.push_back(std::string(checked.message()));
  }
  Digest cursor{};
  for (const Digest* after = nullptr;; after = &cursor) {
    auto rows = with_index([&](ActionCache& index) { return index.blobs_after(after, kPage); });
    if (!rows.ok()) report.problems.push_back(std::string(rows.status().message()));
    if (!rows.ok() || rows->empty()) break;
    for (const CasFile& row : *rows) {
      absl::StatusOr<std::string> bytes = cas_->read(row.digest);
      ++report.checked;
      if (bytes.ok()) continue;
      report.problems.push_back(std::string(bytes.status().message()));
      forget(row.digest);
      std::uint64_t quarantined_before = quarantined_;
      sound(row.digest);
      report.quarantined += quarantined_ - quarantined_before;
    }
    cursor = rows->back().digest;
  }
  ActionRow last;
  for (const ActionRow* before = nullptr;; before = &last) {
    auto rows = with_index([&](ActionCache& index) { return index.recent_actions(kPage, before); });
    if (!rows.ok()) report.problems.push_back(std::string(rows.status().message()));
    if (!rows.ok() || rows->empty()) break;
    for (const ActionRow& row : *rows) {
      bool whole = !row.damaged && !row.blobs.empty();
      if (!options_.key_function) whole = whole && sha256(row.material) == row.key;
      for (const ArtifactRef& blob : row.blobs) {
        auto known = with_index([&](ActionCache& index) { return index.contains_blob(blob.digest); });
        whole = whole && (!known.ok() || *known);
      }
      if (whole) continue;
      report.problems.push_back(absl::StrCat("entry ", to_hex(row.key), ": its index row is damaged; dropped"));
      with_index([&](ActionCache& index) { return index.drop_action(row.key); }).IgnoreError();
    }
    last = rows->back();
  }
  std::lock_guard lock(write_mutex_);
  if (handed_over_) return report;
  if (std::uint64_t orphans = sweep_orphans_locked(); orphans > 0) {
    report.problems.push_back(absl::StrCat(orphans, " files that no entry points to were removed"));
  }
  return report;
}

ClearReport KernelsCache::Impl::clear(bool keep_tuning) {
  std::lock_guard lock(write_mutex_);
  if (handed_over_) return {};
  CacheStats before = stats();
  std::set<Digest> kept;
  ClearReport report;
  if (keep_tuning) {
    constexpr std::size_t kAll = std::numeric_limits<std::int64_t>::max();
    const auto records = with_index([&](ActionCache& index) { return index.tuning_actions(kAll); });
    // An index that cannot tell which files are records must not lose them.
    if (!records.ok()) return {.kept_leased = before.entries};
    for (const ActionRow& record : *records) {
      for (const ArtifactRef& file : record.blobs) kept.insert(file.digest);
    }
    report.kept_tuning = records->size();
  }
  std::uint64_t evicted_before = evicted_;
  Digest cursor{};
  for (const Digest* after = nullptr;; after = &cursor) {
    auto rows = with_index([&](ActionCache& index) { return index.blobs_after(after, kPage); });
    if (!rows.ok() || rows->empty()) break;
    cursor = rows->back().digest;
    std::erase_if(*rows, [&](const CasFile& row) { return kept.count(row.digest) > 0; });
    drop_unpinned_locked(*rows, std::numeric_limits<std::uint64_t>::max());
  }
  evicted_ = evicted_before;  // cleared is not evicted
  sweep_orphans_locked();
  CacheStats after = stats();
  report.removed = before.entries - after.entries;
  report.kept_leased = after.entries - std::min(after.entries, report.kept_tuning);
  report.freed_bytes = before.bytes - std::min(before.bytes, after.bytes);
  return report;
}

CacheStats KernelsCache::Impl::stats() const {
  CacheStats stats;
  {
    std::shared_lock lock(index_mutex_);
    IndexTotals totals = index_ ? index_->totals() : IndexTotals{};
    stats.bytes = totals.bytes;
    stats.entries = totals.actions;
    stats.artifacts = totals.blobs;
    stats.owners = std::move(totals.owners);
  }
  stats.limit_bytes = options_.limit_bytes;
  stats.pinned = pins_->num_pinned();
  stats.quarantined = quarantined_;
  stats.evicted = evicted_;
  return stats;
}

absl::Status KernelsCache::Impl::note_write(absl::Status status) {
  // A caller's mistake says nothing about the disk.
  if (absl::IsFailedPrecondition(status)) return status;
  std::lock_guard lock(health_mutex_);
  last_write_ = status;
  if (!status.ok()) last_probe_ns_ = now();
  return status;
}

CacheHealth KernelsCache::Impl::health() {
  if (absl::Status owned = check_owned(); !owned.ok()) return {true, absl::StrCat("cache: ", owned.message())};
  {
    std::lock_guard lock(health_mutex_);
    if (last_write_.ok()) return {};
    std::int64_t time = now();
    if (time - last_probe_ns_ < kProbePeriod_ns) return {true, absl::StrCat("cache: ", last_write_.message())};
    last_probe_ns_ = time;
  }
  absl::Status probed = cas_->probe();
  if (probed.ok()) probed = with_index([](ActionCache& index) { return index.probe(); });
  note_write(probed).IgnoreError();
  if (probed.ok()) return {};
  return {true, absl::StrCat("cache: ", probed.message())};
}

std::optional<MissExplanation> KernelsCache::Impl::explain_miss(const KeyMaterial& material) {
  // Whoever asks reads what others stored: one at a time, one small material at a time, so many bytes in all.
  const std::lock_guard one_at_a_time(explain_mutex_);
  flush();
  std::optional<MissExplanation> nearest;
  std::size_t nearest_distance = 0, num_compared = 0;
  std::uint64_t num_bytes = 0;
  ActionSize last;
  for (std::size_t num_read = 0; num_read < kMaxRead; num_read += kPage) {
    const auto sizes =
        with_index([&](ActionCache& index) { return index.recent_sizes(kPage, num_read == 0 ? nullptr : &last); });
    if (!sizes.ok() || sizes->empty()) break;
    for (const ActionSize& action : *sizes) {
      if (action.kind != EntryKind::kPlan || action.material_bytes > kMaxMaterial) continue;
      num_bytes += action.material_bytes;
      if (num_compared >= kMaxCompared || num_bytes > kMaxMaterials) return nearest;
      const auto stored = with_index([&](ActionCache& index) { return index.material_of(action.key); });
      if (!stored.ok()) continue;
      absl::StatusOr<KeyMaterial> other = KeyMaterial::decode(*stored);
      if (!other.ok() || other->domain() != material.domain()) continue;
      ++num_compared;
      if (!is_same_model(material, *other)) continue;
      std::vector<std::string> differing = differing_parts(material, *other);
      // One of another graph, which is another model perhaps, comes after all of this one.
      const auto is_other_graph = [](const std::string& part) { return part.starts_with("graph."); };
      const std::size_t distance =
          differing.size() + (std::ranges::any_of(differing, is_other_graph) ? kOtherGraphDistance : 0);
      if (nearest && nearest_distance <= distance) continue;
      std::vector<std::string> values;
      for (const std::string& part : differing) values.push_back(part_values(material, *other, part));
      nearest = MissExplanation{action.key, std::move(differing), std::move(values)};
      nearest_distance = distance;
    }
    last = sizes->back();
  }
  return nearest;
}

void KernelsCache::Impl::flush() {
  with_index([](ActionCache& index) { return index.flush_touches(); }).IgnoreError();
}

}  // namespace hearth::cache
