// ActionCache: what clients call the models that plans are of. For people: no part of any key, and read by nothing that
// serves a request.
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "kernels_cache/action_cache.h"
#include "kernels_cache/sqlite_connection.h"
#include "kernels_cache/stored_row.h"

namespace hearth::cache {
namespace {

constexpr std::size_t kMaxModelBytes = 256;

// At most so many bytes, and no half of a character.
std::string_view shortened(std::string_view model) {
  if (model.size() <= kMaxModelBytes) return model;
  std::size_t end = kMaxModelBytes;
  while (end > 0 && (static_cast<unsigned char>(model[end]) & 0xC0) == 0x80) --end;
  return model.substr(0, end);
}

}  // namespace

// Rows of actions that a daemon without names removed are removed here.
absl::Status ActionCache::sweep_models() {
  SqliteQuery gone(*writer_, "DELETE FROM models WHERE key NOT IN (SELECT key FROM actions)");
  return gone.run();
}

absl::Status ActionCache::add_model(const ActionRow& row) {
  if (row.model.empty()) return absl::OkStatus();
  SqliteQuery added(*writer_, "INSERT OR REPLACE INTO models (key, model) VALUES (?, ?)");
  added.bind(1, view(row.key)).bind(2, shortened(row.model));
  return added.run();
}

absl::Status ActionCache::remove_model(std::string_view key) {
  SqliteQuery removed(*writer_, "DELETE FROM models WHERE key = ?");
  removed.bind(1, key);
  return removed.run();
}

absl::Status ActionCache::describe(std::vector<ActionRow>& rows) {
  std::lock_guard lock(reader_mutex_);
  for (ActionRow& row : rows) {
    SqliteQuery owner(*reader_, "SELECT uid FROM owners WHERE key = ?");
    owner.bind(1, view(row.key));
    if (owner.step()) row.owner = owner.integer(0);
    HEARTH_RETURN_IF_ERROR(owner.status());
    const bool is_plan = row.kind == EntryKind::kPlan;
    if (row.blobs.empty()) continue;
    // A kernel is of the plans that name its file.
    SqliteQuery model(*reader_, is_plan ? "SELECT model FROM models WHERE key = ?"
                                        : "SELECT m.model FROM refs AS r JOIN actions AS a ON a.id = r.action"
                                          " JOIN models AS m ON m.key = a.key WHERE r.digest = ? LIMIT 1");
    model.bind(1, is_plan ? view(row.key) : view(row.blobs[0].digest));
    if (model.step()) row.model = std::string(model.blob(0));
    HEARTH_RETURN_IF_ERROR(model.status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ActionRow>> ActionCache::plans_of(std::string_view model) {
  std::lock_guard lock(writer_mutex_);
  const std::string ending = "/" + std::string(model);  // bytes, as names are stored
  SqliteQuery query(*writer_,
                    "SELECT a.key, a.kind, x'', a.result, a.check_digest, a.created_ns, a.last_used_ns"
                    " FROM models AS m JOIN actions AS a ON a.key = m.key"
                    " WHERE m.model = ?1 OR substr(m.model, -length(?2)) = ?2");
  query.bind(1, model).bind(2, ending);
  std::vector<ActionRow> rows;
  while (query.step()) rows.push_back(read_row(query));
  HEARTH_RETURN_IF_ERROR(query.status());
  return rows;
}

absl::StatusOr<std::vector<CasFile>> ActionCache::of_no_plan(std::span<const ArtifactRef> files) {
  std::lock_guard lock(writer_mutex_);
  std::vector<CasFile> unused;
  for (const ArtifactRef& file : files) {
    SqliteQuery plans(*writer_,
                      "SELECT 1 FROM refs AS r JOIN actions AS a ON a.id = r.action"
                      " WHERE r.digest = ? AND a.kind = 1 LIMIT 1");
    plans.bind(1, view(file.digest));
    const bool is_used = plans.step();
    HEARTH_RETURN_IF_ERROR(plans.status());
    if (!is_used) unused.push_back({file.digest, file.size_bytes, 0});
  }
  return unused;
}

}  // namespace hearth::cache
