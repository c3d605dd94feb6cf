#include "captured_array.h"

#include <cstring>

#include "argument.h"
#include "numpy_array.h"

namespace hearth::python {
namespace {

// An array's memory: by its buffer, else as an argument of a call is read.
class View {
 public:
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  explicit View(PyObject* array) {
    if (PyObject_CheckBuffer(array) != 0 && PyObject_GetBuffer(array, &buffer_, PyBUF_FULL_RO) == 0) {
      has_buffer_ = true;
      data = buffer_.buf;
      bytes = static_cast<std::size_t>(buffer_.len);
      is_read_only = buffer_.readonly != 0;
      for (int i = 0; i < buffer_.ndim; ++i) {
        layout.push_back(buffer_.shape[i]);
        layout.push_back(buffer_.strides[i]);
      }
      return;
    }
    PyErr_Clear();
    try {
      argument_.read(array, "an array", DType::kF32);
    } catch (nb::python_error&) {
      return;
    }
    data = argument_.data();
    bytes = argument_.size_bytes();
    for (const std::int64_t length : argument_.shape()) layout.push_back(length);
  }
  ~View() {
    if (has_buffer_) PyBuffer_Release(&buffer_);
  }
  // False where they cannot be had.
  bool read(std::vector<char>* elements) {
    elements->resize(bytes);
    if (bytes == 0) return true;
    if (has_buffer_) {
      if (PyBuffer_ToContiguous(elements->data(), &buffer_, buffer_.len, 'C') == 0) return true;
      PyErr_Clear();
      return false;
    }
    if (argument_.on_device() || !argument_.is_dense()) return false;
    std::memcpy(elements->data(), data, bytes);
    return true;
  }
  bool is_dense() const { return has_buffer_ ? PyBuffer_IsContiguous(&buffer_, 'C') != 0 : argument_.is_dense(); }

  const void* data = nullptr;
  std::size_t bytes = 0;
  bool is_read_only = false;
  std::vector<Py_ssize_t> layout;

 private:
  bool has_buffer_ = false;
  Py_buffer buffer_ = {};
  Argument argument_;
};

// numpy's dtype, or a buffer's format.
nb::object dtype_of_array(PyObject* array) {
  for (const char* name : {"dtype", "format"}) {
    PyObject* const found = PyObject_GetAttrString(array, name);
    if (found != nullptr) return nb::steal(found);
    PyErr_Clear();
  }
  return nb::none();
}

// True when nobody can write the elements: the array is read-only, and so is each array it is a view of.
bool is_constant(nb::handle array) {
  nb::object at = nb::borrow(array);
  for (int depth = 0; depth < 32 && nb::hasattr(at, "flags"); ++depth) {
    const nb::object flags = at.attr("flags");
    if (!nb::hasattr(flags, "writeable") || nb::cast<bool>(nb::bool_(flags.attr("writeable")))) return false;
    const nb::object base = at.attr("base");
    if (base.is_none() || PyBytes_CheckExact(base.ptr())) return true;
    at = base;
  }
  return false;
}

}  // namespace

CapturedArray::CapturedArray(nb::handle array, std::size_t max_bytes)
    : type_(nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())))), dtype_(dtype_of_array(array.ptr())) {
  View view(array.ptr());
  data_ = view.data;
  layout_ = view.layout;
  is_dense_ = view.is_dense();
  is_constant_ = is_constant(array);
  if (!is_constant_ && view.data != nullptr && view.bytes <= max_bytes) has_elements_ = view.read(&elements_);
  if (has_elements_) return;
  array_ = nb::steal(PyWeakref_NewRef(array.ptr(), nullptr));
  if (array_.is_valid()) return;
  PyErr_Clear();
  array_ = nb::borrow(array);
}

bool CapturedArray::holds(PyObject* object) const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != type_.ptr()) return false;
  if (!has_elements_) {
    if ((PyWeakref_Check(array_.ptr()) != 0 ? PyWeakref_GetObject(array_.ptr()) : array_.ptr()) != object) return false;
  }
  if (const NumpyArray* array = numpy_array(object)) {
    if (array->dtype != dtype_.ptr() || static_cast<std::size_t>(array->rank) * 2 != layout_.size()) return false;
    for (int i = 0; i < array->rank; ++i) {
      const Py_ssize_t* const then = &layout_[static_cast<std::size_t>(i) * 2];
      if (array->shape[i] != then[0] || array->strides[i] != then[1]) return false;
    }
    if (!has_elements_) return array->data == data_;
    if (is_dense_) {
      return elements_.empty() || std::memcmp(array->data, elements_.data(), elements_.size()) == 0;
    }
  }
  View view(object);
  if (view.layout != layout_) return false;
  if (!has_elements_) return view.data == data_;
  if (view.bytes != elements_.size()) return false;
  const nb::object dtype = dtype_of_array(object);
  if (dtype.ptr() != dtype_.ptr() && !dtype.equal(dtype_)) return false;
  if (view.is_dense()) return view.bytes == 0 || std::memcmp(view.data, elements_.data(), view.bytes) == 0;
  std::vector<char> elements;
  return view.read(&elements) && elements == elements_;
}

int CapturedArray::visit(visitproc visit, void* arg) const {
  Py_VISIT(type_.ptr());
  Py_VISIT(dtype_.ptr());
  Py_VISIT(array_.ptr());
  return 0;
}

}  // namespace hearth::python
