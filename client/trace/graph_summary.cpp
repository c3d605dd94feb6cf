#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/trace/encoded_graph.h"
#include "hearth/graph.h"

namespace hearth::client {
namespace {

bool is_leaf(v1::Op op) { return op == v1::INPUT || op == v1::PARAMETER || op == v1::CONSTANT; }

// Nodes that are shown as one op.
struct ShownOp {
  std::string name;
  std::vector<int> nodes;
};

class Summary {
 public:
  explicit Summary(const EncodedGraph& traced) : traced_(traced), graph_(traced.graph) {
    for (const v1::Provenance& provenance : graph_.provenance()) lines_[provenance.node()] = provenance.text();
    for (const v1::GraphOutput& output : graph_.outputs()) outputs_.insert(static_cast<int>(output.node()));
    readers_.resize(static_cast<std::size_t>(graph_.nodes_size()));
    for (int i = 0; i < graph_.nodes_size(); ++i)
      for (const std::uint32_t input : graph_.nodes(i).inputs()) readers_[input].push_back(i);
  }

  std::string text(bool verbose) const {
    const std::vector<ShownOp> ops = verbose ? primitives() : calls();
    std::set<int> taken = outputs_;
    for (const ShownOp& op : ops)
      for (const int operand : operands_of(op)) taken.insert(operand);
    std::string text = str_cat("TracedGraph: ", ops.size(), ops.size() == 1 ? " op\n" : " ops\n");
    for (int i = 0; i < graph_.nodes_size(); ++i) {
      const bool is_own = graph_.nodes(i).op() == v1::CONSTANT && taken.count(i) == 0;  // of a call that is one op here
      if (!is_leaf(graph_.nodes(i).op()) || is_own) continue;
      const std::string& name = graph_.nodes(i).name();
      str_append(&text, "  ", i, " = ", v1::Op_Name(graph_.nodes(i).op()), name.empty() ? "" : " '", name,
                 name.empty() ? " " : "' ", value(i), "\n");
    }
    for (std::size_t k = 0; k < ops.size(); ++k) str_append(&text, "  [", k, "] ", line(ops[k]), "\n");
    for (const v1::GraphOutput& output : graph_.outputs())
      str_append(&text, "  '", output.name(), "' = ", output.node(), "\n");
    return text;
  }

 private:
  std::vector<ShownOp> primitives() const {
    std::vector<ShownOp> ops;
    for (int i = 0; i < graph_.nodes_size(); ++i)
      if (!is_leaf(graph_.nodes(i).op())) ops.push_back({v1::Op_Name(graph_.nodes(i).op()), {i}});
    return ops;
  }

  // In the order of their last nodes: what a call takes stands before it.
  std::vector<ShownOp> calls() const {
    std::map<std::uint64_t, ShownOp> by_call;
    std::vector<ShownOp> ops;
    for (int i = 0; i < graph_.nodes_size(); ++i) {
      if (is_leaf(graph_.nodes(i).op())) continue;
      const OpCall& call = traced_.calls[static_cast<std::size_t>(i)];
      if (call.number == 0) {
        ops.push_back({absl::AsciiStrToLower(v1::Op_Name(graph_.nodes(i).op())), {i}});
        continue;
      }
      ShownOp& op = by_call[call.number];
      op.name = call.op;
      op.nodes.push_back(i);
    }
    for (auto& [call, op] : by_call) ops.push_back(std::move(op));
    std::ranges::sort(ops, {}, [](const ShownOp& op) { return op.nodes.back(); });
    return ops;
  }

  // True for a value that is an output, or that a node outside of `nodes` takes.
  bool is_result(int node, const std::vector<int>& nodes) const {
    return outputs_.count(node) > 0 || std::ranges::any_of(readers_[static_cast<std::size_t>(node)], [&](int reader) {
             return !std::ranges::binary_search(nodes, reader);
           });
  }

  std::vector<int> operands_of(const ShownOp& op) const {
    std::vector<int> operands;
    const bool is_call = op.nodes.size() > 1;
    for (const int i : op.nodes) {
      for (const std::uint32_t input : graph_.nodes(i).inputs()) {
        const int operand = static_cast<int>(input);
        // A call's own numbers say nothing of how it was called.
        const bool is_own = graph_.nodes(operand).op() == v1::CONSTANT &&
                            traced_.calls[input].number == traced_.calls[static_cast<std::size_t>(i)].number;
        if (is_call && (is_own || std::ranges::binary_search(op.nodes, operand))) continue;
        operands.push_back(operand);
      }
    }
    if (!is_call) return operands;
    std::ranges::sort(operands);
    const auto repeated = std::ranges::unique(operands);
    operands.erase(repeated.begin(), repeated.end());
    return operands;
  }

  std::string line(const ShownOp& op) const {
    const std::vector<int> operands = operands_of(op);
    std::vector<int> results;
    for (const int i : op.nodes)
      if (is_result(i, op.nodes)) results.push_back(i);
    std::string text = str_cat(op.name, ": [");
    for (std::size_t k = 0; k < operands.size(); ++k) str_append(&text, k > 0 ? ", " : "", operands[k]);
    str_append(&text, "] ->");
    for (std::size_t k = 0; k < results.size(); ++k)
      str_append(&text, k > 0 ? ", " : " ", results[k], " ", value(results[k]));
    const auto place = lines_.find(static_cast<std::uint32_t>(op.nodes.back()));
    return place == lines_.end() ? text : str_cat(text, "  (", place->second, ")");
  }

  std::string value(int node) const {
    return str_cat(dtype_name(static_cast<DType>(graph_.nodes(node).dtype())), " ",
                   to_string(traced_.shapes[static_cast<std::size_t>(node)]));
  }

  const EncodedGraph& traced_;
  const v1::Graph& graph_;
  std::map<std::uint32_t, std::string> lines_;
  std::set<int> outputs_;
  std::vector<std::vector<int>> readers_;  // of each node's value
};

}  // namespace

TracedGraph::TracedGraph() : TracedGraph(EncodedGraph()) {}
TracedGraph::TracedGraph(EncodedGraph graph) : encoded_(std::make_shared<const EncodedGraph>(std::move(graph))) {}

absl::StatusOr<TracedGraph> traced_graph(const NamedTensors& outputs) {
  HEARTH_ASSIGN_OR_RETURN(EncodedGraph encoded, encode_graph(outputs));
  return TracedGraph(std::move(encoded));
}

std::string TracedGraph::summary(bool verbose) const { return Summary(*encoded_).text(verbose); }

}  // namespace hearth::client
