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

// `inputs`: (name, dtype, lengths) of those that calls give, in order; empty: those of the graph.
Function* prepare_graph(const client::TracedGraph& graph, const std::string& name, const nb::dict& options,
                        const nb::list& inputs, const nb::object& progress) {
  client::PrepareConfig config = prepare_config(options);
  config.model = name;
  Callbacks callbacks(progress);
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
  client::CallSignature call;
  for (nb::handle input : inputs) {
    std::vector<std::string> lengths;
    for (nb::handle length : nb::borrow(input[2])) lengths.push_back(str_of(nb::str(length)));
    call.inputs.push_back({nb::cast<std::string>(input[0]), dtype_of(input[1], "dtype"), {}, 0, lengths});
  }
  Signature signature = nb::len(inputs) == 0 ? Signature::of(*plan) : Signature::of(*plan, call);
  return new Function(*plan, std::move(signature), {name, true, 0, {}, {}});
}

}  // namespace

void add_graph(nb::module_& module) {
  nb::class_<client::TracedGraph>(module, "Graph", nb::dynamic_attr(),
                                  "What was recorded: called with arrays, and prepared as often as one likes. "
                                  "Thread-safe.")
      .def(
          "summary",
          [](const client::TracedGraph& graph, bool verbose) {
            return nb::module_::import_("hearth._errors").attr("spelled")(graph.summary(verbose));
          },
          nb::arg("verbose") = false,
          "Text: the leaves, then each op that was called with operands, results and line; verbose: the primitive ops "
          "that those are made of.")
      .def("_prepare", &prepare_graph, nb::arg("name"), nb::arg("options"), nb::arg("inputs") = nb::list(),
           nb::arg("progress").none() = nb::none())
      .def("__repr__", [](const client::TracedGraph& graph) {
        const std::string text = graph.summary();
        return "<hearth." + printable_name(nb::str(text.substr(0, text.find('\n')).c_str())) + ">";
      });
  module.def("make_graph", &make_graph);
}

}  // namespace hearth::python
