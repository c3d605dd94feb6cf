// How an action is stored in the index: what of its row is packed into bytes, and the check of them. Pure functions.
//
//   SqliteQuery query(connection, "SELECT key, kind, material, result, check_digest, created_ns, last_used_ns …");
//   while (query.step()) rows.push_back(read_row(query));
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels_cache/action_cache.h"
#include "kernels_cache/sqlite_connection.h"

namespace hearth::cache {

inline std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}
Digest digest_of(std::string_view bytes);
// FORMAT.md's `result`.
std::string pack(const std::vector<ArtifactRef>& blobs);
// SQLite has no checksums: this one covers what a flipped bit could change unseen, the result and what it answers.
Digest check_digest(const ActionRow& row, std::string_view result);
// Columns: key, kind, material, result, check_digest, created_ns, last_used_ns.
ActionRow read_row(const SqliteQuery& query);

}  // namespace hearth::cache
