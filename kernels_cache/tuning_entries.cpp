// KernelsCache::Impl: tuning records. A record is an entry like a kernel: its bytes are a CAS file, its row is checked.
#include <set>

#include "absl/strings/str_cat.h"
#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {

absl::StatusOr<Pin> KernelsCache::Impl::put_tuning(const KeyMaterial& material, std::string_view record) {
  ActionRow row = new_row(EntryKind::kTuning, material, record);
  return publish(std::move(row), record);
}

std::vector<TuningEntry> KernelsCache::Impl::tuning_records(std::size_t limit) {
  std::vector<TuningEntry> entries;
  auto rows = with_index([&](ActionCache& index) { return index.tuning_actions(limit); });
  if (!rows.ok()) return entries;
  std::set<Digest> listed;  // an index with a damaged page can list a key twice; the newest is what find() would give
  for (const ActionRow& row : *rows) {
    if (!listed.insert(row.key).second) continue;
    absl::StatusOr<KeyMaterial> material = KeyMaterial::decode(row.material);
    if (row.damaged || row.kind != EntryKind::kTuning || row.blobs.size() != 1 || !material.ok() ||
        (!options_.key_function && sha256(row.material) != row.key)) {
      warn(absl::StrCat("tuning record ", to_hex(row.key), ": its index row is damaged; dropped"));
      with_index([&](ActionCache& index) { return index.drop_action(row.key); }).IgnoreError();
      continue;
    }
    std::optional<Pin> pin = pin_sound(row);  // quarantines a damaged file
    if (!pin) continue;
    absl::StatusOr<std::string> record = cas_->read(row.blobs[0].digest);
    if (!record.ok()) continue;
    touch(row);
    entries.push_back({*std::move(material), *std::move(record), *std::move(pin)});
  }
  return entries;
}

void KernelsCache::Impl::drop_tuning(const KeyMaterial& material) {
  const Digest key = keyed(material).key;
  with_index([&](ActionCache& index) { return index.drop_action(key); }).IgnoreError();
}

absl::StatusOr<Pin> KernelsCache::put_tuning(const KeyMaterial& m, std::string_view record) {
  return impl_->put_tuning(m, record);
}
std::vector<TuningEntry> KernelsCache::tuning_records(std::size_t limit) { return impl_->tuning_records(limit); }
void KernelsCache::drop_tuning(const KeyMaterial& m) { impl_->drop_tuning(m); }

}  // namespace hearth::cache
