// BlobLibrary: an installed folder of blob sources (`ck_jit/`): its manifest and the adapters that let traced ops use
// it.
//
// Immutable; thread-safe. Errors: those of parse_manifest and parse_adapter; FailedPrecondition when the files
// (runtime/blob_library.h) are not those of `digest`.
//
//   auto library = load_library(folder, runtime::read_blob_library(folder)->digest());
#pragma once
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "blobs/library/adapter.h"
#include "blobs/library/manifest.h"

namespace hearth::blobs {

struct BlobLibrary {
  std::string digest;  // of manifest and adapters, SHA-256 in hex
  Manifest manifest;
  std::string host_arch;          // that a host toolchain compiles for: this machine's; empty: blobs name theirs
  std::vector<Adapter> adapters;  // in the order of their file names

  // Blobs that an adapter can read, in the manifest's order.
  struct Entry {
    const Blob* blob = nullptr;
    const Adapter* adapter = nullptr;
    ReadStem stem;
  };
  std::vector<Entry> entries;
};

// The library as it was when `digest` was taken; kept for the life of the process.
absl::StatusOr<std::shared_ptr<const BlobLibrary>> load_library(const std::string& folder, const std::string& digest);

}  // namespace hearth::blobs
