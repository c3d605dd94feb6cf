// Inputs of a model that become constants of its graph: those that the caller says are (ImportOptions::constants), and
// those whose value was given and on which a condition, a shape or a trip count depends (ImportOptions::known_values).
// Inside client/onnx only. Errors: JitError naming the input.
//
//   HostTensor rate = constant_input(graph.input(2), Array of 16000);   // in the declared dtype and shape
#pragma once
#include <set>
#include <string>

#include "client/onnx/host_tensor.h"
#include "hearth/array.h"

namespace hearth_onnx {
class ValueInfoProto;
}

namespace hearth::onnx {

// `given` as the elements of a declared tensor: integers and reals of another type when they keep their value, and one
// element under whatever shape of one element is declared.
HostTensor constant_input(const ::hearth_onnx::ValueInfoProto& input, const client::Array& given);

// Thrown when the import cannot go on without the values of these inputs, which are known: it begins anew with them.
struct SteeringInputs {
  std::set<std::string> names;
};

}  // namespace hearth::onnx
