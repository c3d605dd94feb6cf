#include "daemon/packs/pack_importer.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/text.h"
#include "daemon/packs/packed_kind.h"
#include "daemon/store/key_namespace.h"
#include "daemon/store/sound_plan.h"
#include "hearth/v1/tuning.pb.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxListedPacks = 1000;    // packs
constexpr std::size_t kMaxPackNameBytes = 1024;  // of a pack's file

absl::Status invalid_entry(std::string_view why) {
  return absl::InvalidArgumentError(str_cat("the pack's entry ", why));
}

// The file of this name is what the statement says.
absl::Status check_file(const ResultStatement& statement, std::string_view name, std::string_view bytes) {
  const auto file = std::ranges::find(statement.files, name, &StatedFile::path);
  if (file == statement.files.end()) return invalid_entry(str_cat("states no ", name));
  if (file->size == bytes.size() && sha256(bytes) == file->digest) return absl::OkStatus();
  return absl::DataLossError(
      str_cat("the pack's entry ", to_hex(statement.key).substr(0, 16), ": its ", name, " is not what was signed"));
}

}  // namespace

absl::StatusOr<v1::ImportEntryResponse> PackImporter::import(const v1::ImportEntryRequest& request,
                                                             const Digest& flavour) const {
  const TrustedKeys& trusted = services_.settings->trusted;
  if (trusted.keys.empty()) {
    return absl::FailedPreconditionError(
        "this daemon trusts no key: set remote_trusted_keys to the public key of who made the pack");
  }
  HEARTH_ASSIGN_OR_RETURN(const ResultStatement statement, verified_statement(request.entry().statement(), trusted));
  HEARTH_RETURN_IF_ERROR(check_compiler(statement, flavour));
  if (request.files_size() != 1) return invalid_entry(str_cat("has ", request.files_size(), " files, not one"));
  const std::string& content = request.files(0);
  HEARTH_RETURN_IF_ERROR(check_file(statement, kPackedMaterial, request.entry().material()));
  HEARTH_RETURN_IF_ERROR(check_file(statement, kPackedContent, content));
  const absl::StatusOr<cache::KeyMaterial> material = cache::KeyMaterial::decode(request.entry().material());
  if (!material.ok() || cache::key(*material) != statement.key || material->domain() != statement.domain)
    return invalid_entry("is of another key than it states");
  if (std::ranges::any_of(material->parts(), [](const auto& part) { return part.name == KeyNamespace::kPart; }))
    return invalid_entry("is one user's alone");
  v1::ImportEntryResponse response;
  absl::StatusOr<bool> was_there = false;
  if (statement.kind == kPackedContents) {
    HEARTH_RETURN_IF_ERROR(keep_contents(request, response));
  } else if (statement.kind == kPackedPlan) {
    was_there = keep_plan(*material, statement, content, request.entry().model());
  } else if (statement.kind == kPackedKernel || statement.kind == kPackedBlob) {
    was_there = keep_artifact(*material, content, statement.kind == kPackedBlob);
  } else if (statement.kind == kPackedTuning) {
    was_there = keep_tuning(*material, content);
  } else if (statement.kind == kPackedReads) {
    was_there = keep_reads(*material, content);
  } else {
    return invalid_entry("is of no kind that this release knows");
  }
  HEARTH_RETURN_IF_ERROR(was_there.status());
  response.set_was_there(*was_there);
  response.set_kind(statement.kind.substr(std::string_view(kPackedPrefix).size()));
  return response;
}

absl::Status PackImporter::check_compiler(const ResultStatement& statement, const Digest& flavour) const {
  if (statement.salt != services_.settings->salt) {
    return absl::FailedPreconditionError("the pack is of another fleet: its remote_salt is not this daemon's");
  }
  if (statement.build_id != services_.build_id) {
    return absl::FailedPreconditionError(str_cat("the pack is of another compiler, build ",
                                                 statement.build_id.substr(0, 16), "; this daemon is build ",
                                                 services_.build_id.substr(0, 16)));
  }
  if (statement.flavour == flavour) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(
      "the pack was made by this build of the compiler with other libraries (", to_hex(statement.flavour).substr(0, 16),
      "; here ", to_hex(flavour).substr(0, 16), "): make it on the same distribution, or in the same image"));
}

absl::StatusOr<bool> PackImporter::keep_artifact(const cache::KeyMaterial& material, const std::string& content,
                                                 bool is_blob) const {
  cache::KernelsCache& cache = *services_.cache;
  const auto known = is_blob ? cache.find_blob(material) : cache.find_kernel(material);
  if (known && known->digest == sha256(content)) return true;
  const auto put = is_blob ? cache.put_blob(material, content) : cache.put_kernel(material, content);
  HEARTH_RETURN_IF_ERROR(put.status());
  return false;
}

absl::StatusOr<bool> PackImporter::keep_plan(const cache::KeyMaterial& material, const ResultStatement& statement,
                                             const std::string& content, const std::string& model) const {
  v1::Plan plan;
  std::vector<Digest> kernels;
  std::set<std::string> artifacts;
  for (const StatedFile& file : statement.files) {
    if (!file.path.starts_with(kPackedKernelFolder)) continue;
    kernels.push_back(file.digest);
    artifacts.insert(to_bytes(file.digest));
  }
  if (!plan.ParseFromString(content) || !is_sound(plan, artifacts)) return invalid_entry("is no plan of this release");
  if (const auto known = services_.cache->find_plan(material); known && *known->plan == content) return true;
  HEARTH_RETURN_IF_ERROR(services_.cache->put_plan(material, content, kernels, cache::kNoOwner, model).status());
  return false;
}

absl::StatusOr<bool> PackImporter::keep_tuning(const cache::KeyMaterial& material, const std::string& content) const {
  v1::TuningRecord record;
  if (!record.ParseFromString(content) || record.kernel().size() != sizeof(Digest) ||
      cache::tuning_scope(material).empty())
    return invalid_entry("is no tuning record of this release");
  const std::optional<cache::StoredEntry> known = services_.cache->find_entry(cache::key(material));
  if (known && known->files.front().digest == sha256(content)) return true;
  HEARTH_RETURN_IF_ERROR(services_.cache->put_tuning(material, content).status());
  services_.tuning->forget();
  return false;
}

absl::StatusOr<bool> PackImporter::keep_reads(const cache::KeyMaterial& material, const std::string& content) const {
  v1::PlanReads reads;
  if (material.domain() != cache::kPlanReadsDomain || !reads.ParseFromString(content))
    return invalid_entry("is no note of what plans read");
  const std::optional<std::string> known = services_.cache->find_records(material);
  if (known && *known == content) return true;
  services_.plan_reads->add(material, reads);
  return false;
}

absl::Status PackImporter::keep_contents(const v1::ImportEntryRequest& request,
                                         v1::ImportEntryResponse& response) const {
  v1::PackContents contents;
  if (!contents.ParseFromString(request.files(0))) return invalid_entry("is no contents of a pack");
  v1::ImportedPack pack;
  pack.set_name(request.pack_name().substr(0, kMaxPackNameBytes));
  pack.set_sha256(request.pack_sha256());
  for (const std::string& plan : contents.plans()) {
    Digest key{};
    if (plan.size() != key.size()) return invalid_entry("names a plan by a key of another length");
    std::ranges::copy(plan, key.begin());
    pack.add_plans(plan);
    const std::optional<cache::StoredEntry> entry = services_.cache->find_entry(key);
    if (!entry || entry->kind != cache::EntryKind::kPlan) response.add_missing(plan);
  }
  cache::KeyMaterial material(kPackDomain);
  material.add("sha256", pack.sha256(), to_hex(pack.sha256()));
  return services_.cache->put_records(material, pack.SerializeAsString());
}

std::vector<v1::ImportedPack> imported_packs(cache::KernelsCache& cache) {
  std::vector<v1::ImportedPack> packs;
  for (const std::string& bytes : cache.records_of(kPackDomain, kMaxListedPacks)) {
    v1::ImportedPack pack;
    if (pack.ParseFromString(bytes)) packs.push_back(std::move(pack));
  }
  return packs;
}

}  // namespace hearth::daemon
