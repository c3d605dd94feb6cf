// The coverage table of docs/onnx.md from the results of ONNX's test cases. Errors: status naming the file.
//
//   absl::Status wrote = write_coverage("docs/onnx.md", results);
#pragma once
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/onnx/conformance.h"

namespace hearth::cli {

// Replaces what stands between the file's "generated" marks, or makes the file.
absl::Status write_coverage(const std::string& path, const std::vector<onnx::CaseResult>& results);

}  // namespace hearth::cli
