#include <map>

#include "base/status_macros.h"
#include "base/text.h"
#include "client/trace/encoded_graph.h"
#include "hearth/graph.h"

namespace hearth::client {
namespace {

bool is_leaf(v1::Op op) { return op == v1::INPUT || op == v1::PARAMETER || op == v1::CONSTANT; }

}  // namespace

TracedGraph::TracedGraph() : TracedGraph(EncodedGraph()) {}
TracedGraph::TracedGraph(EncodedGraph graph) : encoded_(std::make_shared<const EncodedGraph>(std::move(graph))) {}

absl::StatusOr<TracedGraph> traced_graph(const NamedTensors& outputs) {
  HEARTH_ASSIGN_OR_RETURN(EncodedGraph encoded, encode_graph(outputs));
  return TracedGraph(std::move(encoded));
}

std::string TracedGraph::summary() const {
  const auto& [graph, parameters, unnamed, shapes] = *encoded_;
  std::map<std::uint32_t, std::string> lines;
  for (const v1::Provenance& provenance : graph.provenance()) lines[provenance.node()] = provenance.text();
  std::string leaves;
  std::string ops;
  int num_ops = 0;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    const v1::Node& node = graph.nodes(i);
    const std::string value =
        str_cat(dtype_name(static_cast<DType>(node.dtype())), " ", to_string(shapes[static_cast<std::size_t>(i)]));
    if (is_leaf(node.op())) {
      str_append(&leaves, "  ", i, " = ", v1::Op_Name(node.op()), node.name().empty() ? "" : " '", node.name(),
                 node.name().empty() ? " " : "' ", value, "\n");
      continue;
    }
    str_append(&ops, "  [", num_ops++, "] ", v1::Op_Name(node.op()), ": [");
    for (int k = 0; k < node.inputs_size(); ++k) str_append(&ops, k > 0 ? ", " : "", node.inputs(k));
    str_append(&ops, "] -> ", i, " ", value);
    const auto line = lines.find(static_cast<std::uint32_t>(i));
    str_append(&ops, line == lines.end() ? "" : str_cat("  (", line->second, ")"), "\n");
  }
  std::string text = str_cat("TracedGraph: ", num_ops, " ops\n", leaves, ops);
  for (const v1::GraphOutput& output : graph.outputs()) {
    str_append(&text, "  '", output.name(), "' = ", output.node(), "\n");
  }
  return text;
}

}  // namespace hearth::client
