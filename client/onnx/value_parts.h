// Putting Values together and taking them apart, on the host where they are known. Errors: JitError.
//
//   Value both = stacked(node, {a, b}, 0);
//   Value b_again = element_at(node, both, 0, 1);
#pragma once
#include "client/onnx/node_context.h"

namespace hearth::onnx {

// A known vector.
Value integers(const Ints& values);
// The length of an axis, which may be negative; JitError (Unimplemented) where it is symbolic.
std::int64_t constant_length(const Value& x, std::int64_t axis);
// Values of one shape, along a new axis.
Value stacked(const NodeContext& node, const Values& parts, std::int64_t axis);
// x[index] along `axis`, which goes away.
Value element_at(const NodeContext& node, const Value& x, std::int64_t axis, std::int64_t index);

}  // namespace hearth::onnx
