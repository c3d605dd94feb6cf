// ActionCache: for whom entries were made.
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "kernels_cache/action_cache.h"
#include "kernels_cache/sqlite_connection.h"
#include "kernels_cache/stored_row.h"

namespace hearth::cache {

// Rows of actions that a daemon without accounts removed are removed here.
absl::Status ActionCache::load_owners() {
  {
    SqliteQuery gone(*writer_, "DELETE FROM owners WHERE key NOT IN (SELECT key FROM actions)");
    HEARTH_RETURN_IF_ERROR(gone.run());
  }
  SqliteQuery query(*writer_, "SELECT uid, count(*), total(bytes) FROM owners GROUP BY uid");
  while (query.step()) {
    totals_.owners[query.integer(0)] = {static_cast<std::uint64_t>(query.integer(1)),
                                        static_cast<std::uint64_t>(query.integer(2))};
  }
  return query.status();
}

absl::StatusOr<std::uint64_t> ActionCache::owned_file_bytes(const ActionRow& row) {
  SqliteQuery query(*writer_,
                    "SELECT o.bytes - a.bytes FROM owners AS o JOIN actions AS a ON a.key = o.key"
                    " WHERE o.key = ? AND o.uid = ?");
  query.bind(1, view(row.key)).bind(2, row.owner);
  const std::int64_t bytes = query.step() ? query.integer(0) : 0;
  HEARTH_RETURN_IF_ERROR(query.status());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes));
}

absl::Status ActionCache::add_owner(const Digest& key, EntryOwner owner, std::uint64_t bytes, IndexTotals& totals) {
  if (owner == kNoOwner) return absl::OkStatus();
  SqliteQuery added(*writer_, "INSERT OR REPLACE INTO owners (key, uid, bytes) VALUES (?, ?, ?)");
  added.bind(1, view(key)).bind(2, owner).bind(3, static_cast<std::int64_t>(bytes));
  OwnerTotals& of_owner = totals.owners[owner];
  ++of_owner.entries;
  of_owner.bytes += bytes;
  return added.run();
}

absl::Status ActionCache::remove_owner(std::string_view key, IndexTotals& totals) {
  SqliteQuery removed(*writer_, "DELETE FROM owners WHERE key = ? RETURNING uid, bytes");
  removed.bind(1, key);
  while (removed.step()) {
    const auto found = totals.owners.find(removed.integer(0));
    if (found == totals.owners.end()) continue;
    OwnerTotals& of_owner = found->second;
    of_owner.bytes -= std::min(of_owner.bytes, static_cast<std::uint64_t>(removed.integer(1)));
    if (--of_owner.entries == 0) totals.owners.erase(found);
  }
  return removed.status();
}

absl::StatusOr<std::vector<ActionRow>> ActionCache::oldest_actions_of(EntryOwner owner, const ActionRow* after,
                                                                      std::size_t limit) {
  std::lock_guard lock(writer_mutex_);
  SqliteQuery query(*writer_,
                    "SELECT a.key, a.kind, x'', a.result, a.check_digest, a.created_ns, a.last_used_ns"
                    " FROM actions AS a INDEXED BY actions_lru CROSS JOIN owners AS o ON o.key = a.key AND o.uid = ?"
                    " WHERE (a.last_used_ns, a.key) > (?, ?) ORDER BY a.last_used_ns, a.key LIMIT ?");
  query.bind(1, owner);
  query.bind(2, after ? after->last_used_unix_ns : std::numeric_limits<std::int64_t>::min());
  query.bind(3, after ? view(after->key) : std::string_view());
  query.bind(4, static_cast<std::int64_t>(limit));
  std::vector<ActionRow> rows;
  while (query.step()) rows.push_back(read_row(query));
  HEARTH_RETURN_IF_ERROR(query.status());
  return rows;
}

absl::StatusOr<std::vector<CasFile>> ActionCache::unreferenced(std::span<const ArtifactRef> files) {
  std::lock_guard lock(writer_mutex_);
  std::vector<CasFile> unused;
  for (const ArtifactRef& file : files) {
    SqliteQuery refs(*writer_, "SELECT 1 FROM refs WHERE digest = ? LIMIT 1");
    refs.bind(1, view(file.digest));
    const bool is_used = refs.step();
    HEARTH_RETURN_IF_ERROR(refs.status());
    if (!is_used) unused.push_back({file.digest, file.size_bytes, 0});
  }
  return unused;
}

}  // namespace hearth::cache
