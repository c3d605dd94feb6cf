// KernelsCache::Impl: entries by their keys alone, whatever they are, for packs.
#include <utility>

#include "kernels_cache/kernels_cache_impl.h"

namespace hearth::cache {

std::optional<StoredEntry> KernelsCache::Impl::find_entry(const Digest& key) {
  auto found = with_index([&](ActionCache& index) { return index.find(key); });
  if (!found.ok() || !found->has_value()) return std::nullopt;
  std::vector<ActionRow> rows{**std::move(found)};
  ActionRow& row = rows.front();
  absl::StatusOr<KeyMaterial> material = KeyMaterial::decode(row.material);
  if (row.damaged || row.blobs.empty() || !material.ok() || keyed(*material).key != key) return std::nullopt;
  if (!with_index([&](ActionCache& index) { return index.describe(rows); }).ok()) return std::nullopt;
  std::optional<Pin> pin = pin_sound(row);
  if (!pin) return std::nullopt;
  return StoredEntry{row.kind,  *std::move(material), std::move(row.blobs),
                     row.owner, std::move(row.model), *std::move(pin)};
}

std::vector<Digest> KernelsCache::Impl::artifact_keys(const Digest& artifact) {
  auto keys = with_index([&](ActionCache& index) { return index.artifact_keys(artifact); });
  return keys.ok() ? *std::move(keys) : std::vector<Digest>();
}

std::optional<StoredEntry> KernelsCache::find_entry(const Digest& key) { return impl_->find_entry(key); }
std::vector<Digest> KernelsCache::artifact_keys(const Digest& artifact) { return impl_->artifact_keys(artifact); }

}  // namespace hearth::cache
