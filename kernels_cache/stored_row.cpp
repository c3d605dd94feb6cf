#include "kernels_cache/stored_row.h"

#include <algorithm>
#include <utility>

#include "kernels_cache/canonical_bytes.h"

namespace hearth::cache {

Digest digest_of(std::string_view bytes) {
  Digest digest{};
  if (bytes.size() == digest.size()) std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

std::string pack(const std::vector<ArtifactRef>& blobs) {
  Writer out;
  for (const ArtifactRef& blob : blobs) out.fixed(view(blob.digest)).u64(blob.size_bytes);
  return out.take();
}

Digest check_digest(const ActionRow& row, std::string_view result) {
  Writer out;
  out.fixed("hearth.index_row.v1").fixed(view(row.key)).u32(static_cast<std::uint32_t>(row.kind)).bytes(result);
  return sha256(out.take());
}

ActionRow read_row(const SqliteQuery& query) {
  ActionRow row;
  row.key = digest_of(query.blob(0));
  row.kind = static_cast<EntryKind>(query.integer(1));
  row.material = std::string(query.blob(2));
  row.created_unix_ns = query.integer(5);
  row.last_used_unix_ns = query.integer(6);
  std::string_view result = query.blob(3);
  row.damaged =
      view(check_digest(row, result)) != query.blob(4) || row.kind < EntryKind::kPlan || row.kind > kLastEntryKind;
  // Braces evaluate from left to right.
  for (Reader in(result); in.ok() && !in.at_end();)
    row.blobs.push_back({digest_of(in.fixed(sizeof(Digest))), in.u64()});
  return row;
}

}  // namespace hearth::cache
