// CapturedArray: an array that a traced function read, as it was. One of few elements is compared by these, type and
// shape, and nothing of it is kept alive. A larger one is compared by what it is (a weak reference), where it lies and
// how; numpy does not resize such an array in place. With the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <vector>

namespace hearth::python {

namespace nb = nanobind;

class CapturedArray {
 public:
  // Keeps the elements, too, where they take `max_bytes` at most.
  CapturedArray(nb::handle array, std::size_t max_bytes);

  // For Python's collector of cycles.
  int visit(visitproc visit, void* arg) const;
  bool holds(PyObject* array) const;
  // False where a change in place would go unnoticed: no elements were kept, and the memory is writable.
  bool is_seen() const { return has_elements_ || is_constant_; }

 private:
  nb::object type_, dtype_;  // the array's; the dtype is none where it has none
  nb::object array_;         // where no elements are kept: a weak reference, or what has none
  const void* data_ = nullptr;
  std::vector<Py_ssize_t> layout_;  // length and stride of each axis
  std::vector<char> elements_;      // in C order
  bool has_elements_ = false, is_dense_ = false, is_constant_ = false;
};

}  // namespace hearth::python
