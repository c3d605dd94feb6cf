#include "daemon/store/plan_reads.h"

#include <algorithm>
#include <utility>

namespace hearth::daemon {
namespace {

std::optional<std::string> matching(const v1::PlanReads& known, const TuningSnapshot& tuning) {
  for (const v1::PlanReads::Variant& variant : known.variants()) {
    if (tuning.digest_of(variant.kernels()) == variant.tuning()) return variant.tuning();
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> PlanReads::find_recent(const cache::KeyMaterial& plan, const TuningSnapshot& tuning) {
  if (tuning.digest.empty()) return std::string();
  const Known known = recent(cache::key(plan));
  return known ? matching(*known, tuning) : std::nullopt;
}

std::optional<std::string> PlanReads::find(const cache::KeyMaterial& plan, const TuningSnapshot& tuning) {
  if (tuning.digest.empty()) return std::string();
  const Known known = read(plan);
  return known ? matching(*known, tuning) : std::nullopt;
}

std::vector<std::string> PlanReads::all(const cache::KeyMaterial& plan) {
  std::vector<std::string> digests;
  if (const Known known = read(plan)) {
    for (const v1::PlanReads::Variant& variant : known->variants()) digests.push_back(variant.tuning());
  }
  // One that was stored before what it reads was kept.
  if (std::ranges::find(digests, std::string()) == digests.end()) digests.emplace_back();
  return digests;
}

std::string PlanReads::put(const cache::KeyMaterial& plan,
                           const google::protobuf::RepeatedPtrField<std::string>& kernels, const TuningSnapshot& tuning,
                           const std::string& scope, uid_t user) {
  std::string digest = tuning.digest_of(kernels);
  auto known = std::make_shared<v1::PlanReads>();
  v1::PlanReads::Variant& newest = *known->add_variants();
  *newest.mutable_kernels() = kernels;
  newest.set_tuning(digest);
  known->set_scope(scope);
  if (const Known before = read(plan)) {
    for (const v1::PlanReads::Variant& variant : before->variants()) {
      if (variant.tuning() != digest && known->variants_size() < kMaxVariants) *known->add_variants() = variant;
    }
    if (before->SerializeAsString() == known->SerializeAsString()) return digest;
  }
  store_->put_records(cache::plan_reads_key_material(plan), known->SerializeAsString(), user);
  remember(cache::key(plan), std::move(known));
  return digest;
}

void PlanReads::add(const cache::KeyMaterial& reads, const v1::PlanReads& others) {
  v1::PlanReads merged = others;
  std::set<std::string> tunings;
  for (const v1::PlanReads::Variant& variant : others.variants()) tunings.insert(variant.tuning());
  v1::PlanReads known;
  const std::optional<std::string> bytes = store_->find_records(reads);
  if (bytes && known.ParseFromString(*bytes)) {
    for (const v1::PlanReads::Variant& variant : known.variants())
      if (tunings.insert(variant.tuning()).second) *merged.add_variants() = variant;
  }
  while (merged.variants_size() > kMaxVariants) merged.mutable_variants()->RemoveLast();
  if (!bytes || merged.SerializeAsString() != *bytes) store_->put_records(reads, merged.SerializeAsString());
  forget();
}

std::size_t PlanReads::count_readers(const std::set<std::string>& kernels, const std::string& scope) {
  std::size_t count = 0;
  for (const std::string& bytes : store_->records_of(cache::kPlanReadsDomain, kMaxCounted)) {
    v1::PlanReads reads;
    if (!reads.ParseFromString(bytes) || reads.scope() != scope || reads.variants().empty()) continue;
    count +=
        std::ranges::any_of(reads.variants(0).kernels(), [&](const std::string& k) { return kernels.contains(k); });
  }
  return count;
}

PlanReads::Known PlanReads::recent(const Digest& key) {
  std::lock_guard lock(mutex_);
  const auto found = recent_.find(key);
  if (found == recent_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second.second);
  return found->second.first;
}

PlanReads::Known PlanReads::read(const cache::KeyMaterial& plan) {
  const Digest key = cache::key(plan);
  if (Known known = recent(key)) return known;
  const std::optional<std::string> bytes = store_->find_records(cache::plan_reads_key_material(plan));
  auto known = std::make_shared<v1::PlanReads>();
  if (!bytes || !known->ParseFromString(*bytes)) return nullptr;
  remember(key, known);
  return known;
}

void PlanReads::remember(const Digest& key, Known known) {
  std::lock_guard lock(mutex_);
  const auto drop = [this](const Digest& gone) {
    const auto found = recent_.find(gone);
    recent_bytes_ -= found->second.first->ByteSizeLong();
    order_.erase(found->second.second);
    recent_.erase(found);
  };
  if (recent_.contains(key)) drop(key);
  recent_bytes_ += known->ByteSizeLong();
  order_.push_front(key);
  recent_.emplace(key, std::pair(std::move(known), order_.begin()));
  while (recent_bytes_ > kMaxRecentBytes && recent_.size() > 1) drop(Digest(order_.back()));
}

void PlanReads::forget() {
  std::lock_guard lock(mutex_);
  recent_.clear();
  order_.clear();
  recent_bytes_ = 0;
}

}  // namespace hearth::daemon
