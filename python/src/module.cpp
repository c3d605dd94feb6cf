// The extension module hearth._hearth.
#include <nanobind/nanobind.h>

#include "array.h"
#include "fast_call.h"
#include "function.h"
#include "graph.h"
#include "guards.h"
#include "hearth/hearth.h"
#include "interpreter.h"
#include "load.h"
#include "op_call.h"
#include "stream.h"
#include "tensor.h"
#include "watch.h"

NB_MODULE(_hearth, module) {
  nanobind::set_leak_warnings(false);  // a function may live as long as the interpreter
  module.attr("__version__") = hearth_version();
  hearth::python::add_array(module);
  hearth::python::add_watch(module);
  hearth::python::add_function(module);
  hearth::python::add_stream(module);
  hearth::python::add_load(module);
  hearth::python::add_inspect(module);
  hearth::python::add_dim(module);
  hearth::python::add_tensor(module);
  hearth::python::add_ops(module);
  hearth::python::add_graph(module);
  hearth::python::add_guards(module);
  hearth::python::add_fast_call(module);
  hearth::python::prepare_for_exit();
}
