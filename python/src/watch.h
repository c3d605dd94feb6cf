// hearth.Watch: arrays at places of a list that a plan has as its parameters, and whether they are still what they were:
// the same objects, with the same memory and shape and, of torch's, the same version. With the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "argument.h"

namespace hearth::python {

class Watch {
 public:
  // {place: array}
  explicit Watch(const nb::dict& arrays);

  // True when the Python list `list` has the arrays that were given at their places, unchanged.
  bool holds(PyObject* list) const;
  // Ascending.
  const std::vector<Py_ssize_t>& places() const { return places_; }
  ArrayKind kind() const { return kind_; }

 private:
  struct Watched {
    nb::object array;
    ArrayKind kind = ArrayKind::kNone;
    const void* data = nullptr;  // null: not known
    std::vector<std::int64_t> shape;
    nb::object counted;  // a plain tensor whose count of writes is the array's; invalid where there is none
    nb::object version;  // the count, a Python int
  };
  std::vector<Py_ssize_t> places_;
  std::vector<Watched> watched_;
  ArrayKind kind_ = ArrayKind::kNone;
};

void add_watch(nb::module_& module);

}  // namespace hearth::python
