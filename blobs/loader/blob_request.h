// BlobRequest: a blob to be compiled; CompiledFile: what came of it. Plain values.
#pragma once
#include <string>
#include <vector>

namespace hearth::blob {

struct BlobRequest {
  std::string stem;
  std::vector<std::string> exports;  // mangled prefixes
  std::string toolchain, source;
  std::vector<std::string> flags, archs;
};

struct CompiledFile {
  std::string path;  // absolute
  std::string sha256_hex;
};

}  // namespace hearth::blob
