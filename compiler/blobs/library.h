// BlobLibrary: an installed folder of blob sources (`ck_jit/`): its manifest and the adapters that let traced ops use
// it.
//
// load_library reads FOLDER/ck_jit_manifest.json and FOLDER/adapters/*.toml. Immutable; thread-safe.
// Errors: those of read_manifest and read_adapter; FailedPrecondition when the files are not those of `digest`.
//
//   absl::StatusOr<std::string> digest = library_digest(folder);
//   auto library = load_library(folder, *digest);
#pragma once
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/blobs/adapter.h"
#include "compiler/blobs/manifest.h"

namespace hearth::blobs {

inline constexpr char kManifestFile[] = "ck_jit_manifest.json";
inline constexpr char kAdapterFolder[] = "adapters";

struct BlobLibrary {
  std::string digest;  // of manifest and adapters, SHA-256 in hex
  Manifest manifest;
  std::vector<Adapter> adapters;  // in the order of their file names

  // Blobs that an adapter can read, in the manifest's order.
  struct Entry {
    const Blob* blob = nullptr;
    const Adapter* adapter = nullptr;
    ReadStem stem;
  };
  std::vector<Entry> entries;
};

// Reads the files but does not parse them.
absl::StatusOr<std::string> library_digest(const std::string& folder);

// The library as it was when `digest` was taken; kept for the life of the process.
absl::StatusOr<std::shared_ptr<const BlobLibrary>> load_library(const std::string& folder, const std::string& digest);

}  // namespace hearth::blobs
