// KernelsCache::Impl: kernel blobs, and the records of blobs and plans. All are entries like a kernel: a checked row
// and a CAS file.
#include <algorithm>
#include <limits>
#include <set>

#include "kernels_cache/blob_key.h"
#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {
namespace {

constexpr std::size_t kActionsAtATime = 256;

}  // namespace

std::optional<std::string> KernelsCache::Impl::find_records(const KeyMaterial& material) {
  const std::optional<ArtifactEntry> entry = find_artifact(material, EntryKind::kRecords);
  if (!entry) return std::nullopt;
  absl::StatusOr<std::string> bytes = cas_->read(entry->digest);
  if (!bytes.ok()) return std::nullopt;
  return *std::move(bytes);
}

std::vector<std::string> KernelsCache::Impl::records_of(std::string_view domain, std::size_t limit) {
  std::vector<std::string> all;
  flush();
  ActionRow last;
  for (const ActionRow* before = nullptr; all.size() < limit; before = &last) {
    auto rows = with_index([&](ActionCache& index) { return index.recent_actions(kActionsAtATime, before); });
    if (!rows.ok() || rows->empty()) break;
    for (const ActionRow& row : *rows) {
      if (row.kind != EntryKind::kRecords || row.blobs.empty() || all.size() == limit) continue;
      const absl::StatusOr<KeyMaterial> material = KeyMaterial::decode(row.material);
      if (!material.ok() || material->domain() != domain) continue;
      absl::StatusOr<std::string> bytes = cas_->read(row.blobs[0].digest);
      if (bytes.ok()) all.push_back(*std::move(bytes));
    }
    last = rows->back();
  }
  return all;
}

ClearReport KernelsCache::Impl::remove_blobs(const std::function<bool(const KeyMaterial&)>& matches) {
  ClearReport report;
  flush();
  // Collected first: rows that go would disturb the walk.
  std::vector<CasFile> files;
  std::set<std::string> gone, kept;  // stems
  ActionRow last;
  for (const ActionRow* before = nullptr;; before = &last) {
    auto rows = with_index([&](ActionCache& index) { return index.recent_actions(kActionsAtATime, before); });
    if (!rows.ok() || rows->empty()) break;
    for (const ActionRow& row : *rows) {
      if ((row.kind != EntryKind::kBlob && row.kind != EntryKind::kRecords) || row.blobs.empty()) continue;
      const absl::StatusOr<KeyMaterial> material = KeyMaterial::decode(row.material);
      if (!material.ok() || !matches(*material)) continue;
      const bool is_pinned = pins_->pinned(row.blobs[0].digest);
      if (const std::string stem = blob_stem(*material); !stem.empty()) (is_pinned ? kept : gone).insert(stem);
      if (!is_pinned) files.push_back({row.blobs[0].digest, row.blobs[0].size_bytes, 0});
    }
    last = rows->back();
  }
  std::lock_guard lock(write_mutex_);
  const CacheStats before = stats();
  const std::uint64_t evicted_before = evicted_;
  drop_unpinned_locked(files, std::numeric_limits<std::uint64_t>::max());
  evicted_ = evicted_before;  // removed on request is not evicted
  const CacheStats after = stats();
  report.kept_leased = kept.size();
  report.removed = static_cast<std::uint64_t>(
      std::ranges::count_if(gone, [&](const std::string& stem) { return kept.count(stem) == 0; }));
  report.freed_bytes = before.bytes - std::min(before.bytes, after.bytes);
  return report;
}

std::optional<ArtifactEntry> KernelsCache::find_blob(const KeyMaterial& m) {
  return impl_->find_artifact(m, EntryKind::kBlob);
}
absl::StatusOr<ArtifactEntry> KernelsCache::put_blob(const KeyMaterial& m, std::string_view artifact) {
  return impl_->put_artifact(m, EntryKind::kBlob, artifact);
}
std::optional<std::string> KernelsCache::find_records(const KeyMaterial& m) { return impl_->find_records(m); }
std::vector<std::string> KernelsCache::records_of(std::string_view domain, std::size_t limit) {
  return impl_->records_of(domain, limit);
}
absl::Status KernelsCache::put_records(const KeyMaterial& m, std::string_view records, EntryOwner owner) {
  return impl_->put_artifact(m, EntryKind::kRecords, records, owner).status();
}
ClearReport KernelsCache::remove_blobs(const std::function<bool(const KeyMaterial&)>& matches) {
  return impl_->remove_blobs(matches);
}

}  // namespace hearth::cache
