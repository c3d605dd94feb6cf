// BlobLibraries: the installed libraries whose blobs traced ops may become (setting `blob_libraries`).
//
// What a library is now is looked up again whenever a graph that can use one arrives; that costs a few stats. One that
// cannot be read is left out, with one warning while it lasts. Thread-safe. Example:
//   std::vector<v1::BlobLibraryRef> refs = libraries.for_graph(graph);     // into the plan's key and the worker's
//   request absl::StatusOr<v1::CompileBlobRequest> request = libraries.request_for(plan.kernels(0).blob());
#pragma once
#include <absl/status/statusor.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file_stamp.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::daemon {

using BlobLibraryRefs = std::vector<v1::BlobLibraryRef>;

class BlobLibraries {
 public:
  // Folders with a manifest each, e.g. "/opt/attention/ck_jit".
  explicit BlobLibraries(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  // Empty when the graph holds nothing that a blob could compute.
  BlobLibraryRefs for_graph(const v1::Graph& graph);
  // FAILED_PRECONDITION when no folder holds that library any more.
  absl::StatusOr<v1::CompileBlobRequest> request_for(const v1::PlanBlob& blob);

 private:
  struct Known {
    std::vector<std::string> paths;  // of manifest and adapters
    std::vector<std::optional<files::FileStamp>> stamps;
    std::string digest;  // empty: it cannot be read
  };
  std::string digest_of(const std::string& folder);

  const std::vector<std::string> folders_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by folder
};

// Canonical text of what refs add to a plan's key; empty without any.
std::string key_of(const BlobLibraryRefs& refs);

}  // namespace hearth::daemon
