// A cubin of PTX by NVIDIA's ptxas, so that no process that loads the kernel compiles it.
//
// Blocking. Errors: those of run_child and of a compiler's end (compile_failure.h), beginning with the kernel's symbol;
// DataLoss when it succeeds without a cubin. Example:
//   absl::StatusOr<std::string> cubin = assemble_ptx({.symbol = "k", .ptx = text, .arch = "sm_90a", .program = ptxas}, o);
#pragma once
#include <absl/status/statusor.h>

#include <string>

#include "blobs/tools/blob_compiler.h"

namespace hearth::blobs {

struct PtxSource {
  std::string symbol;
  std::string ptx;
  std::string arch;     // "sm_90a"
  std::string program;  // absolute path of ptxas
};

// `options`: its folder is there, and empty when this returns.
absl::StatusOr<std::string> assemble_ptx(const PtxSource& source, const BlobCompileOptions& options);

}  // namespace hearth::blobs
