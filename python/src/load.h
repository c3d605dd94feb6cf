// hearth.load's C++ half.
#pragma once
#include <nanobind/nanobind.h>

#include "hearth/prepare.h"

namespace hearth::python {

namespace nb = nanobind;

// The environment's configuration with the options that hearth/_load.py checked.
client::PrepareConfig prepare_config(const nb::dict& options);
void add_load(nb::module_& module);
void add_inspect(nb::module_& module);

}  // namespace hearth::python
