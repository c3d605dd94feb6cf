// ActionCache: what actions are made of, read one at a time: explaining a miss must not take the memory of many. And
// which actions a file belongs to.
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "kernels_cache/action_cache.h"
#include "kernels_cache/sqlite_connection.h"
#include "kernels_cache/stored_row.h"

namespace hearth::cache {

absl::StatusOr<std::vector<ActionSize>> ActionCache::recent_sizes(std::size_t limit, const ActionSize* before) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_,
                    "SELECT key, kind, length(material), last_used_ns FROM actions"
                    " WHERE (last_used_ns, key) < (?, ?) ORDER BY last_used_ns DESC, key DESC LIMIT ?");
  query.bind(1, before ? before->last_used_unix_ns : std::numeric_limits<std::int64_t>::max());
  query.bind(2, before ? view(before->key) : std::string_view());
  query.bind(3, static_cast<std::int64_t>(limit));
  std::vector<ActionSize> sizes;
  while (query.step()) {
    sizes.push_back({digest_of(query.blob(0)), static_cast<EntryKind>(query.integer(1)),
                     static_cast<std::uint64_t>(query.integer(2)), query.integer(3)});
  }
  HEARTH_RETURN_IF_ERROR(query.status());
  return sizes;
}

absl::StatusOr<std::vector<Digest>> ActionCache::artifact_keys(const Digest& artifact) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_,
                    "SELECT a.key FROM refs AS r JOIN actions AS a ON a.id = r.action"
                    " WHERE r.digest = ? AND a.kind IN (2, 4) ORDER BY a.key");
  query.bind(1, view(artifact));
  std::vector<Digest> keys;
  while (query.step()) keys.push_back(digest_of(query.blob(0)));
  HEARTH_RETURN_IF_ERROR(query.status());
  return keys;
}

absl::StatusOr<std::string> ActionCache::material_of(const Digest& key) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_, "SELECT material FROM actions WHERE key = ?");
  query.bind(1, view(key));
  const bool found = query.step();
  std::string material = found ? std::string(query.blob(0)) : "";
  HEARTH_RETURN_IF_ERROR(query.status());
  return found ? absl::StatusOr<std::string>(std::move(material)) : absl::NotFoundError("there is no such action");
}

}  // namespace hearth::cache
