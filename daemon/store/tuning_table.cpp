#include "daemon/store/tuning_table.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "kernels_cache/canonical_bytes.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxRecordBytes = 64 << 10;

const std::shared_ptr<const TuningSnapshot>& no_records() {
  static const auto* const none = new std::shared_ptr<const TuningSnapshot>(std::make_shared<TuningSnapshot>());
  return *none;
}

}  // namespace

bool TuningTable::is_of_build(const std::string& scope, const std::string& build_id) {
  const absl::StatusOr<cache::KeyMaterial> parts = cache::KeyMaterial::decode(scope);
  return parts.ok() && !parts->parts().empty() && parts->parts().back().bytes == build_id;
}

std::shared_ptr<const TuningSnapshot> TuningTable::snapshot(const v1::Target& target,
                                                            const v1::CompileOptions& options) {
  std::lock_guard lock(mutex_);
  if (!loaded_) load_locked();
  if (scopes_.empty()) return no_records();
  auto scope = scopes_.find(cache::tuning_scope(target, options, build_id_));
  return scope == scopes_.end() ? no_records() : scope->second.snapshot;
}

std::string TuningTable::scope_of(const v1::Target& target, const v1::CompileOptions& options) const {
  return to_bytes(sha256(cache::tuning_scope(target, options, build_id_)));
}

std::optional<v1::TuningRecord> TuningTable::find(const std::string& kernel, const v1::Target& target,
                                                  const v1::CompileOptions& options) {
  std::lock_guard lock(mutex_);
  if (!loaded_) load_locked();
  const auto scope = scopes_.find(cache::tuning_scope(target, options, build_id_));
  if (scope == scopes_.end()) return std::nullopt;
  const auto record = scope->second.records.find(kernel);
  return record == scope->second.records.end() ? std::nullopt : std::optional(record->second);
}

absl::Status TuningTable::put(const v1::FlatKernel& kernel, const v1::Target& target, const v1::CompileOptions& options,
                              const v1::TuningRecord& record) {
  std::lock_guard lock(mutex_);
  if (!loaded_) load_locked();
  Scope& scope = scopes_[cache::tuning_scope(target, options, build_id_)];
  if (scope.records.size() >= kMaxRecords && scope.records.count(record.kernel()) == 0) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", kMaxRecords,
                                                     " tuning records for this target already; `hearth cache clear "
                                                     "--tuning` removes them all"));
  }
  absl::StatusOr<cache::Pin> stored =
      cache_->put_tuning(cache::tuning_key_material(kernel, target, options, build_id_), record.SerializeAsString());
  if (stored.ok()) {
    scope.pins.push_back(*std::move(stored));
  } else {
    spdlog::warn("keeping a tuning record in memory: {}", std::string(stored.status().message()));
  }
  scope.records[record.kernel()] = record;
  scope.snapshot = snapshot_of(scope);
  return absl::OkStatus();
}

void TuningTable::forget() {
  std::lock_guard lock(mutex_);
  loaded_ = false;
  scopes_.clear();
}

void TuningTable::load_locked() {
  loaded_ = true;
  for (cache::TuningEntry& entry : cache_->tuning_records(kMaxLoaded)) {
    const std::string scope_key = cache::tuning_scope(entry.material);
    const bool is_scope = !scope_key.empty();
    if (is_scope && !is_of_build(scope_key, build_id_)) continue;
    v1::TuningRecord record;
    if (!is_scope || entry.record.size() > kMaxRecordBytes || !record.ParseFromString(entry.record) ||
        record.kernel().size() != sizeof(Digest)) {
      spdlog::warn("a tuning record of {} bytes makes no sense and was dropped", entry.record.size());
      cache_->drop_tuning(entry.material);
      continue;
    }
    Scope& scope = scopes_[scope_key];
    std::string kernel = record.kernel();
    if (scope.records.size() >= kMaxRecords || !scope.records.emplace(std::move(kernel), std::move(record)).second)
      continue;
    scope.pins.push_back(std::move(entry.pin));
  }
  for (auto& [key, scope] : scopes_) scope.snapshot = snapshot_of(scope);
}

std::shared_ptr<const TuningSnapshot> TuningTable::snapshot_of(const Scope& scope) {
  auto snapshot = std::make_shared<TuningSnapshot>();
  google::protobuf::RepeatedPtrField<std::string> kernels;
  for (const auto& [kernel, record] : scope.records) {
    if (record.no_gain()) continue;
    v1::TuningRecord& added = *snapshot->records.Add();
    added.set_kernel(kernel);
    *added.mutable_opts() = record.opts();
    *kernels.Add() = kernel;
  }
  snapshot->digest = snapshot->digest_of(kernels);
  return snapshot;
}

std::string TuningSnapshot::digest_of(const google::protobuf::RepeatedPtrField<std::string>& kernels) const {
  cache::Writer bytes;
  bool any = false;
  auto record = records.begin();  // ascend as well
  for (const std::string& kernel : kernels) {
    record = std::lower_bound(record, records.end(), kernel,
                              [](const v1::TuningRecord& r, const std::string& k) { return r.kernel() < k; });
    if (record == records.end()) break;
    if (record->kernel() != kernel) continue;
    any = true;
    bytes.bytes(kernel).u64(static_cast<std::uint64_t>(record->opts_size()));
    for (const v1::Opt& opt : record->opts())
      bytes.u32(static_cast<std::uint32_t>(opt.kind())).u32(opt.axis()).i64(opt.amount());
  }
  return any ? to_bytes(sha256(bytes.take())) : std::string();
}

}  // namespace hearth::daemon
