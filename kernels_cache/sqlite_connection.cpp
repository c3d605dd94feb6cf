#include "kernels_cache/sqlite_connection.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "kernels_cache/file_system.h"

namespace hearth::cache {

absl::StatusOr<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path, bool read_only) {
  sqlite3* database = nullptr;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE |
              (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  int code = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(database));
  if (code != SQLITE_OK) return connection->error(code);
  sqlite3_busy_timeout(database, 10'000);
  return connection;
}

SqliteConnection::~SqliteConnection() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

absl::Status SqliteConnection::error(int code) const {
  std::string message = absl::StrCat("cache index: ", database_ ? sqlite3_errmsg(database_) : sqlite3_errstr(code));
  int os_error = database_ ? sqlite3_system_errno(database_) : 0;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return absl::DataLossError(message);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_IOERR:
      return os_error != 0 ? errno_status(os_error, message) : absl::UnavailableError(message);
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return os_error != 0 ? errno_status(os_error, message) : absl::PermissionDeniedError(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status SqliteConnection::execute(const char* sql) {
  int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : error(code);
}

absl::StatusOr<sqlite3_stmt*> SqliteConnection::prepared(const char* sql) {
  auto found = statements_.find(std::string_view(sql));
  if (found != statements_.end()) return found->second;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error(code);
  statements_.emplace(sql, statement);
  return statement;
}

SqliteQuery::SqliteQuery(SqliteConnection& connection, const char* sql) : connection_(connection) {
  absl::StatusOr<sqlite3_stmt*> statement = connection.prepared(sql);
  if (statement.ok()) {
    statement_ = *statement;
  } else {
    status_ = statement.status();
  }
}

SqliteQuery::~SqliteQuery() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

SqliteQuery& SqliteQuery::bind(int index, std::int64_t value) {
  if (status_.ok()) {
    int code = sqlite3_bind_int64(statement_, index, value);
    if (code != SQLITE_OK) status_ = connection_.error(code);
  }
  return *this;
}

SqliteQuery& SqliteQuery::bind(int index, std::string_view blob) {
  if (status_.ok()) {
    const char* data = blob.data() != nullptr ? blob.data() : "";
    int code = sqlite3_bind_blob64(statement_, index, data, blob.size(), SQLITE_STATIC);
    if (code != SQLITE_OK) status_ = connection_.error(code);
  }
  return *this;
}

bool SqliteQuery::step() {
  if (!status_.ok()) return false;
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) status_ = connection_.error(code);
  return false;
}

absl::Status SqliteQuery::run() {
  while (step()) {
  }
  return status_;
}

std::int64_t SqliteQuery::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view SqliteQuery::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}

SqliteTransaction::SqliteTransaction(SqliteConnection& connection) : connection_(connection) {
  status_ = connection_.execute("BEGIN IMMEDIATE");
  open_ = status_.ok();
}

SqliteTransaction::~SqliteTransaction() {
  // After some errors SQLite has rolled back by itself; a second rollback only reports that.
  if (open_) connection_.execute("ROLLBACK").IgnoreError();
}

absl::Status SqliteTransaction::commit() {
  absl::Status committed = connection_.execute("COMMIT");
  if (committed.ok()) open_ = false;
  return committed;
}

}  // namespace hearth::cache
