// hearth.Graph: what was recorded, to be shown and prepared.
#include "graph.h"

#include <nanobind/stl/string.h>

#include "callbacks.h"
#include "errors.h"
#include "function.h"
#include "hearth/graph.h"
#include "hearth/prepare.h"
#include "load.h"
#include "tensor.h"

namespace hearth::python {
namespace {

client::TracedGraph make_graph(const nb::list& names, const nb::list& tensors) {
  client::NamedTensors outputs;
  for (std::size_t i = 0; i < nb::len(names); ++i)
    outputs.emplace_back(str_of(names[i]), node_of(tensors[i], "the traced function's result"));
  return value_of(client::traced_graph(outputs));
}

Function* prepare_graph(const client::TracedGraph& graph, const std::string& name, const nb::dict& options) {
  client::PrepareConfig config = prepare_config(options);
  config.model = name;
  Callbacks callbacks{nb::none()};
  std::optional<client::PreparedPlan> plan;
  absl::Status status;
  {
    WithoutGil open;
    const Waiting waiting;
    callbacks.add_to(&config, &open);
    absl::StatusOr<client::PreparedPlan> prepared = client::prepare(graph, config);
    status = prepared.status();
    if (prepared.ok()) plan = *std::move(prepared);
  }
  callbacks.rethrow();
  check(status);
  return new Function(*plan, Signature::of(*plan), {name, true, 0, {}, {}});
}

}  // namespace

void add_graph(nb::module_& module) {
  nb::class_<client::TracedGraph>(module, "Graph", "What was recorded: immutable, prepared as often as one likes.")
      .def(
          "summary",
          [](const client::TracedGraph& graph) {
            return nb::module_::import_("hearth._errors").attr("spelled")(graph.summary());
          },
          "Text: the leaves, then each op with operands, result and line.")
      .def("prepare", &prepare_graph, nb::arg("name"), nb::arg("options"))
      .def("__repr__", [](const client::TracedGraph& graph) {
        const std::string text = graph.summary();
        return "<hearth." + printable_name(nb::str(text.substr(0, text.find('\n')).c_str())) + ">";
      });
  module.def("make_graph", &make_graph);
}

}  // namespace hearth::python
