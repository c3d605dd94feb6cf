// Which nodes of a model need an operator, or an opset of one, that is not here: read from the file alone, subgraphs
// included, without shapes or weights. Thread-safe. Errors: status naming the file.
//
//   absl::StatusOr<ModelCheck> checked = check_model("model.onnx");
//   for (const MissingNode& node : checked->missing) …
#pragma once
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::onnx {

struct MissingNode {
  std::string name;  // or its first output
  std::string op;    // "domain::name" if not ONNX's own
  std::string reason;
};

struct ModelCheck {
  int opset = 0;  // of ONNX's own operators
  std::size_t num_nodes = 0;
  std::vector<MissingNode> missing;  // in the file's order
};

absl::StatusOr<ModelCheck> check_model(const std::string& path);

}  // namespace hearth::onnx
