// hearth.Graph.
#pragma once
#include <nanobind/nanobind.h>

namespace hearth::python {

namespace nb = nanobind;

void add_graph(nb::module_& module);

}  // namespace hearth::python
