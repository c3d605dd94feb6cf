#include "fast_call.h"

#include <algorithm>

#include "array_libraries.h"
#include "errors.h"
#include "op_call.h"
#include "tensor.h"

namespace hearth::python {
namespace {

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

}  // namespace

FastCall::FastCall(nb::object function, const nb::list& kinds, const nb::list& order, const nb::list& captured)
    : function_(std::move(function)) {
  for (nb::handle kind : kinds) kinds_.push_back({dtype_of(kind[0], "dtype"), integers_of(kind[1], "shape")});
  for (nb::handle place : order) order_.push_back(nb::cast<std::size_t>(place));
  is_in_order_ = order_.size() == kinds_.size();
  for (std::size_t i = 0; i < order_.size(); ++i) is_in_order_ = is_in_order_ && order_[i] == i;
  for (nb::handle row : captured)
    captured_.push_back(
        {nb::object(row[0]), nb::object(row[1]), nb::object(row[2]), PyDict_CheckExact(nb::object(row[0]).ptr()) != 0});
}

bool FastCall::holds() const {
  for (const Captured& one : captured_) {
    if (one.is_dict) {
      if (PyDict_GetItemWithError(one.container.ptr(), one.name.ptr()) != one.value.ptr()) {
        PyErr_Clear();
        return false;
      }
      continue;
    }
    const nb::object now = nb::steal(PyObject_GetAttr(one.container.ptr(), one.name.ptr()));
    if (!now.is_valid()) PyErr_Clear();
    if (now.ptr() != one.value.ptr()) return false;
  }
  return true;
}

nb::object FastCall::call(const nb::tuple& arrays) {
  if (current_trace() != 0 || arrays.size() != kinds_.size()) return not_implemented();
  Argument argument;  // of this call: reading one may run Python, and so another thread's call
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const nb::handle array(PyTuple_GetItem(arrays.ptr(), static_cast<Py_ssize_t>(i)));
    if (!is_numpy_array(array)) return not_implemented();
    argument.read(array, "an argument", kinds_[i].dtype);
    const std::span<const std::int64_t> shape = argument.shape();
    const bool fits = argument.dtype() == kinds_[i].dtype &&
                      std::equal(shape.begin(), shape.end(), kinds_[i].shape.begin(), kinds_[i].shape.end());
    argument.release();
    if (!fits) return not_implemented();
  }
  if (!holds()) return not_implemented();
  Function& function = nb::cast<Function&>(function_);
  if (is_in_order_) return function.call(nb::borrow<nb::args>(arrays), nb::kwargs());
  nb::list read;
  for (const std::size_t place : order_) read.append(arrays[place]);
  return function.call(nb::borrow<nb::args>(nb::tuple(read)), nb::kwargs());
}

void add_fast_call(nb::module_& module) {
  nb::class_<FastCall>(module, "FastCall")
      .def(nb::init<nb::object, const nb::list&, const nb::list&, const nb::list&>())
      .def("__call__", &FastCall::call);
}

}  // namespace hearth::python
