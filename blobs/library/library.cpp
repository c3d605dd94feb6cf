#include "blobs/library/library.h"

#include <sys/utsname.h>

#include <map>
#include <mutex>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/blob_library.h"

namespace hearth::blobs {
namespace {

absl::StatusOr<std::shared_ptr<const BlobLibrary>> parse(const std::string& folder,
                                                         const runtime::BlobLibraryFiles& files,
                                                         const std::string& digest) {
  auto library = std::make_shared<BlobLibrary>();
  library->digest = digest;
  HEARTH_ASSIGN_OR_RETURN(Manifest manifest, parse_manifest(files.manifest, folder + "/" + runtime::kBlobManifestFile));
  library->manifest = std::move(manifest);
  if (utsname host = {}; library->manifest.toolchain == kCxxToolchain && ::uname(&host) == 0)
    library->host_arch = host.machine;
  for (const auto& [name, text] : files.adapters) {
    HEARTH_ASSIGN_OR_RETURN(Adapter adapter,
                            parse_adapter(text, str_cat(folder, "/", runtime::kBlobAdapterFolder, "/", name)));
    if (adapter.toolchain() == library->manifest.toolchain) library->adapters.push_back(std::move(adapter));
  }
  for (const Blob& blob : library->manifest.blobs) {
    for (const Adapter& adapter : library->adapters) {
      if (auto stem = adapter.read(blob)) {
        library->entries.push_back({&blob, &adapter, *std::move(stem)});
        break;
      }
    }
  }
  return library;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BlobLibrary>> load_library(const std::string& folder, const std::string& digest) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const BlobLibrary>>& known =
      *new std::map<std::string, std::shared_ptr<const BlobLibrary>>;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(digest); found != known.end()) return found->second;
  HEARTH_ASSIGN_OR_RETURN(const runtime::BlobLibraryFiles files, runtime::read_blob_library(folder));
  if (files.digest() != digest)
    return absl::FailedPreconditionError(
        str_cat(folder, ": manifest or adapters changed while they were used; prepare again"));
  absl::StatusOr<std::shared_ptr<const BlobLibrary>> library = parse(folder, files, digest);
  if (library.ok()) known[digest] = *library;
  return library;
}

}  // namespace hearth::blobs
