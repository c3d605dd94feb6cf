// Values of element types that are only stored (storage_type.h): how they come out of a model, and the operators that move
// them as the codes that they are. Errors: JitError.
//
//   Value weight = value_of(initializer, model, scope);
//   const StorageType* moved = take_codes("", "Transpose", inputs);   // inputs are codes; so will the results be
#pragma once
#include <string_view>

#include "client/onnx/model_file.h"
#include "client/onnx/node_context.h"
#include "client/onnx/storage_type.h"

namespace hearth::onnx {

// Numbers, strings or codes. Small codes are known while importing; others stay in the model's file, packed.
Value value_of(const ::hearth_onnx::TensorProto& tensor, const ModelFilePtr& model, ImportScope& scope);

// Where ONNX's own operator `name` only moves its inputs and they are stored: puts their codes in their place and says
// of which type they are. Null for all others. Two types in one node are refused.
const StorageType* take_codes(std::string_view domain, std::string_view name, Values& inputs);

}  // namespace hearth::onnx
