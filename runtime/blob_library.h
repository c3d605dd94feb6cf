// The files that describe an installed library of blobs (`ck_jit/`): its manifest and its adapters, and their digest,
// which names the library wherever it is installed. Sources and headers are not in it: they enter each blob's own key.
// Pure functions; thread-safe. Errors: those of read_file.
//
//   absl::StatusOr<BlobLibraryFiles> files = read_blob_library("/opt/attention/ck_jit");
//   std::string name = files->digest();
#pragma once
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::runtime {

inline constexpr char kBlobManifestFile[] = "ck_jit_manifest.json";
inline constexpr char kBlobAdapterFolder[] = "adapters";  // of *.toml

struct BlobLibraryFiles {
  std::string manifest;
  std::map<std::string, std::string> adapters;  // file name -> text

  std::string digest() const;  // SHA-256 in hex
};

// Paths of the files that there are now: the manifest first, then the adapters, sorted.
std::vector<std::string> blob_library_paths(const std::string& folder);

absl::StatusOr<BlobLibraryFiles> read_blob_library(const std::string& folder);

}  // namespace hearth::runtime
