// hearth.load's C++ half.
#pragma once
#include <nanobind/nanobind.h>

namespace hearth::python {

namespace nb = nanobind;

void add_load(nb::module_& module);

}  // namespace hearth::python
