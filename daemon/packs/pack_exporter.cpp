#include "daemon/packs/pack_exporter.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/text.h"
#include "daemon/packs/packed_kind.h"
#include "daemon/remote/writer_key.h"
#include "daemon/store/key_namespace.h"
#include "daemon/store/tuning_table.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::daemon {
namespace {

std::string short_name(const Digest& key) { return to_hex(key).substr(0, 16); }

// True for what root or the daemon's own user had built.
bool is_operators(const cache::StoredEntry& entry) {
  const auto is_users = [](const cache::KeyPart& part) { return part.name == KeyNamespace::kPart; };
  return entry.owner == cache::kNoOwner && std::ranges::none_of(entry.material.parts(), is_users);
}

// The plan's key as it is before tuning records count.
cache::KeyMaterial without_tuning(const cache::KeyMaterial& plan) {
  cache::KeyMaterial base(plan.domain());
  for (const cache::KeyPart& part : plan.parts()) {
    if (part.name != cache::kTuningPart) base.add(part.name, part.bytes);
  }
  return base;
}

// Entries under way, in the order in which they are imported: what a plan needs comes before it.
class Collection {
 public:
  explicit Collection(cache::KernelsCache& cache) : cache_(cache) {}

  absl::Status add_plan(const Digest& key);
  // The records that the plans added so far looked for.
  void add_tuning(const std::string& build_id);

  struct Part {
    const char* kind;
    cache::KeyMaterial material;
    cache::ArtifactRef content;
    std::vector<cache::ArtifactRef> kernels;  // of a plan
    std::string model;
  };
  std::vector<Part> parts() &&;

 private:
  absl::Status add_kernels(const cache::StoredEntry& plan, const std::string& name);
  absl::Status add_reads(const cache::StoredEntry& plan, const std::string& name);

  cache::KernelsCache& cache_;
  std::set<Digest> known_;
  std::vector<Part> tuning_, kernels_, plans_, reads_;
  std::set<std::string> tuned_;              // flat kernels that lowerings looked up
  std::vector<cache::StoredEntry> entries_;  // and their pins
};

absl::Status Collection::add_plan(const Digest& key) {
  const std::string name = str_cat("plan ", short_name(key));
  if (!known_.insert(key).second) return absl::OkStatus();
  std::optional<cache::StoredEntry> plan = cache_.find_entry(key);
  if (!plan || plan->kind != cache::EntryKind::kPlan)
    return absl::NotFoundError(str_cat(name, " is not in the cache; run hearth prewarm --report again"));
  if (!is_operators(*plan)) {
    return absl::FailedPreconditionError(
        str_cat(name, " was built for another user, and a pack is signed: prewarm as root or as the daemon's user"));
  }
  HEARTH_RETURN_IF_ERROR(add_kernels(*plan, name));
  HEARTH_RETURN_IF_ERROR(add_reads(*plan, name));
  plans_.push_back(
      {kPackedPlan, plan->material, plan->files.front(), {plan->files.begin() + 1, plan->files.end()}, plan->model});
  entries_.push_back(*std::move(plan));
  return absl::OkStatus();
}

absl::Status Collection::add_kernels(const cache::StoredEntry& plan, const std::string& name) {
  for (std::size_t i = 1; i < plan.files.size(); ++i) {
    bool is_there = false;
    for (const Digest& key : cache_.artifact_keys(plan.files[i].digest)) {
      std::optional<cache::StoredEntry> kernel = cache_.find_entry(key);
      if (!kernel || !is_operators(*kernel)) continue;
      is_there = true;
      if (!known_.insert(key).second) continue;
      const char* const kind = kernel->kind == cache::EntryKind::kBlob ? kPackedBlob : kPackedKernel;
      kernels_.push_back({kind, kernel->material, kernel->files.front(), {}, {}});
      entries_.push_back(*std::move(kernel));
    }
    if (is_there) continue;
    return absl::FailedPreconditionError(
        str_cat(name, ": another user had its kernel ", short_name(plan.files[i].digest),
                " built, and a pack is signed: clear the cache and prewarm as root or as the daemon's user"));
  }
  return absl::OkStatus();
}

absl::Status Collection::add_reads(const cache::StoredEntry& plan, const std::string& name) {
  const cache::KeyMaterial base = without_tuning(plan.material);
  const bool is_tuned = base.parts().size() != plan.material.parts().size();
  const Digest key = cache::key(cache::plan_reads_key_material(base));
  std::optional<cache::StoredEntry> reads = cache_.find_entry(key);
  v1::PlanReads parsed;
  const bool is_usable = reads && is_operators(*reads) && [&] {
    const absl::StatusOr<cache::ArtifactReader> file = cache_.open_artifact(reads->files.front().digest);
    const absl::StatusOr<std::string> bytes =
        file.ok() ? file->read(0, reads->files.front().size_bytes) : absl::StatusOr<std::string>(file.status());
    return bytes.ok() && parsed.ParseFromString(*bytes);
  }();
  if (!is_usable) {
    if (!is_tuned) return absl::OkStatus();
    return absl::FailedPreconditionError(
        str_cat(name, " was tuned, and which records it was made with is not known; prewarm again"));
  }
  for (const v1::PlanReads::Variant& variant : parsed.variants())
    tuned_.insert(variant.kernels().begin(), variant.kernels().end());
  if (!known_.insert(key).second) return absl::OkStatus();
  reads_.push_back({kPackedReads, reads->material, reads->files.front(), {}, {}});
  entries_.push_back(*std::move(reads));
  return absl::OkStatus();
}

void Collection::add_tuning(const std::string& build_id) {
  if (tuned_.empty()) return;
  for (cache::TuningEntry& entry : cache_.tuning_records(TuningTable::kMaxLoaded)) {
    v1::TuningRecord record;
    if (!TuningTable::is_of_build(cache::tuning_scope(entry.material), build_id) ||
        !record.ParseFromString(entry.record) || !tuned_.contains(record.kernel()))
      continue;
    tuning_.push_back({kPackedTuning, std::move(entry.material), {sha256(entry.record), entry.record.size()}, {}, {}});
  }
}

std::vector<Collection::Part> Collection::parts() && {
  std::vector<Part> all;
  for (std::vector<Part>* const some : {&tuning_, &kernels_, &plans_, &reads_})
    std::ranges::move(*some, std::back_inserter(all));
  return all;
}

class Signer {
 public:
  Signer(const PackExporter::Services& services, const Digest& flavour, const Ed25519Secret& secret)
      : services_(services), flavour_(flavour), secret_(secret) {}

  absl::Status add(const Collection::Part& part, v1::ExportPackResponse& pack) const {
    ResultStatement statement;
    const std::string material = part.material.encode();
    statement.domain = part.material.domain();
    statement.key = sha256(material);
    statement.kind = part.kind;
    statement.salt = services_.settings->salt;
    statement.flavour = flavour_;
    statement.build_id = services_.build_id;
    statement.files = {{kPackedMaterial, statement.key, material.size()},
                       {kPackedContent, part.content.digest, part.content.size_bytes}};
    for (const cache::ArtifactRef& kernel : part.kernels) {
      statement.files.push_back(
          {str_cat(kPackedKernelFolder, to_hex(kernel.digest)), kernel.digest, kernel.size_bytes});
    }
    statement.signed_at = services_.now_unix_s;
    std::string file = signed_statement(statement, secret_);
    if (statement.files.size() > kMaxStatedFiles || file.size() > kMaxStatementBytes) {
      return absl::InvalidArgumentError(str_cat("plan ", short_name(statement.key), " has ", part.kernels.size(),
                                                " kernels, more than a pack's entry takes"));
    }
    v1::PackEntry& entry = *pack.add_entries();
    entry.set_statement(std::move(file));
    entry.set_material(material);
    entry.set_model(part.model);
    entry.set_kind(std::string(part.kind).substr(std::string_view(kPackedPrefix).size()));
    entry.add_files(to_bytes(part.content.digest));
    return absl::OkStatus();
  }

 private:
  const PackExporter::Services& services_;
  const Digest& flavour_;
  const Ed25519Secret& secret_;
};

}  // namespace

absl::StatusOr<v1::ExportPackResponse> PackExporter::entries_of(const std::string& contents,
                                                                const Digest& flavour) const {
  if (services_.settings->writer_key_file.empty()) {
    return absl::FailedPreconditionError(
        "a pack is signed, and this daemon has no key: set remote_writer_key to a file of hearth remote keygen");
  }
  HEARTH_ASSIGN_OR_RETURN(const Ed25519Secret secret, read_writer_key(services_.settings->writer_key_file));
  v1::PackContents wanted;
  if (!wanted.ParseFromString(contents) || wanted.plans().empty())
    return absl::InvalidArgumentError("the contents of the pack name no plan");
  Collection collection(*services_.cache);
  for (const std::string& plan : wanted.plans()) {
    Digest key{};
    if (plan.size() != key.size()) return absl::InvalidArgumentError("a plan's key has 32 bytes");
    std::ranges::copy(plan, key.begin());
    HEARTH_RETURN_IF_ERROR(collection.add_plan(key));
  }
  collection.add_tuning(services_.build_id);
  const Signer signer(services_, flavour, secret);
  v1::ExportPackResponse pack;
  std::set<Digest> listed;
  const std::vector<Collection::Part> parts = std::move(collection).parts();
  for (const Collection::Part& part : parts) {
    HEARTH_RETURN_IF_ERROR(signer.add(part, pack));
    if (!listed.insert(part.content.digest).second) continue;
    v1::PackFile& file = *pack.add_files();
    file.set_sha256(to_bytes(part.content.digest));
    file.set_size(part.content.size_bytes);
  }
  const Digest digest = sha256(contents);
  cache::KeyMaterial material(kPackDomain);
  material.add("contents", to_bytes(digest), to_hex(digest));
  HEARTH_RETURN_IF_ERROR(signer.add({kPackedContents, material, {digest, contents.size()}, {}, {}}, pack));
  return pack;
}

}  // namespace hearth::daemon
