// What a traced graph means, read straight from the proto: every node's value over concrete inputs and variables. The
// oracle of whole plans: it shares nothing with compiler/passes/import/import, so that an error in how the compiler
// reads a graph shows as a difference. What one op does to elements is codegen/reference's tensor_ops.
//
// The graph must be one that import accepts: structure is checked only as far as values need it.
// Errors: INVALID_ARGUMENT with the node for an unbound name, a shape that does not fit, an unknown op. Thread-safe.
//
//   absl::StatusOr<std::vector<HostTensor>> outputs = interpret_wire(graph, {{"x", x}}, /*vars=*/{3});
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/host_tensor.h"
#include "hearth/v1/graph.pb.h"

namespace hearth::codegen::reference {

// Inputs and parameters by name.
using WireBindings = std::map<std::string, HostTensor>;

// One tensor an output, in order; vars[i] is the value of graph.vars(i).
absl::StatusOr<std::vector<HostTensor>> interpret_wire(const v1::Graph& graph, const WireBindings& bindings,
                                                       std::span<const std::int64_t> vars);

}  // namespace hearth::codegen::reference
