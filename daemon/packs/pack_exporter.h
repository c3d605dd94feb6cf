// PackExporter: entries of this node's cache as other nodes take them, each signed: plans with the kernels, the tuning
// records and the notes of what they read. Only what root or the daemon's own user had built is signed, since who sends
// a graph may take over the worker that compiles it. Thread-safe; borrows what it uses. Errors: FAILED_PRECONDITION
// without a writer key, for a plan of another user's and for one whose kernels are gone; NOT_FOUND for a plan that is
// not in the cache; INVALID_ARGUMENT for contents that name no plan.
//
//   PackExporter exporter({cache, settings, build_id});
//   absl::StatusOr<v1::ExportPackResponse> pack = exporter.entries_of(contents, flavour);
#pragma once
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "daemon/remote/remote_settings.h"
#include "hearth/v1/admin_service.pb.h"
#include "kernels_cache/kernels_cache.h"

namespace hearth::daemon {

class PackExporter {
 public:
  struct Services {
    cache::KernelsCache* cache = nullptr;
    const RemoteSettings* settings = nullptr;  // the writer key and the salt
    std::string build_id;
    std::int64_t now_unix_s = 0;
  };

  explicit PackExporter(Services services) : services_(std::move(services)) {}

  // `contents`: serialized v1::PackContents, the last entry's only file.
  absl::StatusOr<v1::ExportPackResponse> entries_of(const std::string& contents, const Digest& flavour) const;

 private:
  const Services services_;
};

}  // namespace hearth::daemon
