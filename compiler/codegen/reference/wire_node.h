// The value of one node of a traced graph; for wire_interpreter alone. Thread-safe. Errors: INVALID_ARGUMENT for what
// does not fit the op.
#pragma once
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/tensor_ops.h"
#include "compiler/codegen/reference/wire_interpreter.h"

namespace hearth::codegen::reference {

// `args`: the node's expressions at the variables' values. No LOOP.
absl::StatusOr<HostTensor> node_value(const v1::Node& node, std::vector<const HostTensor*> inputs, Dims args,
                                      const WireBindings& bindings);

}  // namespace hearth::codegen::reference
