#include "runtime/blob_library.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace hearth::runtime {

std::string BlobLibraryFiles::digest() const {
  std::string all = to_hex(sha256(manifest));
  for (const auto& [name, text] : adapters) all += " " + name + " " + to_hex(sha256(text));
  return to_hex(sha256(all));
}

std::vector<std::string> blob_library_paths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder + "/" + kBlobAdapterFolder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".toml") paths.push_back(it->path());
  }
  std::sort(paths.begin(), paths.end());
  paths.insert(paths.begin(), folder + "/" + kBlobManifestFile);
  return paths;
}

absl::StatusOr<BlobLibraryFiles> read_blob_library(const std::string& folder) {
  BlobLibraryFiles files;
  const std::vector<std::string> paths = blob_library_paths(folder);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    HEARTH_ASSIGN_OR_RETURN(std::string text, read_file(paths[i]));
    (i == 0 ? files.manifest : files.adapters[std::filesystem::path(paths[i]).filename()]) = std::move(text);
  }
  return files;
}

}  // namespace hearth::runtime
