#include "client/cli/blob_store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/direct_cache.h"
#include "client/cli/connect.h"
#include "client/cli/print.h"

namespace hearth::cli {
namespace {

// What one compile is counted as; hearthd's blob_worker_memory.
constexpr std::uint64_t kCompileBytes = 3ull << 30;

std::string set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class DaemonBlobs : public BlobStore {
 public:
  DaemonBlobs(Channel channel, const BlobStoreFlags& flags) : channel_(std::move(channel)), flags_(flags) {}

  std::string place() const override { return str_cat("the daemon on ", channel_->socket_path()); }
  // The daemon keeps its own budget; a few more wait there than run.
  unsigned default_jobs() const override { return std::max(1u, std::thread::hardware_concurrency()) + 1; }

  absl::StatusOr<bool> is_cached(const blobs::BlobSpec& spec) override {
    v1::CompileBlobRequest request = to_request(spec);
    request.set_only_if_cached(true);
    const absl::StatusOr<v1::BlobResult> result = channel_->compile_blob(std::move(request), deadline());
    if (absl::IsNotFound(result.status()) && result.status().message().find("not in the cache") != std::string::npos)
      return false;
    HEARTH_RETURN_IF_ERROR(result.status());
    return true;
  }

  absl::StatusOr<BuiltNow> build(const blobs::BlobSpec& spec) override {
    HEARTH_ASSIGN_OR_RETURN(const v1::BlobResult result, channel_->compile_blob(to_request(spec), deadline()));
    return BuiltNow{!result.hit(), result.compile_seconds()};
  }

  absl::StatusOr<RemovedBlobs> remove(const std::vector<std::string>& stems) override {
    v1::RemoveBlobsRequest request;
    for (const std::string& stem : stems) request.add_stems(stem);
    return remove(request);
  }
  absl::StatusOr<RemovedBlobs> remove_all() override {
    v1::RemoveBlobsRequest request;
    request.set_all(true);
    return remove(request);
  }

 private:
  static v1::CompileBlobRequest to_request(const blobs::BlobSpec& spec) {
    v1::CompileBlobRequest request;
    v1::BlobSpec& proto = *request.mutable_blob();
    proto.set_stem(spec.stem);
    proto.set_toolchain(spec.toolchain);
    proto.set_root(spec.root);
    proto.set_source(spec.source);
    for (const std::string& flag : spec.flags) proto.add_flags(flag);
    for (const std::string& arch : spec.archs) proto.add_archs(arch);
    for (const std::string& prefix : spec.exports) proto.add_exports(prefix);
    proto.set_glue(spec.glue);
    return request;
  }
  client::DaemonChannel::Deadline deadline() const {
    return std::chrono::steady_clock::now() + std::chrono::seconds(flags_.timeout_s);
  }
  absl::StatusOr<RemovedBlobs> remove(const v1::RemoveBlobsRequest& request) {
    HEARTH_ASSIGN_OR_RETURN(const v1::RemoveBlobsResponse reply, channel_->remove_blobs(request, kAdminTimeout));
    return RemovedBlobs{reply.removed(), reply.kept_leased()};
  }

  const Channel channel_;
  const BlobStoreFlags flags_;
};

class FolderBlobs : public BlobStore {
 public:
  FolderBlobs(const std::string& folder, const BlobStoreFlags& flags) {
    options_.cache_dir = folder;
    options_.limits.wall_limit = std::chrono::seconds(flags.timeout_s);
    options_.limits.memory_bytes = kCompileBytes;
  }

  std::string place() const override { return options_.cache_dir; }
  // As many compiles as half of the memory allows.
  unsigned default_jobs() const override {
    const std::uint64_t memory_bytes = static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES))) *
                                       static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PAGESIZE)));
    const std::uint64_t affordable = memory_bytes / 2 / kCompileBytes;
    return static_cast<unsigned>(
        std::max<std::uint64_t>(1, std::min<std::uint64_t>(std::thread::hardware_concurrency(), affordable)));
  }
  absl::StatusOr<bool> is_cached(const blobs::BlobSpec& spec) override { return blobs::is_cached(spec, options_); }
  absl::StatusOr<BuiltNow> build(const blobs::BlobSpec& spec) override {
    HEARTH_ASSIGN_OR_RETURN(const blobs::DirectHit hit, blobs::obtain(spec, options_));
    return BuiltNow{!hit.hit, hit.seconds};
  }
  absl::StatusOr<RemovedBlobs> remove(const std::vector<std::string>& stems) override {
    RemovedBlobs removed;
    for (const std::string& stem : stems) {
      HEARTH_ASSIGN_OR_RETURN(const bool there, blobs::remove_direct(options_.cache_dir, stem));
      removed.blobs += there ? 1 : 0;
    }
    return removed;
  }
  absl::StatusOr<RemovedBlobs> remove_all() override {
    HEARTH_ASSIGN_OR_RETURN(const std::vector<blobs::DirectEntry> entries, blobs::list_direct(options_.cache_dir));
    std::vector<std::string> stems;
    for (const blobs::DirectEntry& entry : entries) stems.push_back(entry.stem);
    return remove(stems);
  }

 private:
  blobs::DirectOptions options_;
};

absl::StatusOr<std::string> direct_folder(const BlobStoreFlags& flags) {
  std::string folder = flags.cache_dir.empty() ? set_in_environment("CK_JIT_CACHE_DIR") : flags.cache_dir;
  if (folder.empty()) {
    std::string name = set_in_environment("CK_JIT_NAME");
    if (name.empty()) name = "ck_jit";
    const std::string cache = set_in_environment("XDG_CACHE_HOME"), home = set_in_environment("HOME");
    if (cache.starts_with('/')) folder = str_cat(cache, "/", name);
    if (folder.empty() && home.starts_with('/')) folder = str_cat(home, "/.cache/", name);
  }
  if (folder.empty()) return absl::InvalidArgumentError("no HOME to put blobs in: give a folder with --cache-dir");
  std::error_code ignored;
  return std::filesystem::absolute(folder, ignored).lexically_normal().string();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlobStore>> open_blob_store(const BlobStoreFlags& flags) {
  if (flags.daemon && (flags.direct || !flags.cache_dir.empty())) {
    return usage_error("--daemon excludes --direct and --cache-dir: the daemon has its own cache");
  }
  const std::string mode = set_in_environment("HEARTH_BLOB_MODE");
  const bool direct = flags.direct || !flags.cache_dir.empty() || mode == "direct" ||
                      (mode != "daemon" && !set_in_environment("CK_JIT_CACHE_DIR").empty());
  if (direct && !flags.daemon) {
    HEARTH_ASSIGN_OR_RETURN(const std::string folder, direct_folder(flags));
    return std::make_unique<FolderBlobs>(folder, flags);
  }
  HEARTH_ASSIGN_OR_RETURN(Channel channel, any_daemon(flags.socket));
  return std::make_unique<DaemonBlobs>(std::move(channel), flags);
}

}  // namespace hearth::cli
