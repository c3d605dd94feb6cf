// BlobRecords: finds and keeps compiled blobs by what they were made of (kernels_cache/blob_key.h, two levels).
//
// A request has up to kMaxRecords records, newest first, so that a header that is changed to and fro finds both blobs.
// A record holds when every file of it has its digest and nothing new lies in the compiler's way
// (base/file_digest/include_shadowing.h). Thread-safe; owns nothing. Example:
//   std::optional<FoundBlob> found = records.find(spec, request_material);
//   FoundBlob kept = records.keep(spec, request_material, std::move(compiled), began);
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/file_digest/file_digest_cache.h"
#include "daemon/store/result_store.h"
#include "hearth/v1/blob.pb.h"
#include "kernels_cache/blob_key.h"

namespace hearth::daemon {

struct FoundBlob {
  Digest key{};
  KernelResult artifact;
  std::string record;  // of one that was put and is kept: serialized v1::BlobRecord
};

class BlobRecords {
 public:
  static constexpr int kMaxRecords = 4;

  BlobRecords(ResultStore* store, files::FileDigestCache* files) : store_(store), files_(files) {}

  std::optional<FoundBlob> find(const v1::BlobSpec& spec, const cache::KeyMaterial& request);
  // `keep`: else only for those who wait now, since a file changed meanwhile. `began`: when the compile did.
  FoundBlob put(const v1::BlobSpec& spec, const cache::KeyMaterial& request, const v1::CompiledBlob& blob, bool keep,
                std::chrono::system_clock::time_point began);
  // Keeps what another node has compiled of the same request; nothing where a file of the record is another one here.
  std::optional<FoundBlob> take(const v1::BlobSpec& spec, const cache::KeyMaterial& request,
                                const v1::BlobRecord& record, std::string_view artifact);

 private:
  // What was found last for a request, and what that was decided from: an answer that costs its stats alone.
  struct Fresh {
    files::FileSnapshot watched;
    cache::KeyMaterial material;
    Digest key{};
  };
  static constexpr std::size_t kMaxFresh = 256;

  FoundBlob put_kept(const cache::KeyMaterial& request, const v1::BlobRecord& record, std::string_view artifact);
  std::optional<FoundBlob> find_fresh(const Digest& request_and_root);
  bool holds(const v1::BlobSpec& spec, const v1::BlobRecord& record, files::FileSnapshot& watched);
  v1::BlobRecords read(const cache::KeyMaterial& request);

  ResultStore* const store_;
  files::FileDigestCache* const files_;
  std::mutex fresh_mutex_;
  std::map<Digest, std::shared_ptr<const Fresh>> fresh_;
  std::mutex write_mutex_;  // one reads, changes and writes a request's records at a time
};

}  // namespace hearth::daemon
