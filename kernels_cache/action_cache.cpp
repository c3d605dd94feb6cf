#include "kernels_cache/action_cache.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels_cache/canonical_bytes.h"
#include "kernels_cache/sqlite_connection.h"
#include "kernels_cache/stored_row.h"

namespace hearth::cache {
namespace {

constexpr std::int64_t kApplicationId = 0x48454152;  // "HEAR"
constexpr std::int64_t kFormatVersion = 1;

// What the other statements name: preparing these fails where a damaged schema lacks some of it.
constexpr const char* kColumns = R"sql(
  SELECT id, key, kind, material, result, check_digest, bytes, created_ns, last_used_ns FROM actions LIMIT 0;
  SELECT digest, size, last_used_ns FROM blobs LIMIT 0;
  SELECT digest, action FROM refs LIMIT 0;
  SELECT key, uid, bytes FROM owners LIMIT 0;
  SELECT key, model FROM models LIMIT 0;
)sql";

constexpr const char* kSchema = R"sql(
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
  BEGIN IMMEDIATE;
  CREATE TABLE actions (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, material BLOB NOT NULL,
    result BLOB NOT NULL, check_digest BLOB NOT NULL, bytes INTEGER NOT NULL,
    created_ns INTEGER NOT NULL, last_used_ns INTEGER NOT NULL);
  CREATE INDEX actions_lru ON actions (last_used_ns, key, bytes);
  CREATE TABLE blobs (digest BLOB PRIMARY KEY, size INTEGER NOT NULL, last_used_ns INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX blobs_lru ON blobs (last_used_ns, digest, size);
  CREATE TABLE refs (digest BLOB NOT NULL, action INTEGER NOT NULL, PRIMARY KEY (digest, action)) WITHOUT ROWID;
  PRAGMA application_id = 1212498258;
  PRAGMA user_version = 1;
  COMMIT;
)sql";

// Columns: digest, size, last_used_ns.
CasFile read_blob(const SqliteQuery& query) {
  return {digest_of(query.blob(0)), static_cast<std::uint64_t>(query.integer(1)), query.integer(2)};
}

template <class Row>
absl::StatusOr<std::vector<Row>> read_all(SqliteQuery& query, Row (*read)(const SqliteQuery&)) {
  std::vector<Row> rows;
  while (query.step()) rows.push_back(read(query));
  HEARTH_RETURN_IF_ERROR(query.status());
  return rows;
}

absl::StatusOr<std::int64_t> pragma(SqliteConnection& connection, const char* sql) {
  SqliteQuery query(connection, sql);
  std::int64_t value = query.step() ? query.integer(0) : 0;
  HEARTH_RETURN_IF_ERROR(query.status());
  return value;
}

// A new file gets the schema; any other file that is not ours in this version is DATA_LOSS.
absl::Status check_format(SqliteConnection& connection) {
  HEARTH_ASSIGN_OR_RETURN(std::int64_t objects, pragma(connection, "SELECT count(*) FROM sqlite_master"));
  if (objects == 0) return connection.execute(kSchema);
  HEARTH_ASSIGN_OR_RETURN(std::int64_t id, pragma(connection, "PRAGMA application_id"));
  HEARTH_ASSIGN_OR_RETURN(std::int64_t version, pragma(connection, "PRAGMA user_version"));
  if (id == kApplicationId && version == kFormatVersion) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("cache index: format ", version, ", this program writes ", kFormatVersion));
}

// Missing tables and the like come as INTERNAL; at open they mean a damaged file.
absl::Status damaged_if_internal(absl::Status status) {
  return absl::IsInternal(status) ? absl::DataLossError(status.message()) : status;
}

void subtract(std::uint64_t& total, std::uint64_t amount) { total -= std::min(total, amount); }

}  // namespace

absl::StatusOr<std::unique_ptr<ActionCache>> ActionCache::open(const std::string& path) {
  std::unique_ptr<ActionCache> index(new ActionCache);
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> writer, SqliteConnection::open(path, /*read_only=*/false));
  index->writer_ = std::move(writer);
  absl::Status status = check_format(*index->writer_);
  if (status.ok()) {
    status = index->writer_->execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216;"
        "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF;"
        "CREATE INDEX IF NOT EXISTS actions_tuning ON actions (kind, created_ns) WHERE kind = 3;"
        "CREATE TABLE IF NOT EXISTS owners (key BLOB PRIMARY KEY, uid INTEGER NOT NULL, bytes INTEGER NOT NULL)"
        " WITHOUT ROWID;"
        "CREATE TABLE IF NOT EXISTS models (key BLOB PRIMARY KEY, model TEXT NOT NULL) WITHOUT ROWID;");
  }
  if (status.ok()) status = index->writer_->execute(kColumns);
  if (status.ok()) status = index->load_totals();
  if (status.ok()) status = index->load_owners();
  if (status.ok()) status = index->sweep_models();
  if (!status.ok()) return damaged_if_internal(status);
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> reader, SqliteConnection::open(path, /*read_only=*/true));
  index->reader_ = std::move(reader);
  return index;
}

ActionCache::~ActionCache() = default;

absl::Status ActionCache::load_totals() {
  SqliteQuery blobs(*writer_, "SELECT count(*), total((size + 4095) / 4096 * 4096) FROM blobs");
  if (blobs.step()) {
    totals_.blobs = static_cast<std::uint64_t>(blobs.integer(0));
    totals_.bytes = static_cast<std::uint64_t>(blobs.integer(1));
  }
  HEARTH_RETURN_IF_ERROR(blobs.status());
  SqliteQuery actions(*writer_, "SELECT count(*), total(bytes) FROM actions");
  if (actions.step()) {
    totals_.actions = static_cast<std::uint64_t>(actions.integer(0));
    totals_.bytes += static_cast<std::uint64_t>(actions.integer(1));
  }
  return actions.status();
}

absl::StatusOr<std::optional<ActionRow>> ActionCache::find(const Digest& key) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_,
                    "SELECT key, kind, material, result, check_digest, created_ns, last_used_ns"
                    " FROM actions WHERE key = ?");
  query.bind(1, view(key));
  std::optional<ActionRow> row;
  if (query.step()) row = read_row(query);
  HEARTH_RETURN_IF_ERROR(query.status());
  return row;
}

absl::StatusOr<bool> ActionCache::contains_blob(const Digest& digest) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_, "SELECT 1 FROM blobs WHERE digest = ?");
  query.bind(1, view(digest));
  bool found = query.step();
  HEARTH_RETURN_IF_ERROR(query.status());
  return found;
}

absl::Status ActionCache::put(const ActionRow& row) {
  std::lock_guard lock(writer_mutex_);
  SqliteTransaction transaction(*writer_);
  HEARTH_RETURN_IF_ERROR(transaction.status());
  IndexTotals totals = this->totals();
  HEARTH_RETURN_IF_ERROR(write_touches());
  HEARTH_RETURN_IF_ERROR(insert(row, totals));
  HEARTH_RETURN_IF_ERROR(transaction.commit());
  std::lock_guard totals_lock(totals_mutex_);
  totals_ = totals;
  return absl::OkStatus();
}

absl::Status ActionCache::insert(const ActionRow& row, IndexTotals& totals) {
  std::int64_t old_id = 0;
  {
    SqliteQuery old(*writer_, "SELECT id FROM actions WHERE key = ?");
    old.bind(1, view(row.key));
    if (old.step()) old_id = old.integer(0);
    HEARTH_RETURN_IF_ERROR(old.status());
  }
  HEARTH_ASSIGN_OR_RETURN(const std::uint64_t owned_files, owned_file_bytes(row));
  if (old_id != 0) {
    HEARTH_RETURN_IF_ERROR(remove_action(old_id, totals));
  }
  std::string result = pack(row.blobs);
  Digest check = check_digest(row, result);
  std::int64_t id = 0;
  {
    SqliteQuery action(
        *writer_,
        "INSERT INTO actions (key, kind, material, result, check_digest, bytes, created_ns, last_used_ns)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    action.bind(1, view(row.key)).bind(2, static_cast<std::int64_t>(row.kind)).bind(3, row.material);
    action.bind(4, result).bind(5, view(check)).bind(6, static_cast<std::int64_t>(row.material.size()));
    action.bind(7, row.created_unix_ns).bind(8, row.last_used_unix_ns);
    if (action.step()) id = action.integer(0);
    HEARTH_RETURN_IF_ERROR(action.run());
  }
  ++totals.actions;
  totals.bytes += row.material.size();
  const std::uint64_t bytes_before = totals.bytes - row.material.size();
  for (const ArtifactRef& blob : row.blobs) {
    SqliteQuery added(*writer_,
                      "INSERT OR IGNORE INTO blobs (digest, size, last_used_ns) VALUES (?, ?, ?) RETURNING 1");
    added.bind(1, view(blob.digest)).bind(2, static_cast<std::int64_t>(blob.size_bytes)).bind(3, row.last_used_unix_ns);
    bool is_new = added.step();
    HEARTH_RETURN_IF_ERROR(added.run());
    if (is_new) {
      ++totals.blobs;
      totals.bytes += disk_bytes(blob.size_bytes);
    } else {
      SqliteQuery used(*writer_, "UPDATE blobs SET last_used_ns = ? WHERE digest = ?");
      used.bind(1, row.last_used_unix_ns).bind(2, view(blob.digest));
      HEARTH_RETURN_IF_ERROR(used.run());
    }
    SqliteQuery ref(*writer_, "INSERT OR IGNORE INTO refs (digest, action) VALUES (?, ?)");
    ref.bind(1, view(blob.digest)).bind(2, id);
    HEARTH_RETURN_IF_ERROR(ref.run());
  }
  HEARTH_RETURN_IF_ERROR(add_model(row));
  return add_owner(row.key, row.owner, owned_files + totals.bytes - bytes_before, totals);
}

absl::Status ActionCache::remove_action(std::int64_t row_id, IndexTotals& totals) {
  std::string result, key;
  {
    SqliteQuery query(*writer_, "SELECT result, bytes, key FROM actions WHERE id = ?");
    query.bind(1, row_id);
    if (query.step()) {
      result = std::string(query.blob(0));
      subtract(totals.actions, 1);
      subtract(totals.bytes, static_cast<std::uint64_t>(query.integer(1)));
      key = std::string(query.blob(2));
    }
    HEARTH_RETURN_IF_ERROR(query.status());
  }
  HEARTH_RETURN_IF_ERROR(remove_owner(key, totals));
  HEARTH_RETURN_IF_ERROR(remove_model(key));
  for (Reader in(result); in.ok() && !in.at_end(); in.u64()) {
    std::string digest(in.fixed(sizeof(Digest)));
    SqliteQuery ref(*writer_, "DELETE FROM refs WHERE digest = ? AND action = ?");
    ref.bind(1, digest).bind(2, row_id);
    HEARTH_RETURN_IF_ERROR(ref.run());
  }
  SqliteQuery removed(*writer_, "DELETE FROM actions WHERE id = ?");
  removed.bind(1, row_id);
  return removed.run();
}

void ActionCache::touch(const ActionRow& row, std::int64_t now_unix_ns) {
  std::lock_guard lock(touches_mutex_);
  if (touched_blobs_.size() + touched_actions_.size() >= kMaxPendingTouches) return;
  touched_actions_[row.key] = now_unix_ns;
  for (const ArtifactRef& blob : row.blobs) touched_blobs_[blob.digest] = now_unix_ns;
}

// Inside a transaction of the caller. Touches of a transaction that fails later are lost: they are only hints.
absl::Status ActionCache::write_touches() {
  std::map<Digest, std::int64_t> actions, blobs;
  {
    std::lock_guard lock(touches_mutex_);
    actions.swap(touched_actions_);
    blobs.swap(touched_blobs_);
  }
  for (const auto& [key, time] : actions) {
    SqliteQuery update(*writer_, "UPDATE actions SET last_used_ns = ?1 WHERE key = ?2 AND last_used_ns < ?1");
    update.bind(1, time).bind(2, view(key));
    HEARTH_RETURN_IF_ERROR(update.run());
  }
  for (const auto& [digest, time] : blobs) {
    SqliteQuery update(*writer_, "UPDATE blobs SET last_used_ns = ?1 WHERE digest = ?2 AND last_used_ns < ?1");
    update.bind(1, time).bind(2, view(digest));
    HEARTH_RETURN_IF_ERROR(update.run());
  }
  return absl::OkStatus();
}

absl::Status ActionCache::flush_touches() {
  std::lock_guard lock(writer_mutex_);
  {
    std::lock_guard touches_lock(touches_mutex_);
    if (touched_actions_.empty() && touched_blobs_.empty()) return absl::OkStatus();
  }
  SqliteTransaction transaction(*writer_);
  HEARTH_RETURN_IF_ERROR(transaction.status());
  HEARTH_RETURN_IF_ERROR(write_touches());
  return transaction.commit();
}

absl::StatusOr<std::vector<CasFile>> ActionCache::oldest_blobs(const CasFile& after, std::size_t limit) {
  std::lock_guard lock(writer_mutex_);
  SqliteQuery query(*writer_,
                    "SELECT digest, size, last_used_ns FROM blobs WHERE (last_used_ns, digest) > (?, ?)"
                    " ORDER BY last_used_ns, digest LIMIT ?");
  query.bind(1, after.last_used_unix_ns).bind(2, view(after.digest)).bind(3, static_cast<std::int64_t>(limit));
  return read_all<CasFile>(query, read_blob);
}

absl::StatusOr<std::uint64_t> ActionCache::drop_blobs(std::span<const Digest> digests) {
  std::lock_guard lock(writer_mutex_);
  SqliteTransaction transaction(*writer_);
  HEARTH_RETURN_IF_ERROR(transaction.status());
  IndexTotals totals = this->totals();
  std::uint64_t num_actions = totals.actions;
  for (const Digest& digest : digests) {
    std::vector<std::int64_t> actions;
    {
      SqliteQuery refs(*writer_, "SELECT action FROM refs WHERE digest = ?");
      refs.bind(1, view(digest));
      while (refs.step()) actions.push_back(refs.integer(0));
      HEARTH_RETURN_IF_ERROR(refs.status());
    }
    for (std::int64_t action : actions) {
      HEARTH_RETURN_IF_ERROR(remove_action(action, totals));
    }
    SqliteQuery blob(*writer_, "DELETE FROM blobs WHERE digest = ? RETURNING size");
    blob.bind(1, view(digest));
    while (blob.step()) {
      subtract(totals.blobs, 1);
      subtract(totals.bytes, disk_bytes(static_cast<std::uint64_t>(blob.integer(0))));
    }
    HEARTH_RETURN_IF_ERROR(blob.status());
  }
  HEARTH_RETURN_IF_ERROR(transaction.commit());
  std::lock_guard totals_lock(totals_mutex_);
  totals_ = totals;
  return num_actions - totals.actions;
}

absl::Status ActionCache::drop_action(const Digest& key) {
  std::lock_guard lock(writer_mutex_);
  SqliteTransaction transaction(*writer_);
  HEARTH_RETURN_IF_ERROR(transaction.status());
  IndexTotals totals = this->totals();
  std::int64_t id = 0;
  {
    SqliteQuery found(*writer_, "SELECT id FROM actions WHERE key = ?");
    found.bind(1, view(key));
    if (found.step()) id = found.integer(0);
    HEARTH_RETURN_IF_ERROR(found.status());
  }
  if (id == 0) return absl::OkStatus();
  HEARTH_RETURN_IF_ERROR(remove_action(id, totals));
  HEARTH_RETURN_IF_ERROR(transaction.commit());
  std::lock_guard totals_lock(totals_mutex_);
  totals_ = totals;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ActionRow>> ActionCache::recent_actions(std::size_t limit, const ActionRow* before) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_,
                    "SELECT key, kind, material, result, check_digest, created_ns, last_used_ns FROM actions"
                    " WHERE (last_used_ns, key) < (?, ?) ORDER BY last_used_ns DESC, key DESC LIMIT ?");
  query.bind(1, before ? before->last_used_unix_ns : std::numeric_limits<std::int64_t>::max());
  query.bind(2, before ? view(before->key) : std::string_view());
  query.bind(3, static_cast<std::int64_t>(limit));
  return read_all<ActionRow>(query, read_row);
}

absl::StatusOr<std::vector<ActionRow>> ActionCache::tuning_actions(std::size_t limit) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_,
                    "SELECT key, kind, material, result, check_digest, created_ns, last_used_ns FROM actions"
                    " WHERE kind = 3 ORDER BY created_ns DESC, key LIMIT ?");
  query.bind(1, static_cast<std::int64_t>(limit));
  return read_all<ActionRow>(query, read_row);
}

absl::StatusOr<std::vector<CasFile>> ActionCache::blobs_after(const Digest* after, std::size_t limit) {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_, "SELECT digest, size, last_used_ns FROM blobs WHERE digest > ? ORDER BY digest LIMIT ?");
  query.bind(1, after ? view(*after) : std::string_view()).bind(2, static_cast<std::int64_t>(limit));
  return read_all<CasFile>(query, read_blob);
}

absl::Status ActionCache::probe() {
  std::lock_guard lock(writer_mutex_);
  SqliteTransaction transaction(*writer_);
  HEARTH_RETURN_IF_ERROR(transaction.status());
  HEARTH_RETURN_IF_ERROR(writer_->execute("PRAGMA user_version = 1"));
  return transaction.commit();
}

absl::Status ActionCache::check_consistency() {
  std::lock_guard lock(reader_mutex_);
  SqliteQuery query(*reader_, "PRAGMA integrity_check(1)");
  const std::string found = query.step() ? std::string(query.blob(0)) : "";
  if (!query.status().ok()) return damaged_if_internal(query.status());
  return found == "ok" ? absl::OkStatus() : absl::DataLossError(absl::StrCat("cache index: ", found));
}

absl::Status ActionCache::reclaim() {
  std::lock_guard lock(writer_mutex_);
  return writer_->execute("PRAGMA incremental_vacuum(256)");
}

IndexTotals ActionCache::totals() const {
  std::lock_guard lock(totals_mutex_);
  return totals_;
}

}  // namespace hearth::cache
