// FastCall: whether a jitted function's plan is the one for the arrays at hand, decided without Python: numpy arrays of
// the types and shapes that it was traced with, and guards that hold. Whatever is not plainly so is left to
// hearth/_jit.py. With the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "function.h"
#include "guards.h"

namespace hearth::python {

class FastCall {
 public:
  // `kinds`: (numpy's dtype, shape) of every array.
  FastCall(nb::object function, const nb::list& kinds, nb::object guards);
  FastCall(const FastCall&) = delete;
  FastCall& operator=(const FastCall&) = delete;

  // NotImplemented where the plan is another one. `owner`: whose method it is, or None.
  nb::object call(const nb::tuple& arrays, nb::handle owner);

  // For Python's collector of cycles.
  int visit(visitproc visit, void* arg) const;
  void clear();

 private:
  struct Kind {
    nb::object numpy_dtype;
    DType dtype;
    std::vector<std::int64_t> shape;
  };
  bool fits(PyObject* array, const Kind& kind);

  nb::object function_, guards_;
  const Guards* looked_at_;
  nb::tuple no_arguments_;
  std::vector<Kind> kinds_;
};

void add_fast_call(nb::module_& module);

}  // namespace hearth::python
