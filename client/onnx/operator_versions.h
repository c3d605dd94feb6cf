// The versions of ONNX's own operators that came after opset 19, and what each changed. An operator that is in none of
// them has meant the same since, whatever opset a model imports. Source: the operator sets of ONNX 1.20.
// Thread-safe (constant). No errors.
//
//   if (const OperatorVersion* unknown = unknown_version("DFT", 21, /*known=*/19)) …   // version 20: axis is an input
#pragma once
#include <string_view>

namespace hearth::onnx {

struct OperatorVersion {
  std::string_view name;
  int version = 0;        // the opset that brought it
  std::string_view what;  // what it means that earlier versions did not; empty: more element types or a new default
};

// The version that is in force in `opset` when it, or one before it, means something that a handler which knows the
// operator up to version `known` does not; the first such version. Null when the handler knows all.
const OperatorVersion* unknown_version(std::string_view name, int opset, int known);

}  // namespace hearth::onnx
