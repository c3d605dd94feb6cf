#include "numpy_array.h"

#include <algorithm>

#include "array_libraries.h"

namespace hearth::python {
namespace {

enum class Layout { kUnknown, kAsExpected, kOther };

Layout find_layout(PyObject* array) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return Layout::kUnknown;  // of elements that buffers have not
  }
  const auto* head = reinterpret_cast<const NumpyArray*>(array);
  bool fits = head->data == buffer.buf && head->rank == buffer.ndim;
  fits = fits && std::equal(buffer.shape, buffer.shape + buffer.ndim, head->shape) &&
         std::equal(buffer.strides, buffer.strides + buffer.ndim, head->strides);
  const bool says_more = buffer.ndim > 0;  // one without axes shows little
  PyBuffer_Release(&buffer);
  if (!fits) return Layout::kOther;
  return says_more ? Layout::kAsExpected : Layout::kUnknown;
}

}  // namespace

const NumpyArray* numpy_array(PyObject* object) {
  static Layout layout = Layout::kUnknown;  // the GIL guards it
  if (layout == Layout::kOther || !is_numpy_array(object)) return nullptr;
  if (layout == Layout::kUnknown) layout = find_layout(object);
  return layout == Layout::kAsExpected ? reinterpret_cast<const NumpyArray*>(object) : nullptr;
}

}  // namespace hearth::python
