#include "fast_call.h"

#include <algorithm>

#include "array_libraries.h"
#include "errors.h"
#include "numpy_array.h"
#include "op_call.h"
#include "tensor.h"

namespace hearth::python {
namespace {

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

}  // namespace

FastCall::FastCall(nb::object function, const nb::list& kinds, nb::object guards)
    : function_(std::move(function)), guards_(std::move(guards)), looked_at_(&nb::cast<const Guards&>(guards_)) {
  for (nb::handle kind : kinds)
    kinds_.push_back({nb::object(kind[0]), dtype_of(kind[0], "dtype"), integers_of(kind[1], "shape")});
}

bool FastCall::fits(PyObject* array, const Kind& kind) {
  if (const NumpyArray* head = numpy_array(array)) {
    return head->dtype == kind.numpy_dtype.ptr() && static_cast<std::size_t>(head->rank) == kind.shape.size() &&
           std::equal(kind.shape.begin(), kind.shape.end(), head->shape);
  }
  if (!is_numpy_array(array)) return false;
  Argument argument;  // of this call: reading one may run Python, and so another thread's call
  argument.read(array, "an argument", kind.dtype);
  const std::span<const std::int64_t> shape = argument.shape();
  return argument.dtype() == kind.dtype && std::equal(shape.begin(), shape.end(), kind.shape.begin(), kind.shape.end());
}

nb::object FastCall::call(const nb::tuple& arrays, nb::handle owner) {
  if (current_trace() != 0 || arrays.size() != kinds_.size() || !guards_.is_valid()) return not_implemented();
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (!fits(PyTuple_GetItem(arrays.ptr(), static_cast<Py_ssize_t>(i)), kinds_[i])) return not_implemented();
  }
  if (looked_at_->find_change(owner, no_arguments_) != -1) return not_implemented();
  Function& function = nb::cast<Function&>(function_);
  return function.call(nb::borrow<nb::args>(arrays), nb::kwargs());
}

int FastCall::visit(visitproc visit, void* arg) const {
  Py_VISIT(function_.ptr());
  Py_VISIT(guards_.ptr());
  return 0;
}

void FastCall::clear() {
  function_.reset();
  guards_.reset();
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<FastCall>(self)->visit(visit, arg) : 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<FastCall>(self)->clear();
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&clear)}, {0, nullptr}};

}  // namespace

void add_fast_call(nb::module_& module) {
  nb::class_<FastCall>(module, "FastCall", nb::type_slots(slots))
      .def(nb::init<nb::object, const nb::list&, nb::object>())
      .def("__call__", &FastCall::call, nb::arg("arrays"), nb::arg("owner").none());
}

}  // namespace hearth::python
