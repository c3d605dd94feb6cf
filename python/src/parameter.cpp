// hearth.parameter: arrays as weights, copied or where they lie.
#include <nanobind/stl/string.h>

#include "argument.h"
#include "errors.h"
#include "hearth/graph.h"
#include "interpreter.h"
#include "tensor.h"

namespace hearth::python {
namespace {

// Keeps a Python object alive from threads that may not hold the GIL. What is left when the interpreter ends stays.
std::shared_ptr<const void> keep_alive(nb::object object) {
  PyObject* const kept = object.release().ptr();
  return {static_cast<const void*>(kept), [kept](const void*) {
            if (is_exiting() || Py_IsInitialized() == 0) return;
            const PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF(kept);
            PyGILState_Release(state);
          }};
}

}  // namespace

client::ParameterData parameter_in_place(nb::handle data, const char* what, Array* view) {
  LazyTensor* known = nullptr;
  if (nb::try_cast(data, known) && known != nullptr) {  // of the same memory, whose digest stays known
    *view = value_of_tensor(*known, what);
    view->is_read_only = true;
    return {view->memory.get(), view->size_bytes(), view->memory};
  }
  Argument argument;
  argument.accept_gradients(true);
  argument.read(data, what, DType::kF32);
  if (argument.kind() == ArrayKind::kNone)
    raise_call_error(std::string(what) + " is a number; expected an array, whose memory is read where it lies");
  argument.make_dense(what, false);
  const std::shared_ptr<const void> owner = keep_alive(nb::borrow(data));
  client::ParameterData made = client::fixed_bytes(argument.data(), argument.size_bytes(), owner);
  *view =
      borrow_array(argument.data(), argument.dtype(), {argument.shape().begin(), argument.shape().end()}, made.owner);
  return made;
}

LazyTensor named_parameter(nb::handle data, const nb::object& name, bool copy) {
  std::shared_ptr<const Array> value;
  client::ParameterData bytes;
  if (copy) {
    value = std::make_shared<const Array>(array_of(data, "data", std::nullopt));
    bytes = {value->memory.get(), value->size_bytes(), std::shared_ptr<const void>(value, value->memory.get())};
  } else {
    Array view;
    bytes = parameter_in_place(data, "data", &view);
    value = std::make_shared<const Array>(std::move(view));
  }
  const client::Shape shape(value->shape.begin(), value->shape.end());
  const client::ScopedLocation here(python_location(), true);
  try {
    if (name.is_none()) return {client::parameter(shape, value->dtype, bytes), value, 0};
    return {client::parameter(str_of(name), shape, value->dtype, bytes), value, 0};
  } catch (const client::JitError& error) {
    raise(error.status());
  }
}

}  // namespace hearth::python
