#include "daemon/blobs/blob_libraries.h"

#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "proto/versions.h"
#include "runtime/blob_library.h"

namespace hearth::daemon {

std::string BlobLibraries::digest_of(const std::string& folder) {
  Known now;
  now.paths = runtime::blob_library_paths(folder);
  for (const std::string& path : now.paths) now.stamps.push_back(files::stamp_of(path));
  std::lock_guard lock(mutex_);
  Known& known = known_[folder];
  if (!known.paths.empty() && known.paths == now.paths && known.stamps == now.stamps) return known.digest;
  const absl::StatusOr<runtime::BlobLibraryFiles> files = runtime::read_blob_library(folder);
  if (files.ok())
    now.digest = files->digest();
  else
    spdlog::warn("blob library left out: {}", std::string(files.status().message()));
  known = std::move(now);
  return known.digest;
}

BlobLibraryRefs BlobLibraries::for_graph(const v1::Graph& graph) {
  if (folders_.empty()) return {};
  const auto has_attention = [](const v1::Graph& of) {
    return std::any_of(of.nodes().begin(), of.nodes().end(), [](const v1::Node& n) { return n.op() == v1::ATTENTION; });
  };
  const bool is_wanted =
      has_attention(graph) || std::any_of(graph.loops().begin(), graph.loops().end(),
                                          [&](const v1::Loop& loop) { return has_attention(loop.body()); });
  BlobLibraryRefs refs;
  for (std::size_t i = 0; is_wanted && i < folders_.size(); ++i) {
    const std::string digest = digest_of(folders_[i]);
    if (digest.empty()) continue;
    v1::BlobLibraryRef& ref = refs.emplace_back();
    ref.set_folder(folders_[i]);
    ref.set_digest(digest);
  }
  return refs;
}

absl::StatusOr<v1::CompileBlobRequest> BlobLibraries::request_for(const v1::PlanBlob& blob) {
  for (const std::string& folder : folders_) {
    if (digest_of(folder) != blob.library()) continue;
    v1::CompileBlobRequest request;
    request.set_protocol_version(kProtocolVersion);
    *request.mutable_blob() = blob.spec();
    request.mutable_blob()->set_root(folder);
    return request;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the library of blob '", blob.spec().stem(), "' has changed or gone meanwhile; prepare again"));
}

std::string key_of(const BlobLibraryRefs& refs) {
  std::string key;
  for (const v1::BlobLibraryRef& ref : refs) absl::StrAppend(&key, key.empty() ? "" : " ", ref.digest());
  return key;
}

}  // namespace hearth::daemon
