// PackImporter: entries of other nodes' packs, taken into this node's cache where a key that it trusts has signed them
// and their compiler is this one. What is verified is what is kept: the key's material, the content and, of a plan, that
// its kernels are here. Thread-safe; borrows what it uses. Errors, one line that names the entry: FAILED_PRECONDITION
// without trusted keys, for another compiler's pack and for a plan before its kernels; PERMISSION_DENIED for what no
// trusted key signed; DATA_LOSS for content that is not what was signed; INVALID_ARGUMENT for no entry; the cache's for
// what it cannot keep.
//
//   PackImporter importer({cache, tuning, plan_reads, settings, build_id});
//   absl::StatusOr<v1::ImportEntryResponse> kept = importer.import(request, flavour);
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "daemon/remote/remote_settings.h"
#include "daemon/store/plan_reads.h"
#include "daemon/store/tuning_table.h"
#include "hearth/v1/admin_service.pb.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

class PackImporter {
 public:
  struct Services {
    cache::KernelsCache* cache = nullptr;
    TuningTable* tuning = nullptr;
    PlanReads* plan_reads = nullptr;
    const RemoteSettings* settings = nullptr;  // the trusted keys and the salt
    std::string build_id;
  };

  explicit PackImporter(Services services) : services_(std::move(services)) {}

  absl::StatusOr<v1::ImportEntryResponse> import(const v1::ImportEntryRequest& request, const Digest& flavour) const;

 private:
  absl::Status check_compiler(const ResultStatement& statement, const Digest& flavour) const;
  // Each gives true where the entry was here already.
  absl::StatusOr<bool> keep_artifact(const cache::KeyMaterial& material, const std::string& content,
                                     bool is_blob) const;
  absl::StatusOr<bool> keep_plan(const cache::KeyMaterial& material, const ResultStatement& statement,
                                 const std::string& content, const std::string& model) const;
  absl::StatusOr<bool> keep_tuning(const cache::KeyMaterial& material, const std::string& content) const;
  absl::StatusOr<bool> keep_reads(const cache::KeyMaterial& material, const std::string& content) const;
  absl::Status keep_contents(const v1::ImportEntryRequest& request, v1::ImportEntryResponse& response) const;

  const Services services_;
};

// Packs whose entries this node has taken, the newest first.
std::vector<v1::ImportedPack> imported_packs(cache::KernelsCache& cache);

}  // namespace hearth::daemon
