// How importer code says no: a JitError that import_model catches, completes with file, node, operator and opset,
// and returns as a status. Never leaves this folder as an exception.
//
//   if (axes.empty()) reject("axes must not be empty");
//   if (mode == "wrap") reject_unsupported("mode 'wrap'");
#pragma once
#include <string_view>

namespace hearth::onnx {

[[noreturn]] void reject(std::string_view message);              // InvalidArgument: the model is wrong
[[noreturn]] void reject_unsupported(std::string_view message);  // Unimplemented: valid, but not done here

}  // namespace hearth::onnx
