// PlanReads: which kernels' tuning records plans were made with, so that a plan is found as long as these are what they
// were, whatever other kernels were tuned since. On disk beside the plans, the last ones in memory. Thread-safe;
// borrows the store.
//
//   std::optional<std::string> tuning = reads.find(base, *snapshot);       // nothing: no such plan is known
//   if (tuning) plan = store.find_plan(cache::with_tuning(base, *tuning));
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/store/result_store.h"
#include "daemon/store/tuning_table.h"
#include "hearth/v1/tuning.pb.h"
#include "kernels_cache/action_key.h"

namespace hearth::daemon {

class PlanReads {
 public:
  explicit PlanReads(ResultStore* store) : store_(store) {}

  // The digest of those records of `tuning` that a lowering of `plan` (its key without tuning) reads, where one that is
  // known to read these same ones was stored. Without records that is always the empty one.
  std::optional<std::string> find(const cache::KeyMaterial& plan, const TuningSnapshot& tuning);
  // The same without reading a file; nothing does not mean that there is none.
  std::optional<std::string> find_recent(const cache::KeyMaterial& plan, const TuningSnapshot& tuning);
  // What all stored lowerings read, newest first, whatever records there are now.
  std::vector<std::string> all(const cache::KeyMaterial& plan);

  // A lowering looked up records for `kernels` (ascending digests), and found those of `tuning`. `scope`:
  // TuningTable's.
  // -> their digest
  std::string put(const cache::KeyMaterial& plan, const google::protobuf::RepeatedPtrField<std::string>& kernels,
                  const TuningSnapshot& tuning, const std::string& scope, uid_t user);

  // What lowerings of a plan read on another node, by the key of its records (plan_reads_key_material), before what is
  // known here.
  void add(const cache::KeyMaterial& reads, const v1::PlanReads& others);

  // How many stored plans of this scope were last lowered with a look at one of `kernels`.
  std::size_t count_readers(const std::set<std::string>& kernels, const std::string& scope);

  void forget();

 private:
  static constexpr std::size_t kMaxCounted = 65536;          // plans
  static constexpr int kMaxVariants = 8;                     // of one plan
  static constexpr std::size_t kMaxRecentBytes = 16u << 20;  // in memory
  using Known = std::shared_ptr<const v1::PlanReads>;

  Known recent(const Digest& key);
  Known read(const cache::KeyMaterial& plan);
  void remember(const Digest& key, Known known);

  ResultStore* const store_;
  std::mutex mutex_;
  std::list<Digest> order_;  // newest first
  std::map<Digest, std::pair<Known, std::list<Digest>::iterator>> recent_;
  std::size_t recent_bytes_ = 0;
};

}  // namespace hearth::daemon
