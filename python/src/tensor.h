// hearth.Tensor: a lazy value of a graph, or, once evaluated, the value itself. With the GIL.
//
//   const client::Tensor x = node_of(object, "x");   // of a Tensor, an array or a number
//   return to_python(relu(x));
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "array.h"
#include "hearth/tensor.h"

namespace hearth::python {

// What Python holds. Other handles of the node do not see that it was evaluated.
struct LazyTensor {
  client::Tensor node;
  std::shared_ptr<const Array> value;  // once evaluated; the node is a parameter of it then
  std::uint64_t trace = 0;             // in which it was recorded; 0: in none
  std::uint64_t version = 0;           // another one for each value that the name was given
  bool is_weak = false;                // it stands for a Python number, which takes the other operands' type
};

// The trace that this thread records, 0 for none.
std::uint64_t current_trace();

// A parameter without a name, of a copy of the elements.
LazyTensor tensor_of(Array array);
nb::object to_python(client::Tensor node);
// hearth.parameter: of a copy, or of the memory of `data`, which it keeps alive.
LazyTensor named_parameter(nb::handle data, const nb::object& name, bool copy);
// The elements of an array where they lie; InvalidArgument where they are not dense. `view` shows them.
client::ParameterData parameter_in_place(nb::handle data, const char* what, Array* view);
// Copies an array, a number, or nested sequences of numbers.
Array array_of(nb::handle object, const char* what, std::optional<DType> dtype);
// The node to record with. A tensor of outside a trace is evaluated first; arrays are copied. `what` names it in
// errors.
client::Tensor node_of(nb::handle object, const char* what);
client::Operand operand_of(nb::handle object, const char* what);
// The value, computed now where it is not there; TraceError in a trace.
const Array& value_of_tensor(LazyTensor& tensor, const char* what);
void evaluate_all(const std::vector<LazyTensor*>& tensors, const char* what);

// "model.py:12" of the innermost Python frame outside of this package.
std::string python_location();
[[noreturn]] void raise_trace_error(const std::string& text);

DType dtype_of(nb::handle object, const char* what);
client::Dim dim_of(nb::handle object, const char* what);
client::Shape shape_of(nb::handle object, const char* what);
nb::object to_python(const client::Dim& dim);
nb::tuple to_python(const client::Shape& shape);

void add_dim(nb::module_& module);
void add_tensor(nb::module_& module);

}  // namespace hearth::python
