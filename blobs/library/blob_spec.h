// BlobSpec: everything that is needed to compile one blob, and what its key is made of. Plain values.
//
//   BlobSpec spec = blob_spec(manifest, *manifest.find(stem), root);
#pragma once
#include <string>
#include <vector>

#include "blobs/library/manifest.h"

namespace hearth::blobs {

struct BlobSpec {
  std::string stem;
  std::string toolchain;           // kHipToolchain or kCxxToolchain
  std::string root;                // absolute; what {root} in `flags` stands for
  std::string source;              // relative to the root
  std::vector<std::string> flags;  // as in Blob
  std::vector<std::string> archs;
  std::vector<std::string> exports;  // mangled prefixes
  // C++ that is compiled after the source, in the same translation unit: adapters (docs/blobs.md) export entry points
  // of kernel_abi.h with it. Empty for a blob of the library itself.
  std::string glue;
};

BlobSpec blob_spec(const Manifest& manifest, const Blob& blob, std::string root);

}  // namespace hearth::blobs
