#include "compiler/blobs/library.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "runtime/file.h"
#include "runtime/sha256.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

struct Files {
  std::string manifest;
  std::map<std::string, std::string> adapters;  // path -> text, sorted
};

absl::StatusOr<Files> read_files(const std::string& folder) {
  Files files;
  absl::StatusOr<std::string> manifest = runtime::read_file(folder + "/" + kManifestFile);
  if (!manifest.ok()) return manifest.status();
  files.manifest = *std::move(manifest);
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder + "/" + kAdapterFolder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != ".toml") continue;
    absl::StatusOr<std::string> text = runtime::read_file(it->path());
    if (!text.ok()) return text.status();
    files.adapters[it->path()] = *std::move(text);
  }
  return files;
}

std::string digest_of(const Files& files) {
  std::string all = to_hex(sha256(files.manifest));
  for (const auto& [path, text] : files.adapters)
    all += std::filesystem::path(path).filename().string() + " " + to_hex(sha256(text));
  return to_hex(sha256(all));
}

absl::StatusOr<std::shared_ptr<const BlobLibrary>> parse(const std::string& folder, const Files& files,
                                                         const std::string& digest) {
  auto library = std::make_shared<BlobLibrary>();
  library->digest = digest;
  absl::StatusOr<Manifest> manifest = parse_manifest(files.manifest, folder + "/" + kManifestFile);
  if (!manifest.ok()) return manifest.status();
  library->manifest = *std::move(manifest);
  for (const auto& [path, text] : files.adapters) {
    absl::StatusOr<Adapter> adapter = parse_adapter(text, path);
    if (!adapter.ok()) return adapter.status();
    if (adapter->toolchain() == library->manifest.toolchain) library->adapters.push_back(*std::move(adapter));
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

absl::StatusOr<std::string> library_digest(const std::string& folder) {
  const absl::StatusOr<Files> files = read_files(folder);
  if (!files.ok()) return files.status();
  return digest_of(*files);
}

absl::StatusOr<std::shared_ptr<const BlobLibrary>> load_library(const std::string& folder, const std::string& digest) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const BlobLibrary>>& known =
      *new std::map<std::string, std::shared_ptr<const BlobLibrary>>;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(digest); found != known.end()) return found->second;
  const absl::StatusOr<Files> files = read_files(folder);
  if (!files.ok()) return files.status();
  if (digest_of(*files) != digest)
    return absl::FailedPreconditionError(
        str_cat(folder, ": manifest or adapters changed while they were used; prepare again"));
  absl::StatusOr<std::shared_ptr<const BlobLibrary>> library = parse(folder, *files, digest);
  if (library.ok()) known[digest] = *library;
  return library;
}

}  // namespace hearth::blobs
