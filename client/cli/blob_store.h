// BlobStore: where compiled blobs are kept: the daemon's cache, or a flat folder without a daemon (direct mode).
// Thread-safe. Errors: those of the daemon's CompileBlob, or of blobs/tools/direct_cache.h. Example:
//   absl::StatusOr<std::unique_ptr<BlobStore>> store = open_blob_store({.direct = true, .cache_dir = folder});
//   absl::StatusOr<BuiltNow> built = (*store)->build(spec);
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "blobs/library/blob_spec.h"

namespace hearth::cli {

struct BlobStoreFlags {
  bool daemon = false;
  bool direct = false;
  std::string cache_dir;  // of direct mode, and asks for it
  std::string socket;
  std::uint64_t timeout_s = 3600;  // of one blob
};

struct BuiltNow {
  bool compiled = false;  // else it was there
  double seconds = 0;
};

struct RemovedBlobs {
  std::uint64_t blobs = 0;  // by their stems
  std::uint64_t kept = 0;   // in use
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  virtual std::string place() const = 0;  // for people
  virtual unsigned default_jobs() const = 0;
  virtual absl::StatusOr<bool> is_cached(const blobs::BlobSpec& spec) = 0;
  virtual absl::StatusOr<BuiltNow> build(const blobs::BlobSpec& spec) = 0;
  virtual absl::StatusOr<RemovedBlobs> remove(const std::vector<std::string>& stems) = 0;
  virtual absl::StatusOr<RemovedBlobs> remove_all() = 0;
};

// Direct when asked for by flag, by a folder (--cache-dir, CK_JIT_CACHE_DIR) or by HEARTH_BLOB_MODE=direct.
absl::StatusOr<std::unique_ptr<BlobStore>> open_blob_store(const BlobStoreFlags& flags);

}  // namespace hearth::cli
