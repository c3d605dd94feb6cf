#include "daemon/blobs/blob_records.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/file_digest/include_shadowing.h"

namespace hearth::daemon {
namespace {

v1::BlobRecord record_of(const v1::BlobSpec& spec, const v1::CompiledBlob& blob) {
  v1::BlobRecord record;
  for (const v1::BlobDependency& dependency : blob.dependencies()) {
    if (dependency.sha256_hex().empty()) continue;  // a shadowing file the compiler's side has seen
    v1::BlobFile& file = *record.add_files();
    file.set_path(files::without_root(dependency.path(), spec.root()));
    file.set_sha256(absl::HexStringToBytes(dependency.sha256_hex()));
  }
  std::sort(record.mutable_files()->begin(), record.mutable_files()->end(),
            [](const v1::BlobFile& a, const v1::BlobFile& b) { return a.path() < b.path(); });
  return record;
}

bool same_files(const v1::BlobRecord& a, const v1::BlobRecord& b) {
  return std::equal(a.files().begin(), a.files().end(), b.files().begin(), b.files().end(),
                    [](const auto& x, const auto& y) { return x.path() == y.path() && x.sha256() == y.sha256(); });
}

std::vector<std::string> shadowing_now(const v1::BlobSpec& spec, const v1::BlobRecord& record,
                                       files::FileDigestCache& files, files::FileSnapshot* watched = nullptr) {
  std::vector<std::string> used;
  for (const v1::BlobFile& file : record.files()) used.push_back(file.path());
  return files::shadowing_files(
      {.root = spec.root(), .source = spec.source(), .flags = {spec.flags().begin(), spec.flags().end()}}, used, files,
      watched);
}

// A key that nobody asks for.
cache::KeyMaterial unasked(cache::KeyMaterial material) {
  static std::atomic<std::uint64_t> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  material.add("blob.changed_meanwhile", absl::StrCat(now, ".", ++count));
  return material;
}

}  // namespace

v1::BlobRecords BlobRecords::read(const cache::KeyMaterial& request) {
  v1::BlobRecords records;
  const std::optional<std::string> bytes = store_->find_records(request);
  if (bytes && !records.ParseFromString(*bytes)) records.Clear();
  return records;
}

bool BlobRecords::holds(const v1::BlobSpec& spec, const v1::BlobRecord& record, files::FileSnapshot& watched) {
  for (const v1::BlobFile& file : record.files()) {
    const absl::StatusOr<Digest> digest = files_->digest(files::with_root(file.path(), spec.root()), &watched);
    if (!digest.ok() || to_bytes(*digest) != file.sha256()) return false;
  }
  const std::vector<std::string> now = shadowing_now(spec, record, *files_, &watched);
  return std::includes(record.shadowing().begin(), record.shadowing().end(), now.begin(), now.end());
}

std::optional<FoundBlob> BlobRecords::find_fresh(const Digest& request_and_root) {
  std::shared_ptr<const Fresh> fresh;
  {
    std::lock_guard lock(fresh_mutex_);
    const auto known = fresh_.find(request_and_root);
    if (known != fresh_.end()) fresh = known->second;
  }
  if (!fresh || !fresh->watched.unchanged()) return std::nullopt;
  std::optional<KernelResult> artifact = store_->find_blob(fresh->material);
  if (!artifact) return std::nullopt;
  return FoundBlob{fresh->key, std::move(*artifact), ""};
}

std::optional<FoundBlob> BlobRecords::find(const v1::BlobSpec& spec, const cache::KeyMaterial& request) {
  const Digest request_and_root = sha256(to_bytes(cache::key(request)) + spec.root());
  if (std::optional<FoundBlob> found = find_fresh(request_and_root)) return found;
  const v1::BlobRecords records = read(request);
  for (const v1::BlobRecord& record : records.records()) {
    files::FileSnapshot watched;
    if (!holds(spec, record, watched)) continue;
    const cache::KeyMaterial material = cache::blob_material(request, record);
    std::optional<KernelResult> artifact = store_->find_blob(material);
    if (!artifact) continue;
    const Digest key = cache::key(material);
    if (watched.settled()) {
      std::lock_guard lock(fresh_mutex_);
      if (fresh_.size() >= kMaxFresh) fresh_.clear();
      fresh_[request_and_root] = std::make_shared<const Fresh>(Fresh{std::move(watched), material, key});
    }
    return FoundBlob{key, std::move(*artifact), ""};
  }
  return std::nullopt;
}

FoundBlob BlobRecords::put(const v1::BlobSpec& spec, const cache::KeyMaterial& request, const v1::CompiledBlob& blob,
                           bool keep, std::chrono::system_clock::time_point began) {
  v1::BlobRecord record = record_of(spec, blob);
  const std::vector<std::string> shadowing = shadowing_now(spec, record, *files_);
  record.mutable_shadowing()->Assign(shadowing.begin(), shadowing.end());
  const cache::KeyMaterial material = cache::blob_material(request, record);
  // Whether the compiler saw one that came while it ran is not known.
  const bool unclear =
      files::any_since(std::chrono::nanoseconds(began.time_since_epoch()).count(), shadowing, spec.root());
  if (unclear) spdlog::warn("blob '{}' is not kept: a header of a name it includes appeared meanwhile", spec.stem());
  if (!keep || unclear) {
    return {cache::key(material), store_->put_blob(unasked(material), blob.artifact().data()), ""};
  }
  return put_kept(request, record, blob.artifact().data());
}

std::optional<FoundBlob> BlobRecords::take(const v1::BlobSpec& spec, const cache::KeyMaterial& request,
                                           const v1::BlobRecord& record, std::string_view artifact) {
  files::FileSnapshot watched;
  const auto has_less = [](const v1::BlobFile& a, const v1::BlobFile& b) { return a.path() < b.path(); };
  if (!std::is_sorted(record.files().begin(), record.files().end(), has_less) || !holds(spec, record, watched))
    return std::nullopt;
  return put_kept(request, record, artifact);
}

FoundBlob BlobRecords::put_kept(const cache::KeyMaterial& request, const v1::BlobRecord& record,
                                std::string_view artifact) {
  const cache::KeyMaterial material = cache::blob_material(request, record);
  FoundBlob found{cache::key(material), store_->put_blob(material, artifact), record.SerializeAsString()};
  std::lock_guard lock(write_mutex_);
  const v1::BlobRecords old = read(request);
  v1::BlobRecords records;
  *records.add_records() = record;
  for (const v1::BlobRecord& other : old.records()) {
    if (records.records_size() < kMaxRecords && !same_files(record, other)) *records.add_records() = other;
  }
  store_->put_records(request, records.SerializeAsString());
  return found;
}

}  // namespace hearth::daemon
