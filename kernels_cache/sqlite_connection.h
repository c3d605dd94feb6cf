// SqliteConnection and SqliteQuery: SQLite's C API as owned values and absl::Status. Internal to kernels_cache.
//
// A connection is used by one thread at a time (its owner locks); statements are prepared once and kept. Errors: a
// damaged or foreign file is DATA_LOSS, a full disk RESOURCE_EXHAUSTED, I/O UNAVAILABLE. Example:
//   SqliteQuery query(connection, "SELECT size FROM blobs WHERE digest = ?");
//   query.bind(1, digest_bytes);
//   while (query.step()) use(query.integer(0));
//   return query.status();
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hearth::cache {

class SqliteConnection {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteConnection>> open(const std::string& path, bool read_only);
  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  // Statements without results, e.g. pragmas and schema.
  absl::Status execute(const char* sql);

 private:
  friend class SqliteQuery;
  explicit SqliteConnection(sqlite3* database) : database_(database) {}
  absl::StatusOr<sqlite3_stmt*> prepared(const char* sql);
  absl::Status error(int code) const;

  sqlite3* database_;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

// One run of a prepared statement; resets it when destroyed. Bound views must live until then.
class SqliteQuery {
 public:
  SqliteQuery(SqliteConnection& connection, const char* sql);
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  SqliteQuery& bind(int index, std::int64_t value);
  SqliteQuery& bind(int index, std::string_view blob);

  // True while there is a row; false at the end or on an error, see status().
  bool step();
  // Runs to the end.
  absl::Status run();
  const absl::Status& status() const { return status_; }

  std::int64_t integer(int column) const;
  std::string_view blob(int column) const;  // valid until the next step()

 private:
  SqliteConnection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  absl::Status status_;
};

// BEGIN IMMEDIATE … COMMIT; rolls back when destroyed before commit() succeeded.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteConnection& connection);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  const absl::Status& status() const { return status_; }  // of BEGIN
  absl::Status commit();

 private:
  SqliteConnection& connection_;
  absl::Status status_;
  bool open_ = false;
};

}  // namespace hearth::cache
