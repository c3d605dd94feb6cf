// Interpreter of tensor-level graphs over concrete inputs: the meaning of a traced graph, and the oracle every
// compiled plan is compared with. Slow on purpose; shares no code with rewriting, rules, bounds or shape derivation.
//
// Float reductions and matmul accumulate in double, in row-major order, and round once at the end.
// Errors: an unbound buffer, a binding whose dtype or shape differs from the graph's, a variable outside its bounds,
// an op that is not tensor level. Thread-safe; the graph must not change meanwhile.
//
//   Bindings bindings = {{0, HostTensor::from_values(Scalar::F32, {2}, {1, 2})}};
//   absl::StatusOr<std::vector<HostTensor>> results = interpret(graph.outputs, bindings, /*vars=*/{});
#pragma once
#include <map>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/reference/host_tensor.h"
#include "compiler/ir/graph.h"

namespace hearth::codegen::reference {

// Tensors by BufferInfo.id: inputs, parameters and constants.
using Bindings = std::map<std::uint32_t, HostTensor>;

// One tensor an output, in order. `vars[slot]` is the value of the Var with that slot.
absl::StatusOr<std::vector<HostTensor>> interpret(std::span<const ir::UOpRef> outputs, const Bindings& bindings,
                                                  std::span<const std::int64_t> vars);

}  // namespace hearth::codegen::reference
