// TuningTable: the tuning records of the cache, by what they hold for: target, options, compiler build. Read once, when
// first needed; a damaged or senseless record is dropped with a warning. Its files are pinned: what every lowering
// reads is not evicted. Snapshots are immutable, so that one lowering and its plan's key see the same records. What the
// disk does not take is kept in memory. Thread-safe; borrows the cache.
//
//   std::shared_ptr<const TuningSnapshot> tuning = table.snapshot(target, options);
//   std::string of_plan = tuning->digest_of(lowered.tuning_reads());
#pragma once
#include <absl/status/status.h>
#include <google/protobuf/repeated_field.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "hearth/v1/artifact.pb.h"
#include "hearth/v1/tuning.pb.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

struct TuningSnapshot {
  // The records with something better than the heuristic: kernels and opts only, by kernel.
  google::protobuf::RepeatedPtrField<v1::TuningRecord> records;
  std::string digest;  // 32 bytes; empty when there are no records

  // The same of those for `kernels`, digests that ascend: what a plan's key says of tuning.
  std::string digest_of(const google::protobuf::RepeatedPtrField<std::string>& kernels) const;
};

class TuningTable {
 public:
  // The most of one target, options and build; the newest are taken.
  static constexpr std::size_t kMaxRecords = 4096;
  static constexpr std::size_t kMaxLoaded = 4 * kMaxRecords;  // of all scopes, other builds' included

  TuningTable(cache::KernelsCache* cache, std::string build_id) : cache_(cache), build_id_(std::move(build_id)) {}

  std::shared_ptr<const TuningSnapshot> snapshot(const v1::Target& target, const v1::CompileOptions& options);

  // True for a scope (cache::tuning_scope) of records that this build of the compiler made.
  static bool is_of_build(const std::string& scope, const std::string& build_id);

  // What records of one target, options and build have in common; 32 bytes.
  std::string scope_of(const v1::Target& target, const v1::CompileOptions& options) const;

  // The record of the flat kernel with this digest; also one that says that nothing was found.
  std::optional<v1::TuningRecord> find(const std::string& kernel, const v1::Target& target,
                                       const v1::CompileOptions& options);

  // RESOURCE_EXHAUSTED when the table is full. A record of the same kernel is replaced.
  absl::Status put(const v1::FlatKernel& kernel, const v1::Target& target, const v1::CompileOptions& options,
                   const v1::TuningRecord& record);

  // Before the cache is cleared, after it was checked: the pins go, what is there is read again when next needed.
  void forget();

 private:
  struct Scope {
    std::map<std::string, v1::TuningRecord> records;  // by kernel
    std::vector<cache::Pin> pins;
    std::shared_ptr<const TuningSnapshot> snapshot;
  };

  void load_locked();
  static std::shared_ptr<const TuningSnapshot> snapshot_of(const Scope& scope);

  cache::KernelsCache* const cache_;
  const std::string build_id_;
  std::mutex mutex_;
  bool loaded_ = false;
  std::map<std::string, Scope> scopes_;  // by cache::tuning_scope
};

}  // namespace hearth::daemon
