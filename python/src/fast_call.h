// FastCall: whether a jitted function's plan is the one for the arrays at hand, decided without Python: numpy arrays of
// the types and shapes that it was traced with, and the same objects behind the names that it captured. Whatever is
// not plainly so is left to hearth/_jit.py. With the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "function.h"

namespace hearth::python {

class FastCall {
 public:
  // `kinds`: (dtype, shape) of every array; `order`: which of them the plan's inputs are; `captured`: (container, name,
  // value), the container being a dict or an object with attributes.
  FastCall(nb::object function, const nb::list& kinds, const nb::list& order, const nb::list& captured);
  FastCall(const FastCall&) = delete;
  FastCall& operator=(const FastCall&) = delete;

  // NotImplemented where the plan is another one.
  nb::object call(const nb::tuple& arrays);

 private:
  struct Kind {
    DType dtype;
    std::vector<std::int64_t> shape;
  };
  struct Captured {
    nb::object container, name, value;
    bool is_dict;
  };
  bool holds() const;

  nb::object function_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> order_;
  std::vector<Captured> captured_;
  bool is_in_order_;
};

void add_fast_call(nb::module_& module);

}  // namespace hearth::python
